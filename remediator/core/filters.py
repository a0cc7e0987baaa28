"""The hard filters of a candidate, in their order: the first that speaks is the reason people are shown.

The order is one literal, the functions live in protection.py and disturbance.py. Filters know nothing of
scores and choose nobody.
"""

from remediator.core import disturbance, protection
from remediator.core.profile import Filter, Lookups, Profile
from remediator.core.state import Reasoned

FILTERS: tuple[Filter, ...] = (
    protection.not_running,
    protection.terminating,
    protection.mirror,
    protection.daemonset,
    protection.no_controller,
    protection.system_priority,
    protection.protected_namespace,
    protection.own_component,
    protection.critical,
    protection.tier_not_allowed,
    protection.undeclared,
    protection.helm_hook,
    protection.job_without_retries,
    protection.opted_out,
    protection.pod_silenced,
    protection.priority_ceiling,
    protection.volume,
    protection.limit_oom,
    disturbance.no_usage_sample,
    disturbance.too_young,
    disturbance.replicas,
    disturbance.being_evicted,
    disturbance.workload_cooldown,
    disturbance.budget,
    disturbance.too_small,
    disturbance.fits_nowhere_online,
)


def first_reason(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Why this pod is no candidate, or None when it is one."""
    for check in FILTERS:
        said = check(profile, lookups)
        if said is not None:
            return said
    return None
