"""Which online pods can be taken out of service without killing them, and how many must stay in.

Draining works by removing one label that the Service's selector uses and the controller's does not. Where
that is not so the pod is skipped, and the reason says what to change.
"""

from collections import Counter
from collections.abc import Iterable
from math import ceil

from remediator.core.filters import FILTERS
from remediator.core.model import PodFacts, ServiceFacts, Tier
from remediator.core.profile import Filter, Lookups, Profile
from remediator.core.protection import (
    critical,
    daemonset,
    mirror,
    not_running,
    opted_out,
    own_component,
    pod_silenced,
    protected_namespace,
    system_priority,
    terminating,
    undeclared,
)
from remediator.core.reason import Reason
from remediator.core.state import Reasoned

_APPLICABLE = (
    not_running,
    terminating,
    mirror,
    daemonset,
    system_priority,
    protected_namespace,
    own_component,
    critical,
    undeclared,
    opted_out,
    pod_silenced,
)
DRAIN_FILTERS: tuple[Filter, ...] = tuple(check for check in FILTERS if check in _APPLICABLE)


def services_of(pod: PodFacts, services: Iterable[ServiceFacts]) -> list[ServiceFacts]:
    """Services whose selector matches the pod's labels now."""
    return [
        s
        for s in services
        if s.selector
        and s.namespace == pod.namespace
        and all(pod.labels.get(key) == value for key, value in s.selector.items())
    ]


def not_drainable(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Why a pod cannot be taken out of service, or None when it can (the floor is judged by `drainable`)."""
    for check in DRAIN_FILTERS:
        said = check(profile, lookups)
        if said is not None:
            return said
    if profile.standing.tier is Tier.OFFLINE:
        return Reasoned(Reason.NOT_SERVING, "offline pods serve nobody")
    return _by_label(profile, lookups)


def _by_label(profile: Profile, lookups: Lookups) -> Reasoned | None:
    cluster, label = lookups.situation.cluster, lookups.situation.policy.serving_label
    services = services_of(profile.pod, cluster.services if cluster else ())
    if not services or not profile.pod.ready:
        return Reasoned(Reason.NOT_SERVING, "no Service sends it traffic now")
    for service in services:
        if label not in service.selector:
            hint = f"add {label} to the selector of Service {service.name} and to its pods"
            return Reasoned(Reason.NOT_SERVING, f"cannot be drained: {hint}")
    if profile.workload is None or label in profile.workload.selector:
        return Reasoned(Reason.SELECTOR_IN_THE_WAY, f"its controller's selector uses {label} too, or is unknown")
    refusal = lookups.refused.get(profile.pod.uid)
    if refusal is not None:
        return Reasoned(refusal.reason, "the API refused it in this episode")
    return None


class Floor:
    """Counts ready endpoints down while pods are drained: half of them, or the budget's minimum, stay in."""

    def __init__(self, lookups: Lookups) -> None:
        self._lookups = lookups
        self._taken: Counter[tuple[str, str]] = Counter()

    def refuses(self, pod: PodFacts) -> Reasoned | None:
        """Why this pod must stay in service; else counts it as drained and returns None."""
        cluster = self._lookups.situation.cluster
        services = services_of(pod, cluster.services if cluster else ())
        for service in services:
            before = service.ready_endpoints + self._already_drained(service)
            left = service.ready_endpoints - self._taken[service.namespace, service.name] - 1
            least = max(self._budget_minimum(pod), ceil(before / 2))
            if left < least:
                figures = f"{max(0, left)} of {before} endpoints would be left, {least} must"
                detail = f"Service {service.name}: {figures}"
                return Reasoned(Reason.TOO_FEW_IN_SERVICE, detail)
        for service in services:
            self._taken[service.namespace, service.name] += 1
        return None

    def _budget_minimum(self, pod: PodFacts) -> int:
        return max((b.desired_healthy for b in self._lookups.budgets.get(pod.uid, ())), default=0)

    def _already_drained(self, service: ServiceFacts) -> int:
        """Pods of this node that we took out of this Service earlier: half is half of the original."""
        situation = self._lookups.situation
        label = situation.policy.serving_label
        ours = {record.uid for record in situation.state.drained if not record.observed_only}
        selector = {key: value for key, value in service.selector.items() if key != label}
        return sum(
            pod.uid in ours
            and pod.namespace == service.namespace
            and all(pod.labels.get(key) == value for key, value in selector.items())
            for pod in situation.pods
        )
