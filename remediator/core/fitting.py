"""Whether a pod would fit on another node: by requests, selector and taints, as the scheduler's first look.

An estimate, and on purpose a small one: affinities, topology spread and volumes are the scheduler's business.
"""

from collections.abc import Iterable, Mapping

from remediator.core.model import NodeFacts, PodFacts, Taint

BLOCKING = ("NoSchedule", "NoExecute")


def tolerates(tolerations: Iterable[Mapping[str, str]], taint: Taint) -> bool:
    """Kubernetes' rule: empty key with Exists tolerates all; empty effect means all effects."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Mapping[str, str], taint: Taint) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.effect:
        return False
    key, operator = toleration.get("key", ""), toleration.get("operator", "") or "Equal"
    if operator == "Exists":
        return key in ("", taint.key)
    return key == taint.key and toleration.get("value", "") == taint.value


def fits(pod: PodFacts, node: NodeFacts) -> bool:
    """Whether the scheduler would consider this node for a copy of this pod."""
    if node.unschedulable or not node.ready:
        return False
    if any(node.labels.get(key) != value for key, value in pod.node_selector.items()):
        return False
    if node.requested_bytes + pod.request_bytes > node.allocatable_bytes:
        return False
    return all(t.effect not in BLOCKING or tolerates(pod.tolerations, t) for t in node.taints)


def fits_elsewhere(pod: PodFacts, peers: Iterable[NodeFacts]) -> bool:
    """Whether at least one other node has room."""
    return any(fits(pod, node) for node in peers)
