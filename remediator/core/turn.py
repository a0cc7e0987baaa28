"""What a phase's handler hands to the planner, and the moves that several phases share.

A turn is a decision without its finish: notices, due times and undo are added by planner.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from remediator.core.drafts import Draft, draft
from remediator.core.guards import Stops
from remediator.core.lifecycle import Event, phase_after
from remediator.core.model import Level, Mode, Phase, Verdict
from remediator.core.plans import episode_id, make_plan
from remediator.core.reason import Reason
from remediator.core.rejections import against
from remediator.core.situation import Situation
from remediator.core.state import ActionKind, Outcome, Plan, Reasoned


@dataclass(frozen=True, slots=True)
class Turn:
    """The state to remember, what to perform now (nothing when `plan` is None), and why."""

    situation: Situation
    """With the state that follows."""
    verdict: Verdict
    draft: Draft
    plan: Plan | None = None
    reasons: tuple[Reasoned, ...] = ()
    outcome: Outcome | None = None
    due_at: float | None = None


def held_back(s: Situation, d: Draft, *reasons: Reasoned, due_at: float | None = None) -> Turn:
    """Nothing is done now."""
    return Turn(s, Verdict.SUPPRESS, d, reasons=reasons, due_at=due_at if due_at is not None else d.due_at)


def propose(s: Situation) -> Turn:
    """Act on the draft, ask a human for it, or leave it when there is nothing in it."""
    d = draft(s)
    if not d.actions:
        return held_back(s, d)
    return asked(s, d) if needs_human(s, d) else begun(s, d)


def needs_human(s: Situation, d: Draft) -> bool:
    """Approve mode, an open circuit breaker, or an escalated episode."""
    if s.state.phase is Phase.ESCALATED:
        return True
    return not s.observing and (s.mode is Mode.APPROVE or bool(Stops.UNATTENDED & d.stopped.stops))


def with_episode(s: Situation) -> Situation:
    """Open an episode unless one is open."""
    if s.state.episode_id:
        return s
    opened = replace(
        s.state,
        episode_id=episode_id(s.node, s.now),
        episode_started_at=s.now,
        rounds=0,
        refused=(),
        red_acted_at=None,
    )
    return s.with_state(opened)


def _plan(s: Situation, d: Draft) -> Plan:
    expiry = s.policy.timers.plan_expiry_seconds
    return make_plan(s.node, s.state.episode_id, s.level, s.now, s.target_bytes, d.actions, expiry)


def begun(s: Situation, d: Draft, plan: Plan | None = None) -> Turn:
    """ACTING with this draft, or with the approved part of it."""
    event = Event.ACT if plan is None else Event.APPROVE
    s = with_episode(s)
    plan = _plan(s, d) if plan is None else plan
    state = replace(
        s.state,
        phase=phase_after(s.state.phase, event),
        plan=plan,
        results=(),
        escalated_until=None,
        red_acted_at=s.state.red_acted_at or (s.now if s.level is Level.RED else None),
    )
    if any(action.irreversible for action in plan.actions):
        state = replace(
            state,
            rounds=state.rounds + int(any(a.kind is ActionKind.EVICT for a in plan.actions)),
            round_started_at=s.now,
            acted_at=None,
            settle_until=None,
            used_ratio_before=s.memory.used_ratio if s.memory else None,
            available_bytes_before=s.memory.available_bytes if s.memory else None,
            level_before=s.level,
        )
    return Turn(s.with_state(state), Verdict.ALLOW, d, plan=plan, due_at=s.now)


def asked(s: Situation, d: Draft) -> Turn:
    """The plan is stored and waits; nothing is performed. What a human rejected a moment ago is not asked again."""
    if s.state.phase is not Phase.ESCALATED and (no := against(s, d.actions)) is not None:
        return _not_again(s, d, *no)
    s = with_episode(s) if s.state.phase is Phase.ESCALATED else s
    episode = s.state.episode_id or episode_id(s.node, s.now)
    expiry = s.policy.timers.plan_expiry_seconds
    plan = make_plan(s.node, episode, s.level, s.now, s.target_bytes, d.actions, expiry)
    state = replace(s.state, phase=phase_after(s.state.phase, Event.HOLD), plan=plan, results=())
    until = Reasoned(Reason.AWAITING_APPROVAL, f"plan {plan.id}, {len(plan.actions)} steps")
    return Turn(s.with_state(state), Verdict.HOLD, d, reasons=(until,), due_at=plan.expires_at)


def _not_again(s: Situation, d: Draft, why: Reasoned, until: float) -> Turn:
    if s.state.phase is Phase.AWAITING_APPROVAL:
        s = s.with_state(replace(s.state, phase=phase_after(s.state.phase, Event.WITHDRAW), plan=None))
    return held_back(s, d, why, due_at=until)


def ended(s: Situation, *reasons: Reasoned, outcome: Outcome | None = None) -> Turn:
    """The episode is over: cool down."""
    until = s.now + s.policy.timers.node_cooldown_seconds
    state = replace(
        s.state,
        phase=phase_after(s.state.phase, Event.END_EPISODE),
        cooldown_until=until,
        plan=None,
        acted_at=None,
        settle_until=None,
        round_started_at=None,
        escalated_until=None,
    )
    s = s.with_state(state)
    d = draft(s)
    return Turn(s, Verdict.SUPPRESS, d, reasons=reasons, outcome=outcome, due_at=until)


def without_episode(s: Situation, event: Event) -> Situation:
    """Back to WATCHING with a clean sheet; what we took and must give back stays."""
    return s.with_state(
        replace(
            s.state,
            phase=phase_after(s.state.phase, event),
            episode_id="",
            episode_started_at=None,
            rounds=0,
            plan=None,
            results=(),
            refused=(),
            red_acted_at=None,
            round_started_at=None,
            acted_at=None,
            settle_until=None,
            cooldown_until=None,
            stood_down_until=None,
            escalated_until=None,
        )
    )


def first(reasons: Sequence[Reasoned]) -> tuple[Reasoned, ...]:
    """Each reason once, the first wording kept."""
    return tuple({(r.reason, r.detail): r for r in reasons}.values())
