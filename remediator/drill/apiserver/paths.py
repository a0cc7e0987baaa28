"""From a request's path and query to what is asked for. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from remediator.drill.apiserver.access import Attributes
from remediator.drill.apiserver.errors import bad_request, no_such_path
from remediator.drill.apiserver.resources import Json, Registry, ResourceType
from remediator.drill.apiserver.selectors import (
    FieldRequirement,
    LabelTest,
    parse_field_selector,
    parse_label_selector,
)

# Besides metadata.name and metadata.namespace, which every kind has.
FIELD_SELECTORS: Mapping[str, tuple[str, ...]] = {
    "Pod": ("spec.nodeName", "status.phase", "spec.schedulerName", "spec.restartPolicy", "status.podIP"),
    "Node": ("spec.unschedulable",),
    "Namespace": ("status.phase",),
    "Service": ("spec.clusterIP", "spec.type"),
    "Job": ("status.successful",),
    "Event": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "type",
        "reportingComponent",
        "source",
    ),
}
# Where a field that a selector names is not where the object keeps it.
_KEPT_AT = {"source": "source.component"}


@dataclass(frozen=True, slots=True)
class Target:
    """One resource, one object or one subresource."""

    resource: ResourceType
    namespace: str | None
    name: str = ""
    subresource: str = ""

    def attributes(self, verb: str) -> Attributes:
        """As authorization sees it."""
        r = self.resource
        return Attributes(verb, r.group, r.plural, self.namespace or "", self.name, self.subresource)


def parse_path(path: str, registry: Registry) -> Target:
    """/api/v1/… or /apis/GROUP/VERSION/… -> Target; raises 404."""
    steps = [step for step in path.split("/") if step]
    if steps[0] == "api" and len(steps) >= 3:
        group, version, rest = "", steps[1], steps[2:]
    elif steps[0] == "apis" and len(steps) >= 4:
        group, version, rest = steps[1], steps[2], steps[3:]
    else:
        raise no_such_path()
    namespace: str | None = None
    if rest[0] == "namespaces" and len(rest) >= 3 and registry.at(group, version, rest[2]) is not None:
        namespace, rest = rest[1], rest[2:]
    resource = registry.at(group, version, rest[0])
    if resource is None or len(rest) > 3 or (namespace is not None and not resource.namespaced):
        raise no_such_path()
    name, sub = (*rest[1:], "", "")[:2]
    if sub and sub not in resource.subresources:
        raise no_such_path()
    return Target(resource, namespace, name, sub)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a resource."""

    target: Target
    labels: LabelTest
    fields: tuple[FieldRequirement, ...]
    narrowed: bool = False
    """By labels or fields: such a list does not know how many remain."""

    def takes(self, obj: Json) -> bool:
        """True when the object is one of them."""
        metadata = obj["metadata"]
        return (
            (self.target.namespace is None or metadata.get("namespace") == self.target.namespace)
            and (not self.target.name or metadata["name"] == self.target.name)
            and self.labels(metadata.get("labels") or {})
            and all(wanted.holds(obj) for wanted in self.fields)
        )

    @property
    def node(self) -> str | None:
        """The node whose pods are asked for, if that is what is asked."""
        return self._must_be("spec.nodeName") if self.target.resource.kind == "Pod" else None

    @property
    def name(self) -> str:
        """The one name that is asked for: authorization looks at it as if it stood in the path."""
        return self.target.name or self._must_be("metadata.name") or ""

    def _must_be(self, path: str) -> str | None:
        return next((wanted.value for wanted in self.fields if wanted.path == path and wanted.equal), None)


def selection(target: Target, query: Mapping[str, str]) -> Selection:
    """From labelSelector and fieldSelector; raises 400."""
    known = ("metadata.name", "metadata.namespace", *FIELD_SELECTORS.get(target.resource.kind, ()))
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    parsed = tuple(
        replace(wanted, path=_KEPT_AT.get(wanted.path, wanted.path))
        for wanted in parse_field_selector(_old_names(target, fields), lambda path: path in known)
    )
    return Selection(target, parse_label_selector(labels), parsed, bool(labels or fields))


def _old_names(target: Target, fields: str) -> str:
    """events.k8s.io calls `regarding` what core events call `involvedObject`."""
    if target.resource.group != "events.k8s.io":
        return fields
    return fields.replace("regarding.", "involvedObject.").replace("reportingController", "reportingComponent")


def number(query: Mapping[str, str], key: str, default: int) -> int:
    """An integer of the query; raises 400."""
    try:
        return int(query.get(key) or default)
    except ValueError:
        raise bad_request(f"invalid {key}: {query[key]!r} is not a number") from None


def is_true(query: Mapping[str, str], key: str) -> bool:
    """A boolean of the query, as Go's strconv reads it."""
    return query.get(key, "").lower() in ("1", "true", "t")
