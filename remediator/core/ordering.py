"""Orders of pods: ours, which is total, and the kubelet's, shown beside it for comparison."""

from remediator.core.model import PodFacts, PodUsage, Tier
from remediator.core.profile import Profile
from remediator.core.state import ScoreParts

DISPENSABLE_FIRST = (Tier.OFFLINE, Tier.LOW, Tier.STANDARD, Tier.IMPORTANT, Tier.CRITICAL)

Key = tuple[float | int | str, ...]


def eviction_key(profile: Profile, score: ScoreParts) -> Key:
    """Tier, score desc, priority asc, overshoot over request desc, usage desc, younger first, UID."""
    pod, usage = profile.pod, profile.usage
    used = usage.working_set_bytes if usage else 0
    tier = DISPENSABLE_FIRST.index(profile.standing.tier or Tier.CRITICAL)
    priority = pod.priority or 0
    return (tier, -score.total, priority, -(used - pod.request_bytes), -used, -pod.created_at, pod.uid)


def kubelet_key(pod: PodFacts, usage: PodUsage | None) -> Key:
    """The kubelet's three keys: exceeds its request, priority, overshoot. A pod without stats goes first."""
    used = usage.working_set_bytes if usage else 0
    has_stats, overshoot = int(usage is not None), used - pod.request_bytes
    return (has_stats, int(overshoot <= 0), pod.priority or 0, -overshoot, pod.uid)


def kubelet_ranks(pods: tuple[PodFacts, ...], usages: dict[str, PodUsage], system_priority: int) -> dict[str, int]:
    """Pod UID -> rank (1 goes first) of the pods that the kubelet would consider at all."""
    considered = [
        pod
        for pod in pods
        if pod.phase in ("Running", "Pending") and not pod.mirror and (pod.priority or 0) < system_priority
    ]
    considered.sort(key=lambda pod: kubelet_key(pod, usages.get(pod.uid)))
    return {pod.uid: rank for rank, pod in enumerate(considered, start=1)}
