"""The scheduler: taints, cordon, node selectors, requests; the emptiest node by requests wins. Pure choice."""

from collections.abc import Iterable, Mapping

from remediator.config.quantities import size_bytes
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.simulation.quantities import pod_requests

_HARD = ("NoSchedule", "NoExecute")


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


def fits(pod: Json, node: Json, free_bytes: int) -> bool:
    """The pod may run on the node, which has `free_bytes` of memory not requested."""
    spec, tolerations = node["spec"], pod["spec"].get("tolerations") or []
    labels: Mapping[str, str] = node["metadata"].get("labels") or {}
    wanted: Mapping[str, str] = pod["spec"].get("nodeSelector") or {}
    hard = [taint for taint in spec.get("taints") or [] if taint["effect"] in _HARD]
    return (
        not spec.get("unschedulable")
        and all(tolerates(tolerations, taint) for taint in hard)
        and all(labels.get(key) == value for key, value in wanted.items())
        and pod_requests(pod) <= free_bytes
    )


def free_memory(store: Store, node: Json) -> int:
    """Allocatable less the requests of the pods bound to it."""
    bound = [p for p in store.pods_on(node["metadata"]["name"]) if p["status"].get("phase") in ("Pending", "Running")]
    return size_bytes(node["status"]["allocatable"]["memory"]) - sum(pod_requests(pod) for pod in bound)


def choose(pod: Json, nodes: Iterable[tuple[Json, int]]) -> str | None:
    """The node with most free memory that fits, by name where they are equal; None when nothing fits."""
    fitting = [(-free, node["metadata"]["name"]) for node, free in nodes if fits(pod, node, free)]
    return min(fitting)[1] if fitting else None


def schedule(store: Store) -> None:
    """Bind every pending pod that fits somewhere; say of the others that they do not."""
    for pod in [p for p in store.list("Pod") if not p["spec"].get("nodeName")]:
        if "deletionTimestamp" in pod["metadata"]:
            continue
        chosen = choose(pod, [(node, free_memory(store, node)) for node in store.list("Node")])
        if chosen is not None:
            store.update("Pod", {**pod, "spec": {**pod["spec"], "nodeName": chosen}})
        elif not pod["status"].get("conditions"):
            store.update("Pod", {**pod, "status": _unschedulable(store, pod)}, subresource="status")


def _unschedulable(store: Store, pod: Json) -> Json:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": f"0/{len(store.list('Node'))} nodes are available: insufficient memory or untolerated taints.",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(store.clock()),
    }
    return {**pod["status"], "phase": "Pending", "conditions": [condition]}
