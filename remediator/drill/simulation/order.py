"""Two orders of dying on a node without memory: the kubelet's eviction, and the kernel's OOM killer. Pure.

Sources: pkg/kubelet/eviction/helpers.go (rankMemoryPressure; critical pods are left out as it does) and
pkg/kubelet/qos/policy.go with mm/oom_kill.c (oom_score_adj and oom_badness).
"""

from collections.abc import Callable, Iterable

from remediator.drill.apiserver.resources import Json
from remediator.drill.simulation.quantities import pod_requests

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
_GUARANTEED_ADJUSTMENT, _BEST_EFFORT_ADJUSTMENT = -997, 1000


def kubelet_order(pods: Iterable[Json], usage_bytes: Callable[[Json], int]) -> list[Json]:
    """Exceeds its request, then priority, then by how much it exceeds it; first to go first."""
    candidates = [pod for pod in pods if not _is_critical(pod)]

    def key(pod: Json) -> tuple[bool, int, int, str]:
        over = usage_bytes(pod) - pod_requests(pod)
        return over <= 0, pod["spec"].get("priority") or 0, -over, pod["metadata"]["name"]

    return sorted(candidates, key=key)


def _is_critical(pod: Json) -> bool:
    mirrored = "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {})
    return mirrored or (pod["spec"].get("priority") or 0) >= SYSTEM_CRITICAL_PRIORITY


def oom_score_adjustment(pod: Json, capacity_bytes: int) -> int:
    """What the kubelet writes to oom_score_adj of a pod's processes."""
    qos = pod["status"].get("qosClass")
    if qos == "Guaranteed" or _is_critical(pod):
        return _GUARANTEED_ADJUSTMENT
    if qos == "BestEffort":
        return _BEST_EFFORT_ADJUSTMENT
    share = 1000 - 1000 * pod_requests(pod) // capacity_bytes
    return min(max(share, 1000 + _GUARANTEED_ADJUSTMENT), 999)


def oom_badness(usage_bytes: int, adjustment: int, capacity_bytes: int) -> float:
    """The kernel's points: thousandths of memory, shifted by the adjustment; the highest dies."""
    return 1000 * usage_bytes / capacity_bytes + adjustment
