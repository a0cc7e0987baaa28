"""Whom the kubelet itself would evict: exceeds its request, then priority, then by how much it exceeds it.

Source: pkg/kubelet/eviction/helpers.go, rankMemoryPressure; critical pods are left out as it does.
"""

from collections.abc import Callable

from remediator.drill.apiserver.resources import Json
from remediator.drill.simulation.quantities import pod_requests

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000


def kubelet_order(pods: list[Json], usage_bytes: Callable[[Json], int]) -> list[Json]:
    """The pods in the kubelet's order of eviction, first to go first."""
    candidates = [pod for pod in pods if (pod["spec"].get("priority") or 0) < SYSTEM_CRITICAL_PRIORITY]

    def key(pod: Json) -> tuple[bool, int, int, str]:
        over = usage_bytes(pod) - pod_requests(pod)
        return over <= 0, pod["spec"].get("priority") or 0, -over, pod["metadata"]["name"]

    return sorted(candidates, key=key)
