"""The eviction score: four parts, each 0..100, and their weighted sum. Higher goes first.

Only facts of the pod itself and the plan's first target go in, so another pod's presence never changes it.
"""

from remediator.core.model import PodFacts, Tier, WorkloadFacts
from remediator.core.policy import Policy
from remediator.core.state import ScoreParts

STARTUP_ANNOTATION = "remediator.io/startup-seconds"
STARTUP_UNKNOWN = 50.0
STARTUP_UNKNOWN_SECONDS = 150.0
"""What that stands for."""
QOS_PARTS = {"BestEffort": 100.0, "Burstable": 50.0, "Guaranteed": 0.0}


def clamp(value: float) -> float:
    """Into 0..1."""
    return min(1.0, max(0.0, value))


def memory_part(usage_bytes: int, request_bytes: int, need_bytes: int) -> float:
    """At 150 % of its request the full 100; without a request the share of the need it would cover."""
    if request_bytes > 0:
        return 100.0 * clamp((usage_bytes / request_bytes - 1) / 0.5)
    return 100.0 * clamp(usage_bytes / need_bytes) if need_bytes > 0 else 0.0


def restart_part(startup_seconds: float | None) -> float:
    """Quick starters go first; 300 s and more: 0; unknown: 50."""
    return STARTUP_UNKNOWN if startup_seconds is None else 100.0 * (1 - clamp(startup_seconds / 300))


def startup_seconds(pod: PodFacts, workload: WorkloadFacts | None) -> float | None:
    """Annotation of the pod or its workload, else measured; an unreadable annotation counts as none."""
    for annotations in (pod.annotations, workload.annotations if workload else {}):
        try:
            declared = float(annotations[STARTUP_ANNOTATION])
        except (KeyError, ValueError):
            continue
        if 0 <= declared < float("inf"):
            return declared
    return workload.startup_seconds if workload else None


def score_of(
    pod: PodFacts,
    workload: WorkloadFacts | None,
    tier: Tier,
    usage_bytes: int,
    need_bytes: int,
    policy: Policy,
) -> ScoreParts:
    """`0.4*business + 0.3*memory + 0.2*restart + 0.1*qos` with the policy's weights."""
    business = 100.0 - policy.importance[tier]
    memory = memory_part(usage_bytes, pod.request_bytes, need_bytes)
    restart = restart_part(startup_seconds(pod, workload))
    qos = QOS_PARTS.get(pod.qos, 0.0)
    weights = policy.weights
    total = weights.business * business + weights.memory * memory + weights.restart * restart + weights.qos * qos
    return ScoreParts(business, memory, restart, qos, total)
