"""The look right before an act that cannot be taken back.

Asked with a fresh observation, minutes or milliseconds after the plan was made. It can only say no.
"""

from remediator.core.candidates import look_up, profile_of
from remediator.core.figures import percent
from remediator.core.guards import kubelet_evicting, mode_off, node_unknown, silenced, storm_brake
from remediator.core.model import PodFacts, Signal, SignalKind, Strategy, Unknown
from remediator.core.policy import Policy
from remediator.core.profile import Filter
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
)
from remediator.core.reason import Reason
from remediator.core.situation import Situation, release_target, survey
from remediator.core.state import Action, ActionKind, NodeState, Observation, Reasoned

STILL_PROTECTED: tuple[Filter, ...] = (
    terminating,
    not_running,
    mirror,
    daemonset,
    system_priority,
    protected_namespace,
    own_component,
    critical,
    opted_out,
    pod_silenced,
)


def recheck(action: Action, observation: Observation, policy: Policy, now: float) -> Reasoned | None:
    """Why this action must not be done now, or None. Undo is only stopped by `off` and `paused`.

    A reason about the pod (gone, replaced, terminating, silenced) lets the next best stand in; any other ends
    the evictions of the round (`plans.next_action`).
    """
    s = survey(NodeState(), Signal(SignalKind.TIMER, observation.node), observation, policy, now)
    stopped = mode_off(s)
    if stopped is not None or action.undo:
        return stopped
    node = node_unknown(s) or _blind(s) or silenced(s, action.kind) or kubelet_evicting(s)
    if node is not None or not action.irreversible:
        return node
    return _recovered(action, s) or storm_brake(s) or _pod(action, s)


def _blind(s: Situation) -> Reasoned | None:
    for source in (s.observation.memory, s.observation.cluster):
        if isinstance(source, Unknown):
            return Reasoned(source.reason, f"{source.source}: {source.why}")
    age = s.now - s.memory.sampled_at if s.memory else 0.0
    if age > s.policy.safeguards.max_sample_age_seconds:
        return Reasoned(Reason.DATA_STALE, f"node samples are {age:.0f} s old")
    return None


def _recovered(action: Action, s: Situation) -> Reasoned | None:
    """The node is under its safe level, or its level no longer allows this tier."""
    if s.memory is None or action.strategy is not Strategy.PRESSURE:
        return None
    used = percent(s.memory.used_ratio)
    if release_target(s.memory, s.policy) == 0:
        return Reasoned(Reason.RECOVERED, f"{used} used, under the safe level")
    if action.kind is ActionKind.EVICT and action.tier not in s.step.evict_tiers:
        return Reasoned(Reason.RECOVERED, f"{s.level.name} at {used} used does not evict tier {action.tier}")
    return None


def _pod(action: Action, s: Situation) -> Reasoned | None:
    if action.kind is not ActionKind.EVICT:
        return None
    pod = next((pod for pod in s.pods if pod.uid == action.pod_uid), None)
    if pod is None:
        return _missing(action, s.pods)
    lookups = look_up(s, s.step.evict_tiers, "", action.strategy)
    profile = profile_of(pod, s)
    return next((said for check in STILL_PROTECTED if (said := check(profile, lookups)) is not None), None)


def _missing(action: Action, pods: tuple[PodFacts, ...]) -> Reasoned:
    for pod in pods:
        if (pod.namespace, pod.name) == (action.namespace, action.pod):
            return Reasoned(Reason.REPLACED_SINCE, f"{pod.key} is another pod by now ({pod.uid})")
    return Reasoned(Reason.ALREADY_GONE, f"{action.namespace}/{action.pod} is not on the node any more")
