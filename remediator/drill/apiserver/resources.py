"""Which kinds of object exist, and how they are called. No behaviour here."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One printer column: a JSONPath of the object, as in a CRD's additionalPrinterColumns."""

    name: str
    type: str
    json_path: str
    priority: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One kind of object as the API serves it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    columns: tuple[Column, ...] = ()
    schema: Json = field(default_factory=dict, hash=False, compare=False)
    """openAPIV3Schema of a custom resource; empty for built-in ones."""

    @property
    def api_version(self) -> str:
        """`v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """`leases.coordination.k8s.io`, as messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def group_kind(self) -> str:
        """`NodeRemediation.remediator.io`, as validation messages name it."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def singular(self) -> str:
        """Lower-case kind."""
        return self.kind.lower()

    @property
    def custom(self) -> bool:
        """Comes from a CRD."""
        return bool(self.schema)


_STATUS = frozenset({"status"})
_SCALED = frozenset({"status", "scale"})

BUILT_IN = (
    ResourceType("", "v1", "nodes", "Node", False, ("no",), _STATUS),
    ResourceType("", "v1", "namespaces", "Namespace", False, ("ns",), _STATUS),
    ResourceType("", "v1", "pods", "Pod", True, ("po",), frozenset({"status", "eviction", "binding"})),
    ResourceType("", "v1", "services", "Service", True, ("svc",), _STATUS),
    ResourceType("", "v1", "events", "Event", True, ("ev",)),
    ResourceType("", "v1", "configmaps", "ConfigMap", True, ("cm",)),
    ResourceType("", "v1", "serviceaccounts", "ServiceAccount", True, ("sa",)),
    ResourceType("apps", "v1", "deployments", "Deployment", True, ("deploy",), _SCALED),
    ResourceType("apps", "v1", "replicasets", "ReplicaSet", True, ("rs",), _SCALED),
    ResourceType("apps", "v1", "statefulsets", "StatefulSet", True, ("sts",), _SCALED),
    ResourceType("apps", "v1", "daemonsets", "DaemonSet", True, ("ds",), _STATUS),
    ResourceType("batch", "v1", "jobs", "Job", True, (), _STATUS),
    ResourceType("batch", "v1", "cronjobs", "CronJob", True, ("cj",), _STATUS),
    ResourceType("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    ResourceType("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True, ("pdb",), _STATUS),
    ResourceType("coordination.k8s.io", "v1", "leases", "Lease"),
    ResourceType("events.k8s.io", "v1", "events", "Event", True, ("ev",)),
    ResourceType(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        False,
        ("crd", "crds"),
        _STATUS,
    ),
)


class Registry:
    """The resource types that are served, by path and by kind; custom ones join at run time."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str, str], ResourceType] = {}
        self._by_kind: dict[str, ResourceType] = {}
        for resource in BUILT_IN:
            self.add(resource)

    def add(self, resource: ResourceType) -> None:
        """Serve a resource; events.k8s.io shares its kind, and its objects, with core events."""
        self._by_path[resource.group, resource.version, resource.plural] = resource
        self._by_kind.setdefault(resource.kind, resource)
        if resource.custom:
            self._by_kind[resource.kind] = resource

    def remove(self, resource: ResourceType) -> None:
        """Serve it no more."""
        self._by_path.pop((resource.group, resource.version, resource.plural), None)
        self._by_kind.pop(resource.kind, None)

    def at(self, group: str, version: str, plural: str) -> ResourceType | None:
        """The resource at a path."""
        return self._by_path.get((group, version, plural))

    def of_kind(self, kind: str) -> ResourceType:
        """The resource of a kind; KeyError when there is none."""
        return self._by_kind[kind]

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._by_path.values())

    def group_versions(self) -> list[tuple[str, str]]:
        """All (group, version) but the core one, in order of registration."""
        return list(dict.fromkeys((r.group, r.version) for r in self if r.group))
