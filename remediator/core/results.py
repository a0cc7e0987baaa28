"""Folding the answers of performed actions into the remembered state.

The only place where evictions, drains, scalings and isolation become facts. An action without an answer
counts as done until the cluster says otherwise: never evict twice is worth more than an accurate count.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from remediator.core.lifecycle import Event, IsolationEvent, isolation_after, phase_after
from remediator.core.model import Isolation, Mode, Phase
from remediator.core.plans import POD_REASONS
from remediator.core.reason import Reason
from remediator.core.state import (
    ROUND,
    UNDO,
    Action,
    ActionKind,
    ActionResult,
    ActionStatus,
    DrainRecord,
    EvictionRecord,
    NodeState,
    Refusal,
    ScaleRecord,
)

KEPT_RESULTS = 50
TOOK_EFFECT = (ActionStatus.DONE, ActionStatus.UNKNOWN)


def after_actions(state: NodeState, results: Sequence[ActionResult], now: float) -> NodeState:
    """The state after a plan was performed.

    `state` is the decision's `next_state` (as saved before acting), `results` every answer in order, those of
    substitutes included. Forward plans leave ACTING, for SETTLING when memory is expected to come back, else
    for WATCHING; undo plans leave the phase alone. `due_at` becomes now: the next pass sets the real one.
    """
    for result in results:
        state = _fold(state, result)
    state = _back_off(state, results)
    forward = [r for r in results if not r.action.undo]
    kept = tuple((r.action.key, r.status, r.reason) for r in results)
    state = replace(state, results=(*state.results, *kept)[-KEPT_RESULTS:], due_at=now)
    return finish(state, forward, now) if state.phase is Phase.ACTING else state


def finish(state: NodeState, forward: Iterable[ActionResult], now: float) -> NodeState:
    """Leave ACTING: what comes next depends on whether anybody left."""
    left = any(r.action.irreversible and r.status in TOOK_EFFECT for r in forward)
    left = left or _evicted_in_round(state)
    if left:
        phase = phase_after(state.phase, Event.PERFORMED)
        return replace(state, phase=phase, acted_at=now, settle_until=None, due_at=now)
    if state.acted_at is not None:  # isolation only, added while an earlier round settles
        return replace(state, phase=phase_after(state.phase, Event.PERFORMED), due_at=now)
    actions = state.plan.actions if state.plan is not None else ()
    planned = any(action.kind is ActionKind.EVICT for action in actions)
    rounds = max(0, state.rounds - int(planned))
    phase = phase_after(state.phase, Event.NOTHING_TO_SETTLE)
    return replace(state, phase=phase, rounds=rounds, plan=None, round_started_at=None, due_at=now)


def _evicted_in_round(state: NodeState) -> bool:
    since = state.round_started_at
    return since is not None and any(e.at >= since and e.episode_id == state.episode_id for e in state.evictions)


def recovered_progress(state: NodeState, now: float) -> NodeState:
    """Fold what a crashed pass had written down as done (`results`) but not yet as facts."""
    done = {key for key, status, _ in state.results if status in TOOK_EFFECT}
    for action in state.plan.actions if state.plan is not None else ():
        if action.key in done:
            state = _done(state, ActionResult(action, ActionStatus.DONE, Reason.ALREADY_DONE, now))
    return state


def _fold(state: NodeState, result: ActionResult) -> NodeState:
    action, status = result.action, result.status
    if action.undo:
        return _undone(state, result)
    if status in TOOK_EFFECT or action.kind is ActionKind.FORCE_DELETE:
        return _done(state, result)
    blamed = action.pod_uid or (str(action.workload) if action.workload else "")
    about_the_node = status is ActionStatus.SKIPPED and action.irreversible and result.reason not in POD_REASONS
    ours = about_the_node or result.reason in (Reason.THROTTLED, Reason.FORBIDDEN)
    return refused(state, blamed, result) if blamed and not ours else state


def _blames_nobody(result: ActionResult) -> bool:
    """Refusals of single pods have their own memory."""
    if result.action.undo:
        return not _undo_is_over(result)
    drain = result.action.kind is ActionKind.DRAIN_ENDPOINTS
    return not drain and result.reason not in POD_REASONS


def _back_off(state: NodeState, results: Sequence[ActionResult]) -> NodeState:
    """Something failed and nothing was gained: the next try waits, longer each time."""
    for key, undo in ((ROUND, False), (UNDO, True)):
        mine = [r for r in results if r.action.undo is undo]
        failed = [r for r in mine if r.status is not ActionStatus.DONE and _blames_nobody(r)]
        gained = any(r.status in TOOK_EFFECT and r.action.irreversible for r in mine)
        if failed and not gained:
            state = refused(state, key, failed[-1])
        elif mine:
            state = replace(state, refused=tuple(r for r in state.refused if r.key != key))
    return state


def refused(state: NodeState, key: str, result: ActionResult) -> NodeState:
    """Remember that the API said no, and how often in this episode."""
    before = next((r for r in state.refused if r.key == key), None)
    times = (before.times if before else 0) + 1
    entry = Refusal(key, result.reason, times, result.at, final=result.status is ActionStatus.REFUSED)
    return replace(state, refused=(*(r for r in state.refused if r.key != key), entry))


def _observed(state: NodeState, result: ActionResult) -> bool:
    return state.mode is Mode.OBSERVE or result.reason is Reason.DRY_RUN


def _done(state: NodeState, result: ActionResult) -> NodeState:
    action, observed = result.action, _observed(state, result)
    match action.kind:
        case ActionKind.EVICT:
            uncertain = result.status is ActionStatus.UNKNOWN
            return with_eviction(state, action, result.at, observed=observed, uncertain=uncertain)
        case ActionKind.FORCE_DELETE:
            return _forced(state, action)
        case ActionKind.DRAIN_ENDPOINTS:
            return _with_drain(state, action, result.at, observed)
        case ActionKind.SCALE:
            return _with_scale(state, action, result.at, observed)
        case ActionKind.CORDON if result.status is ActionStatus.DONE:
            return replace(
                state,
                isolation=isolation_after(state.isolation, IsolationEvent.CORDONED),
                isolated_at=result.at,
                isolation_episode_id=action.episode_id,
                isolation_observed=observed,
                release_asked_at=None,
                release_granted="",
            )
    return state


def with_eviction(
    state: NodeState, action: Action, at: float, *, observed: bool = False, uncertain: bool = False
) -> NodeState:
    """Remember an eviction, once per pod."""
    if any(e.uid == action.pod_uid and e.observed_only == observed for e in state.evictions):
        return state
    record = EvictionRecord(
        namespace=action.namespace,
        pod=action.pod,
        uid=action.pod_uid,
        workload=str(action.workload or f"{action.namespace}/{action.pod}"),
        node=action.node,
        plan_id=state.plan.id if state.plan else "",
        at=at,
        bytes=action.expected_bytes,
        tier=action.tier or "",
        strategy=action.strategy,
        gone_at=at if observed else None,
        observed_only=observed,
        uncertain=uncertain,
        episode_id=action.episode_id,
    )
    return replace(state, evictions=(*state.evictions, record))


def _forced(state: NodeState, action: Action) -> NodeState:
    evictions = (replace(e, forced=True) if e.uid == action.pod_uid else e for e in state.evictions)
    return replace(state, evictions=tuple(evictions))


def _with_drain(state: NodeState, action: Action, at: float, observed: bool) -> NodeState:
    if any(record.uid == action.pod_uid for record in state.drained):
        return state
    record = DrainRecord(action.namespace, action.pod, action.pod_uid, action.label, action.label_value, at, observed)
    return replace(state, drained=(*state.drained, record))


def _with_scale(state: NodeState, action: Action, at: float, observed: bool) -> NodeState:
    if action.workload is None or any(record.workload == action.workload for record in state.scaled):
        return state
    before, wanted = action.replicas_before or 0, action.replicas or 0
    return replace(
        state,
        scaled=(
            *state.scaled,
            ScaleRecord(action.workload, before, wanted, at, action.expected_bytes, observed),
        ),
    )


NOTHING_LEFT = (Reason.NOT_OURS, Reason.ALREADY_GONE, Reason.ALREADY_DONE, Reason.REPLACED_SINCE)
"""Answers to an undo that say that there is nothing to give back any more."""


def _undo_is_over(result: ActionResult) -> bool:
    done = result.status in (ActionStatus.DONE, ActionStatus.REFUSED)
    return done or (result.status is ActionStatus.SKIPPED and result.reason in NOTHING_LEFT)


def _undone(state: NodeState, result: ActionResult) -> NodeState:
    """An undo that was refused (pod gone, somebody else's by now) is as over as one that was done."""
    action = result.action
    if not _undo_is_over(result):
        return state
    match action.kind:
        case ActionKind.RESTORE_ENDPOINTS:
            return replace(state, drained=tuple(r for r in state.drained if r.uid != action.pod_uid))
        case ActionKind.RESTORE_SCALE:
            return replace(state, scaled=tuple(r for r in state.scaled if r.workload != action.workload))
        case ActionKind.UNCORDON if state.isolation is not Isolation.NONE:
            return replace(
                state,
                isolation=isolation_after(state.isolation, IsolationEvent.RELEASED),
                isolated_at=None,
                isolation_episode_id="",
                isolation_observed=False,
                release_asked_at=None,
                release_granted="",
                released_at=result.at,
            )
    return state
