"""Who else would choose, and by which order; for `make bench-harm`.

Each order gets the same hard filters (no DaemonSet, mirror or system pods: groups 1 and 2 of ours), sees the true use
of every pod, and evicts from the top until the target is covered. Nothing else of ours.
"""

from collections.abc import Callable, Mapping
from typing import Any

from harm_clusters import Storm

from remediator.core.model import PodFacts, PodUsage
from remediator.core.ordering import kubelet_key

SYSTEM_PRIORITY = 2_000_000_000
_QOS = {"BestEffort": 0, "Burstable": 1, "Guaranteed": 2}
Key = Callable[[PodFacts, int], Any]


def _kubelet(pod: PodFacts, used: int) -> Any:
    """Exceeds its request, priority, overshoot (pkg/kubelet/eviction/helpers.go, rankMemoryPressure)."""
    return kubelet_key(pod, PodUsage(used, used, 0.0))


def _koordinator(pod: PodFacts, used: int) -> Any:
    """MemoryEvict: priority ascending, its own label next (nobody has one here), use descending."""
    return pod.priority or 0, -used, pod.uid


def _low_node_utilization(pod: PodFacts, used: int) -> Any:
    """The descheduler's SortPodsBasedOnPriorityLowToHigh: priority, then QoS; use plays no part."""
    return pod.priority or 0, _QOS[pod.qos], pod.uid


def _biggest_first(pod: PodFacts, used: int) -> Any:
    """What people do by hand."""
    return -used, pod.uid


ORDERS: Mapping[str, Key] = {
    "kubelet": _kubelet,
    "Koordinator MemoryEvict": _koordinator,
    "LowNodeUtilization": _low_node_utilization,
    "biggest first": _biggest_first,
}


def in_question(pod: PodFacts) -> bool:
    """The hard filters that all orders have."""
    daemon = pod.workload is not None and pod.workload.kind == "DaemonSet"
    return not (daemon or pod.mirror or (pod.priority or 0) >= SYSTEM_PRIORITY or pod.namespace == "kube-system")


def victims(storm: Storm, key: Key, need_bytes: int) -> list[str]:
    """UIDs from the top of the order until the need is covered (or nobody is left)."""
    order = sorted((pod for pod in storm.pods if in_question(pod)), key=lambda pod: key(pod, storm.used[pod.uid]))
    taken: list[str] = []
    freed = 0
    for pod in order:
        if freed >= need_bytes:
            break
        taken.append(pod.uid)
        freed += storm.used[pod.uid]
    return taken
