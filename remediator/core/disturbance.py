"""Filters 9 to 15: what evicting the pod would disturb now, and whether it would help.

Each is a small function from a pod's profile and the pass's lookups to a reason with figures, or None. Their
order stands in filters.py.
"""

from remediator.core.figures import duration, percent, size
from remediator.core.fitting import fits_elsewhere
from remediator.core.model import BudgetFacts, PodFacts
from remediator.core.profile import Lookups, Profile
from remediator.core.protection import is_run_to_completion
from remediator.core.reason import Reason
from remediator.core.state import EvictionRecord, Reasoned

REPLICATED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")


def no_usage_sample(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """No fresh sample, no candidate."""
    if profile.usage is None:
        return Reasoned(Reason.NO_USAGE_SAMPLE, "Prometheus has no usage of this pod")
    if not profile.fresh:
        age = lookups.situation.now - profile.usage.sampled_at
        return Reasoned(Reason.NO_USAGE_SAMPLE, f"its last sample is {duration(age)} old")
    return None


def too_young(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Unless it is what makes the node grow."""
    situation = lookups.situation
    age, least = situation.now - profile.pod.created_at, situation.policy.safeguards.min_age_seconds
    if age >= least:
        return None
    own = profile.usage.growth_bytes_per_second if profile.usage else None
    node = situation.memory.growth_bytes_per_second if situation.memory else None
    if own is not None and node is not None and node > 0 and own > node / 2:
        return None
    return Reasoned(Reason.TOO_YOUNG, f"{duration(age)} old, younger than {duration(least)}")


def replicas_matter(profile: Profile) -> bool:
    """Jobs, bare pods and offline pods of kinds without replicas are exempt."""
    if profile.pod.workload is None or is_run_to_completion(profile.pod):
        return False
    return profile.pod.workload.kind in REPLICATED or profile.online


def may_lose_single(profile: Profile, lookups: Lookups) -> bool:
    """Whether the policy consents to evicting the only replica."""
    rule = profile.standing.rule
    if rule is not None and rule.allow_single_replica is not None:
        return rule.allow_single_replica
    return lookups.situation.policy.safeguards.allow_single_replica


def min_ready_of(profile: Profile, lookups: Lookups) -> int:
    """Ready pods that must stay."""
    rule = profile.standing.rule
    if rule is not None and rule.min_ready_replicas is not None:
        return rule.min_ready_replicas
    return lookups.situation.policy.safeguards.min_ready_replicas


def replicas(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """The last ready or the only replica."""
    if not replicas_matter(profile):
        return None
    if profile.workload is None:
        return Reasoned(Reason.LAST_READY_REPLICA, "nobody could say how many replicas are ready")
    workload = profile.workload
    if workload.desired_replicas <= 1:
        if may_lose_single(profile, lookups):
            return None
        return Reasoned(Reason.SINGLE_REPLICA, "the only replica, and the policy does not consent")
    left, least = workload.ready_replicas - int(profile.pod.ready), min_ready_of(profile, lookups)
    if left >= least:
        return None
    ready = f"{workload.ready_replicas} of {workload.desired_replicas} ready"
    detail = f"{ready}: {max(left, 0)} would be left, {least} must"
    return Reasoned(Reason.LAST_READY_REPLICA, detail)


def _earlier(profile: Profile, lookups: Lookups) -> tuple[EvictionRecord, ...]:
    """Evictions that disturbed the pod's workload.

    Offline work serves nobody, and more of it may go in a later round, or on another node in trouble, before services
    do. Only a pod that came after an eviction may be its successor, and is left in peace.
    """
    pod = profile.pod
    found = lookups.evictions.get(str(pod.workload or pod.key), ())
    return found if profile.online else tuple(e for e in found if pod.created_at >= e.at)


def workload_cooldown(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Disturbed a moment ago, here or elsewhere; or moved here by us, memory and all."""
    situation, pod = lookups.situation, profile.pod
    timers, last = situation.policy.timers, max(_earlier(profile, lookups), key=lambda e: e.at, default=None)
    if last is None:
        return None
    ago = situation.now - last.at
    said = f"{last.pod} of it was evicted from {last.node} {duration(ago)} ago"
    successor = last.node != situation.node and pod.created_at >= last.at
    if successor and ago < timers.moved_seconds:
        return Reasoned(Reason.MOVED_NOT_FREED, f"{said}: this successor brought its memory along")
    left = timers.workload_cooldown_seconds - ago
    return Reasoned(Reason.WORKLOAD_COOLDOWN, f"{said}; left alone for another {duration(left)}") if left > 0 else None


def being_evicted(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """An eviction of an earlier plan is under way."""
    under_way = [e for e in _earlier(profile, lookups) if e.gone_at is None]
    if under_way:
        return Reasoned(Reason.WORKLOAD_BEING_EVICTED, f"{under_way[-1].pod} of it is still terminating")
    return None


def budget(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """A PodDisruptionBudget or the API said no."""
    budgets = lookups.budgets.get(profile.pod.uid, ())
    if len(budgets) > 1:
        names = ", ".join(b.name for b in budgets)
        return Reasoned(Reason.TWO_BUDGETS, f"budgets {names} match it: the API refuses to evict such a pod")
    for budget in budgets:
        if budget.disruptions_allowed <= 0 and _binds(budget, profile.pod):
            healthy = f"{budget.current_healthy} of {budget.desired_healthy} healthy"
            detail = f"budget {budget.name} allows no disruption now ({healthy})"
            hint = "" if profile.pod.ready else "; unhealthyPodEvictionPolicy: AlwaysAllow would let it go"
            return Reasoned(Reason.DISRUPTION_BUDGET, detail + hint)
    return _refused(profile, lookups)


def _binds(budget: BudgetFacts, pod: PodFacts) -> bool:
    return pod.ready or budget.unhealthy_pod_eviction_policy != "AlwaysAllow"


def _refused(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """What the API refused in this episode: finally, for now, or too often."""
    refusal, policy = lookups.refused.get(profile.pod.uid), lookups.situation.policy
    if refusal is None:
        return None
    if refusal.final or refusal.times >= policy.safeguards.refusals_max:
        return Reasoned(refusal.reason, f"the API refused it {refusal.times} times in this episode")
    if lookups.situation.now - refusal.at < policy.timers.retry_seconds:
        return Reasoned(refusal.reason, "the API refused it a moment ago; it is asked for again later")
    return None


def too_small(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Not worth a restart."""
    safeguards, target = lookups.situation.policy.safeguards, lookups.situation.target_bytes
    releasable = profile.usage.releasable_bytes if profile.usage else 0
    share = releasable / target if target else 1.0
    if share >= safeguards.min_release_ratio or releasable >= safeguards.min_release_bytes:
        return None
    detail = f"frees {size(releasable)}, {percent(share)} of the target: not worth a restart"
    return Reasoned(Reason.TOO_SMALL, detail)


def fits_nowhere(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """For `offline` pods only a note: they may wait."""
    cluster = lookups.situation.cluster
    if cluster is None or fits_elsewhere(profile.pod, cluster.peers):
        return None
    detail = f"no other node has room for its request of {size(profile.pod.request_bytes)}"
    return Reasoned(Reason.FITS_NOWHERE, detail)


def fits_nowhere_online(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """An online pod needs somewhere to go; `offline` ones may wait."""
    return fits_nowhere(profile, lookups) if profile.online else None
