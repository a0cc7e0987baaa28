"""The scheduler: taints, cordon, node selectors, requests; the emptiest node by requests wins. Pure choice."""

from collections import Counter
from collections.abc import Iterable, Mapping

from remediator.config.quantities import size_bytes
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.simulation.quantities import resource_requests

_HARD = ("NoSchedule", "NoExecute")
Free = Mapping[str, int]
"""Bytes, or numbers, of each resource that are not requested yet."""


def tolerates(tolerations: Iterable[Json], taint: Json) -> bool:
    """True when one toleration covers the taint."""
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("operator") == "Exists":
        return not toleration.get("key") or toleration["key"] == taint["key"]
    same_key = toleration.get("key") == taint["key"]
    return bool(same_key and toleration.get("value", "") == taint.get("value", ""))


def obstacle(pod: Json, node: Json, free: Free) -> str:
    """Why the pod may not run on the node, in the scheduler's words; empty when it may."""
    spec, tolerations = node["spec"], pod["spec"].get("tolerations") or []
    labels: Mapping[str, str] = node["metadata"].get("labels") or {}
    selector: Mapping[str, str] = pod["spec"].get("nodeSelector") or {}
    if spec.get("unschedulable"):
        return "node(s) were unschedulable"
    for taint in spec.get("taints") or []:
        if taint["effect"] in _HARD and not tolerates(tolerations, taint):
            return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
    if any(labels.get(key) != value for key, value in selector.items()):
        return "node(s) didn't match Pod's node affinity/selector"
    lacking = [name for name, amount in resource_requests(pod).items() if amount > free.get(name, 0)]
    return f"Insufficient {lacking[0]}" if lacking else ""


def free_resources(store: Store, node: Json) -> dict[str, int]:
    """Allocatable less the requests of the pods bound to the node."""
    allocatable = node["status"].get("allocatable") or {}
    free = {name: size_bytes(value) for name, value in allocatable.items() if name != "cpu"}
    bound = [p for p in store.pods_on(node["metadata"]["name"]) if p["status"].get("phase") in ("Pending", "Running")]
    for pod in bound:
        for name, amount in resource_requests(pod).items():
            free[name] = free.get(name, 0) - amount
    return free


def choose(pod: Json, nodes: Iterable[tuple[Json, Free]]) -> str | None:
    """The node with most free memory that fits, by name where they are equal; None when nothing fits."""
    fitting = [
        (-free.get("memory", 0), node["metadata"]["name"]) for node, free in nodes if not obstacle(pod, node, free)
    ]
    return min(fitting)[1] if fitting else None


def schedule(store: Store) -> None:
    """Bind every pending pod that fits somewhere; say of the others why they do not."""
    for pod in [p for p in store.list("Pod") if not p["spec"].get("nodeName")]:
        if "deletionTimestamp" in pod["metadata"]:
            continue
        nodes = [(node, free_resources(store, node)) for node in store.list("Node")]
        chosen = choose(pod, nodes)
        if chosen is not None:
            store.update("Pod", {**pod, "spec": {**pod["spec"], "nodeName": chosen}})
        else:
            _say_unschedulable(store, pod, _explanation(pod, nodes))


def _explanation(pod: Json, nodes: list[tuple[Json, dict[str, int]]]) -> str:
    counted = Counter(obstacle(pod, node, free) for node, free in nodes)
    why = ", ".join(sorted(f"{count} {text}" for text, count in counted.items()))
    return f"0/{len(nodes)} nodes are available: {why}."


def _say_unschedulable(store: Store, pod: Json, message: str) -> None:
    before: Json = next((c for c in pod["status"].get("conditions") or [] if c["type"] == "PodScheduled"), {})
    if before.get("message") == message:
        return
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastProbeTime": None,
        "lastTransitionTime": before.get("lastTransitionTime") or timestamp(store.clock()),
    }
    status = {**pod["status"], "phase": "Pending", "conditions": [condition]}
    store.update("Pod", {**pod, "status": status}, subresource="status")
