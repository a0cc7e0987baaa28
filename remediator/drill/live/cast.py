"""Who is on the live node: workloads, their memory, their tiers. Plain values; 1 GiB in all."""

from dataclasses import dataclass

LIVE_NODE = "live-node"
SPARE_NODE = "spare-node"
LIMIT_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class LiveWorkload:
    """One Deployment of the live drill."""

    namespace: str
    name: str
    replicas: int
    request_mib: int
    hold_mib: int
    leak_mib_per_second: float = 0.0
    most_mib: int = 0


# The service leaks; left alone it takes the node past its limit and the kernel kills somebody.
CAST = (
    LiveWorkload("online", "api", 1, 128, 120, leak_mib_per_second=7, most_mib=600),
    LiveWorkload("middleware", "queue", 1, 128, 120),
    LiveWorkload("analytics", "batch", 2, 64, 150),
)
POLICY = {
    "mode": "enforce",
    "safe_used_ratio": 0.70,
    "safeguards": {"allow_single_replica": True, "min_release_bytes": "10Mi"},
    "business": [
        {"namespace": "middleware", "tier": "critical"},
        {"namespace": "online", "tier": "important"},
        {"namespace": "analytics", "tier": "offline"},
    ],
}
