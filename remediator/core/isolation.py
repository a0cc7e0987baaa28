"""Giving back what we took: when a node counts as calm, when its isolation may be lifted, and by which steps.

Only what carries our mark is undone, silences and cooldowns never stop it, `off` and `paused` do. Endpoints
and replicas return without asking; the isolation is asked for (`release: ask`) or lifted (`release: auto`).
"""

from dataclasses import replace

from remediator.core.lifecycle import IsolationEvent, isolation_after
from remediator.core.model import Isolation, Level, Phase, SignalKind
from remediator.core.situation import Situation
from remediator.core.state import UNDO, Action, ActionKind, NodeState
from remediator.core.tracking import CORDONED_BY

BUSY = (Phase.ACTING, Phase.SETTLING)


def is_calm(s: Situation) -> bool:
    """GREEN, as measured, for `calm_seconds` without a gap."""
    since = s.state.green_since
    green = s.memory is not None and s.memory.level is Level.GREEN
    return green and since is not None and s.now - since >= s.policy.timers.calm_seconds


def follow(s: Situation) -> NodeState:
    """Isolation after this look: CALM makes it releasable, pressure takes that back."""
    state = s.state
    if s.signal.kind is SignalKind.RELEASE and state.isolation is not Isolation.NONE:
        state = replace(state, release_granted=_grant(state))
    if state.isolation is Isolation.CORDONED_BY_US and is_calm(s):
        after = isolation_after(state.isolation, IsolationEvent.CALM)
        return replace(state, isolation=after, release_asked_at=s.now)
    if state.isolation is Isolation.RELEASABLE and s.memory is not None and s.level > Level.GREEN:
        after = isolation_after(state.isolation, IsolationEvent.PRESSURE)
        return replace(state, isolation=after, release_asked_at=None)
    return state


def release_granted(s: Situation) -> bool:
    """By policy, by `spec.release`, or by an operator's signal, now or earlier.

    An isolation that was only recorded asks nobody: there is no cordon to be lifted, or to be forgotten.
    """
    if s.policy.release == "auto" or s.state.isolation_observed:
        return True
    return _grant(s.state) in (s.observation.spec.release, s.state.release_granted)


def _grant(state: NodeState) -> str:
    """What a grant must name: the episode that closed the node."""
    return state.isolation_episode_id or "unknown"


def undo_actions(s: Situation) -> tuple[Action, ...]:
    """What may be given back now, in order: endpoints, replicas, taint, cordon.

    What was only recorded is only recorded back; what was really done needs a real actuator.
    """
    lifted = s.state.hands_off_until is not None and s.state.isolation is Isolation.NONE
    if s.backing_off(UNDO) is not None:
        return ()
    if s.state.phase in BUSY and not lifted:
        return ()
    actions: list[Action] = []
    if is_calm(s):
        actions += _endpoints(s) + _scale(s)
    if s.state.isolation is Isolation.RELEASABLE and release_granted(s) and _same_kind(s):
        actions += [_on_node(s, ActionKind.UNTAINT), _on_node(s, ActionKind.UNCORDON)]
    elif lifted and not s.observing:
        actions += _marks(s)
    return tuple(actions)


def _same_kind(s: Situation) -> bool:
    return s.state.isolation_observed == s.observing


def _marks(s: Situation) -> list[Action]:
    """A human opened the node: our taint would make that void, and our mark would claim his next cordon."""
    node = s.cluster.node if s.cluster else None
    if node is None or node.unschedulable or CORDONED_BY not in node.annotations:
        return []
    ours = s.policy.taint
    tainted = any(t.key == ours.key and t.effect == ours.effect for t in node.taints)
    return [*([_on_node(s, ActionKind.UNTAINT)] if tainted else []), _on_node(s, ActionKind.UNCORDON)]


def _on_node(s: Situation, kind: ActionKind) -> Action:
    return Action(kind, s.node, s.state.isolation_episode_id, why="given back: released, or opened by a human")


def _endpoints(s: Situation) -> list[Action]:
    return [
        Action(
            ActionKind.RESTORE_ENDPOINTS,
            s.node,
            s.state.episode_id,
            namespace=record.namespace,
            pod=record.pod,
            pod_uid=record.uid,
            why="calm: back into service",
            label=record.label,
            label_value=record.value,
        )
        for record in s.state.drained
        if record.observed_only == s.observing
    ]


def _scale(s: Situation) -> list[Action]:
    return [
        Action(
            ActionKind.RESTORE_SCALE,
            s.node,
            s.state.episode_id,
            namespace=record.workload.namespace,
            workload=record.workload,
            replicas=record.replicas_before,
            why="calm: its replicas return",
        )
        for record in s.state.scaled
        if record.observed_only == s.observing
    ]
