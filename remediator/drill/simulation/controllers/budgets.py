"""The disruption controller: keeps each PodDisruptionBudget's status, from which the eviction subresource answers."""

from remediator.drill.apiserver.eviction import is_ready
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.selectors import selector_matches
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.simulation.controllers.ownership import alive, controller_uid, update_status


def disruptions(store: Store, budget: Json) -> None:
    """How many of the budget's pods may go now."""
    metadata, spec, old = budget["metadata"], budget["spec"], budget.get("status") or {}
    matching = [
        pod
        for pod in store.list("Pod", metadata["namespace"])
        if selector_matches(spec.get("selector"), pod["metadata"].get("labels") or {})
    ]
    living = alive(matching)
    # A pod that the eviction subresource has counted is taken as gone until it is seen to go.
    names = {pod["metadata"]["name"] for pod in living}
    disrupted = {name: at for name, at in (old.get("disruptedPods") or {}).items() if name in names}
    healthy = sum(is_ready(pod) and pod["metadata"]["name"] not in disrupted for pod in living)
    expected = sum(_scale_of(store, uid) for uid in {controller_uid(pod) for pod in living})
    desired = (
        _count(spec["minAvailable"], expected)
        if "minAvailable" in spec
        else expected - _count(spec.get("maxUnavailable", 1), expected)
    )
    allowed = max(0, healthy - desired)
    status: Json = {
        "observedGeneration": metadata.get("generation", 1),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "conditions": [_budget_condition(store, old, allowed, metadata.get("generation", 1))],
    }
    update_status(store, budget, status | ({"disruptedPods": disrupted} if disrupted else {}))


def _scale_of(store: Store, uid: str | None) -> int:
    for kind in ("ReplicaSet", "StatefulSet", "Job"):
        for owner in store.list(kind):
            if owner["metadata"]["uid"] == uid:
                return int(owner["spec"].get("replicas", owner["spec"].get("parallelism", 1)))
    return 1


def _count(value: int | str, expected: int) -> int:
    """A count, or a percentage rounded up."""
    if isinstance(value, str):
        return -(-int(value.rstrip("%")) * expected // 100)
    return value


def _budget_condition(store: Store, old: Json, allowed: int, generation: int) -> Json:
    status, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    before = (old.get("conditions") or [{}])[0]
    changed = timestamp(store.clock()) if before.get("status") != status else before["lastTransitionTime"]
    return {
        "type": "DisruptionAllowed",
        "status": status,
        "observedGeneration": generation,
        "lastTransitionTime": changed,
        "reason": reason,
        "message": "",
    }
