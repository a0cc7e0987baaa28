"""What surrounds a node's pods in their namespaces: owners, budgets, services. From API objects to facts; pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from remediator.adapters.pod_facts import alive, placement, startup_seconds
from remediator.core.model import BudgetFacts, ServiceFacts, WorkloadFacts, WorkloadRef

Json = dict[str, Any]
_SERVICE_NAME = "kubernetes.io/service-name"


@dataclass
class Namespace:
    """The objects of one namespace that bear on evictions; a list that nobody needed is empty.

    What is worked out of them is kept: several looks share one reading.
    """

    pods: list[Json] = field(default_factory=list)
    replica_sets: list[Json] = field(default_factory=list)
    deployments: list[Json] = field(default_factory=list)
    stateful_sets: list[Json] = field(default_factory=list)
    jobs: list[Json] = field(default_factory=list)
    budgets: list[Json] = field(default_factory=list)
    services: list[Json] = field(default_factory=list)
    endpoint_slices: list[Json] = field(default_factory=list)

    @cached_property
    def workloads(self) -> "Mapping[WorkloadRef, WorkloadFacts]":
        """Facts of every workload that has pods here."""
        owners, pods = Owners((self,)), defaultdict[WorkloadRef, list[Json]](list)
        for pod in self.pods:
            if (ref := owners.workload_of(pod)) is not None:
                pods[ref].append(pod)
        return {ref: _workload(ref, found, self) for ref, found in pods.items()}

    @cached_property
    def services_here(self) -> tuple[ServiceFacts, ...]:
        """Services with a selector, and which pods are ready behind them."""
        return tuple(_services(self))


_NEVER_LEAVE = ("DaemonSet", "Node")
"""Pods of these controllers are neither evicted nor drained: nothing that surrounds them matters."""
_ALWAYS = ("pods", "budgets", "services", "endpoint_slices")
CLUSTER_WIDE = ("budgets",)
"""Few and small: one list of the whole cluster is cheaper than one of each namespace."""
_OWNERS = {"ReplicaSet": ("replica_sets", "deployments"), "StatefulSet": ("stateful_sets",), "Job": ("jobs",)}


def parts_needed(pods: Iterable[Json]) -> Iterator[tuple[str, str]]:
    """(namespace, list of it) that decisions about these pods look at; an empty one means all namespaces."""
    for pod in pods:
        kind = (controller_of(pod) or {}).get("kind", "")
        if kind not in _NEVER_LEAVE:
            for part in (*_ALWAYS, *_OWNERS.get(kind, ())):
                yield "" if part in CLUSTER_WIDE else pod["metadata"]["namespace"], part


_KEPT: Mapping[str, tuple[str, ...]] = {
    "metadata": (
        *("name", "namespace", "uid", "labels", "annotations", "ownerReferences"),
        *("creationTimestamp", "deletionTimestamp"),
    ),
    "spec": (*("nodeName", "selector", "replicas", "parallelism", "backoffLimit", "unhealthyPodEvictionPolicy"),),
    "status": (
        *("phase", "conditions", "containerStatuses"),
        *("disruptionsAllowed", "desiredHealthy", "currentHealthy"),
    ),
}
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def slim(obj: Json) -> Json:
    """The object without what nobody here reads: pod templates and managed fields are most of its weight."""
    kept: Json = {"endpoints": obj["endpoints"]} if obj.get("endpoints") else {}
    for part, names in _KEPT.items():
        found = obj.get(part) or {}
        kept[part] = {name: found[name] for name in names if name in found}
    annotations = kept["metadata"].get("annotations")
    if annotations and _LAST_APPLIED in annotations:
        kept["metadata"]["annotations"] = {k: v for k, v in annotations.items() if k != _LAST_APPLIED}
    return kept


def controller_of(obj: Json) -> Json | None:
    """The owner reference that controls an object."""
    references = obj["metadata"].get("ownerReferences") or []
    return next((reference for reference in references if reference.get("controller")), None)


class Owners:
    """From a pod to the workload at the top of its owner chain."""

    def __init__(self, namespaces: Iterable[Namespace]) -> None:
        self._above: dict[str, Json] = {}
        for namespace in namespaces:
            for obj in (*namespace.replica_sets, *namespace.jobs):
                if (above := controller_of(obj)) is not None:
                    self._above[obj["metadata"]["uid"]] = above

    def workload_of(self, pod: Json) -> WorkloadRef | None:
        """None for a bare pod; a ReplicaSet's Deployment, a Job's CronJob."""
        reference = controller_of(pod)
        if reference is None:
            return None
        top = self._above.get(reference["uid"], reference)
        # A Job of a CronJob is one run: the run is what is evicted, the CronJob is what people know.
        return WorkloadRef(pod["metadata"]["namespace"], top["kind"], top["name"])


def workloads(namespaces: Iterable[Namespace]) -> dict[WorkloadRef, WorkloadFacts]:
    """Facts of every workload that has pods in these namespaces."""
    return {ref: facts for namespace in namespaces for ref, facts in namespace.workloads.items()}


def _workload(ref: WorkloadRef, pods: list[Json], namespace: Namespace) -> WorkloadFacts:
    living = [pod for pod in pods if alive(pod)]
    places = tuple(placement(pod) for pod in living)
    top = _named(_objects(namespace, ref.kind), ref.name)
    selecting = _selecting(namespace, ref, top, living)
    spec = (top or {}).get("spec") or {}
    desired = spec.get("replicas", spec.get("parallelism"))
    return WorkloadFacts(
        ref=ref,
        desired_replicas=int(desired) if desired is not None else len(living),
        ready_replicas=sum(place.ready for place in places),
        startup_seconds=startup_seconds(living),
        selector=selecting,
        backoff_limit=spec.get("backoffLimit"),
        annotations=((top or {}).get("metadata") or {}).get("annotations") or {},
        pods=places,
    )


def _objects(namespace: Namespace, kind: str) -> list[Json]:
    found: Mapping[str, list[Json]] = {
        "Deployment": namespace.deployments,
        "ReplicaSet": namespace.replica_sets,
        "StatefulSet": namespace.stateful_sets,
        "Job": namespace.jobs,
    }
    return found.get(kind, [])


def _named(objects: list[Json], name: str) -> Json | None:
    return next((obj for obj in objects if obj["metadata"]["name"] == name), None)


def _selecting(namespace: Namespace, ref: WorkloadRef, top: Json | None, pods: list[Json]) -> Mapping[str, str]:
    """matchLabels of the controller that owns the pods directly (a Deployment's pods belong to its ReplicaSet)."""
    holder = top
    if ref.kind == "Deployment" and pods:
        reference = controller_of(pods[0])
        holder = _named(namespace.replica_sets, reference["name"]) if reference else top
    selector = ((holder or {}).get("spec") or {}).get("selector") or {}
    labels = dict(selector.get("matchLabels") or {})
    for expression in selector.get("matchExpressions") or []:
        # Whatever is asked of a label, a pod must not lose it.
        labels.setdefault(expression["key"], "")
    return labels


def budgets(namespaces: Mapping[str, Namespace], pods: Sequence[Json]) -> tuple[BudgetFacts, ...]:
    """Budgets that match at least one of the pods."""
    here: dict[str, list[Json]] = {}
    for pod in pods:
        here.setdefault(pod["metadata"]["namespace"], []).append(pod["metadata"])
    found = []
    for name, namespace in namespaces.items():
        for budget in namespace.budgets:
            selector = budget["spec"].get("selector")
            uids = frozenset(pod["uid"] for pod in here.get(name, ()) if selects(selector, pod.get("labels")))
            if uids:
                found.append(_budget(budget, uids))
    return tuple(found)


def _budget(budget: Json, uids: frozenset[str]) -> BudgetFacts:
    status = budget.get("status") or {}
    return BudgetFacts(
        namespace=budget["metadata"]["namespace"],
        name=budget["metadata"]["name"],
        pod_uids=uids,
        disruptions_allowed=int(status.get("disruptionsAllowed", 0)),
        desired_healthy=int(status.get("desiredHealthy", 0)),
        current_healthy=int(status.get("currentHealthy", 0)),
        unhealthy_pod_eviction_policy=budget["spec"].get("unhealthyPodEvictionPolicy") or "IfHealthyBudget",
    )


def services(namespaces: Iterable[Namespace]) -> tuple[ServiceFacts, ...]:
    """Services with a selector, and which pods are ready behind them."""
    return tuple(found for namespace in namespaces for found in namespace.services_here)


def _services(namespace: Namespace) -> Iterator[ServiceFacts]:
    ready = _ready_by_service(namespace.endpoint_slices)
    for service in namespace.services:
        metadata, selector = service["metadata"], service["spec"].get("selector") or {}
        if selector:
            uids = ready.get(metadata["name"], frozenset())
            yield ServiceFacts(metadata["namespace"], metadata["name"], selector, len(uids), uids)


def _ready_by_service(slices: list[Json]) -> dict[str, frozenset[str]]:
    """Service name -> UIDs of its ready pods; a dual-stack Service has a slice per family, its pods count once."""
    ready: dict[str, set[str]] = {}
    for endpoint_slice in slices:
        name = (endpoint_slice["metadata"].get("labels") or {}).get(_SERVICE_NAME, "")
        for endpoint in endpoint_slice.get("endpoints") or []:
            target = endpoint.get("targetRef") or {}
            # `ready` unset means ready, says the API.
            if (endpoint.get("conditions") or {}).get("ready") is not False and target.get("kind") == "Pod":
                ready.setdefault(name, set()).add(target["uid"])
    return {name: frozenset(uids) for name, uids in ready.items()}


def selects(selector: Json | None, labels: Mapping[str, str] | None) -> bool:
    """A LabelSelector against labels (policy/v1: an empty one selects everything, none nothing)."""
    if selector is None:
        return False
    labels = labels or {}
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _expression(expression, labels) for expression in selector.get("matchExpressions") or []
    )


def _expression(expression: Json, labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    tests: dict[str, bool] = {
        "In": key in labels and labels[key] in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    return tests.get(expression["operator"], False)
