"""`decide`: one look at one node becomes a decision. The core's front door, with `after_actions`,
`next_action` and `recheck` beside it for whoever performs.

Composes tracking, the phase's handler, undo and notices. Pure: the same arguments give the same decision.
"""

from dataclasses import replace

from remediator.core.figures import duration
from remediator.core.forcing import force_actions
from remediator.core.guards import Stops
from remediator.core.isolation import follow, undo_actions
from remediator.core.model import Isolation, Level, Mode, Phase, Signal, SignalKind, Verdict
from remediator.core.notices import notices_of, remembered
from remediator.core.phases import HANDLERS, after_a_crash, stand_down
from remediator.core.plans import make_plan, next_action
from remediator.core.policy import Policy
from remediator.core.reason import SENTENCES, Reason
from remediator.core.recheck import recheck
from remediator.core.results import after_actions
from remediator.core.situation import Situation, survey
from remediator.core.state import Decision, NodeState, Observation, Reasoned
from remediator.core.tracking import track
from remediator.core.turn import Turn, first

__all__ = ["after_actions", "decide", "next_action", "recheck"]


def decide(state: NodeState, signal: Signal, observation: Observation, policy: Policy, now: float) -> Decision:
    """What to do about one node now.

    `state` is the node's record as loaded, `now` Prometheus' clock (unix seconds), `policy` already scaled.
    The signal is only a nudge: no figure of it is used, though an APPROVAL names its plan and a RELEASE
    grants the release.

    Of the decision the caller does this and treats the rest as opaque:
    1. save `next_state` under the record's resourceVersion, always, also when there is nothing to do;
    2. when `plan` is not None, and only then, perform it with the actuator of `mode` (the recording one for
       `observe`): ask `next_action(plan, ranking, results, policy)` until it says None; before each action
       with `irreversible` observe again and ask `recheck`; a reason from it makes the result SKIPPED with
       that reason;
    3. `after_actions(next_state, results, now)` is the state to save then;
    4. send `notices` (each is given once), and come back after `requeue_after_seconds` (also in
       `next_state.due_at`) or at the next signal, whichever is first.
    A plan that waits for a human (verdict HOLD) is in `next_state.plan`, never in `plan`.
    Raises nothing on any observation: Unknown sources hold back what needs them.
    """
    s = survey(track(state, observation, policy, now), signal, observation, policy, now)
    s = after_a_crash(s.with_state(follow(s)))
    turn = stand_down(s) or HANDLERS[s.state.phase](s)
    turn = _with_undo(turn)
    return _decision(state, _with_force(turn))


def _with_force(turn: Turn) -> Turn:
    """Force what is stuck, when nothing else is performed now; the phase goes on as it was."""
    actions = force_actions(turn) if turn.plan is None else ()
    if not actions:
        return turn
    s = turn.situation
    expiry = s.policy.timers.plan_expiry_seconds
    plan = make_plan(s.node, s.state.episode_id, s.level, s.now, s.target_bytes, actions, expiry)
    why = Reasoned(Reason.ACTING, f"{len(actions)} pods outlived their grace: their deletion is forced")
    plan = replace(plan, substitutes=False)
    return replace(turn, verdict=Verdict.ALLOW, plan=plan, reasons=(why, *turn.reasons), due_at=s.now)


def _with_undo(turn: Turn) -> Turn:
    """Give back what may be given back, when nothing else is performed now."""
    s = turn.situation
    if turn.plan is not None or Stops.UNDO & turn.draft.stopped.stops:
        return turn
    actions = undo_actions(s)
    if not actions:
        return turn
    episode = s.state.isolation_episode_id or s.state.episode_id or s.node
    expiry = s.policy.timers.plan_expiry_seconds
    plan = make_plan(s.node, episode, s.level, s.now, 0, actions, expiry)
    why = Reasoned(Reason.CALM, "giving back what was taken")
    return replace(turn, verdict=Verdict.ALLOW, plan=plan, reasons=(why, *turn.reasons), due_at=s.now)


def _decision(before: NodeState, turn: Turn) -> Decision:
    s, state = turn.situation, turn.situation.state
    reasons = first((*turn.reasons, *turn.draft.reasons, *_answer(before, s))) or (_unopposed(turn),)
    due_at = _due(turn)
    current = notices_of(before, turn, reasons)
    notices = tuple(notice for notice in current if notice.key not in state.told)
    state = replace(state, due_at=due_at, told=remembered(state, current, s), message=_message(reasons))
    return Decision(
        node=s.node,
        at=s.now,
        mode=s.mode,
        verdict=turn.verdict,
        reasons=reasons,
        next_state=state,
        plan=turn.plan,
        ranking=turn.draft.ranking,
        target_bytes=s.target_bytes,
        notices=notices,
        outcome=turn.outcome,
        requeue_after_seconds=None if due_at is None else max(0.0, due_at - s.now),
    )


def _answer(before: NodeState, s: Situation) -> tuple[Reasoned, ...]:
    """What became of the nudge itself: repeats and resolved alerts change nothing by themselves."""
    if s.signal.kind is SignalKind.RELEASE and s.state.isolation is Isolation.CORDONED_BY_US:
        calm = duration(s.policy.timers.calm_seconds)
        return (Reasoned(Reason.NOT_CALM_YET, f"released once it has been GREEN for {calm}"),)
    if s.signal.kind is not SignalKind.ALERT:
        return ()
    if not s.signal.firing:
        return (Reasoned(Reason.RESOLVED, "the alert is resolved; what counts is the measured level"),)
    if before.episode_id and before.phase is not Phase.WATCHING:
        return (Reasoned(Reason.ALREADY_HANDLED, f"episode {before.episode_id}"),)
    return ()


def _unopposed(turn: Turn) -> Reasoned:
    """Nothing speaks against anything: either there is a plan, or there is nothing to do."""
    if turn.plan is not None:
        return Reasoned(Reason.ACTING, f"{turn.situation.level.name}, {len(turn.plan.actions)} steps")
    return Reasoned(Reason.CALM, f"{turn.situation.level.name}, nothing to do")


def _message(reasons: tuple[Reasoned, ...]) -> str:
    """Without figures: they change with every pass, and the record is only written when it changed."""
    return SENTENCES[reasons[0].reason]


def _due(turn: Turn) -> float | None:
    """The earliest time at which the answer may differ without anybody's nudge."""
    s, state, timers = turn.situation, turn.situation.state, turn.situation.policy.timers
    if turn.plan is not None:
        return s.now
    times = [turn.due_at] if turn.due_at is not None else []
    if not _quiet(s) and s.mode is not Mode.OFF:
        times.append(s.now + timers.resync_seconds)
    if state.green_since is not None and state.green_since + timers.calm_seconds > s.now and _holds(state):
        times.append(state.green_since + timers.calm_seconds)
    return max(s.now, min(times)) if times else None


def _holds(state: NodeState) -> bool:
    """Whether something of the node's is still to be given back."""
    return state.isolation is not Isolation.NONE or bool(state.drained or state.scaled)


def _quiet(s: Situation) -> bool:
    state = s.state
    watching = state.phase is Phase.WATCHING and not state.episode_id
    return watching and state.level is Level.GREEN and s.memory is not None and not _holds(state)
