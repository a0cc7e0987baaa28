"""One handler per phase: what this look means for an episode that stands there.

Handlers return a Turn and change nothing else; which phase may follow which is lifecycle.py's table.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from remediator.core.assessment import assess, round_evictions
from remediator.core.drafts import draft
from remediator.core.figures import duration, percent
from remediator.core.guards import Stops, data_unknown, kubelet_eviction, mode_off, stale
from remediator.core.lifecycle import Event, phase_after
from remediator.core.model import Isolation, Level, Mode, Phase, SignalKind, Verdict
from remediator.core.plans import intersection, left_of
from remediator.core.reason import Reason
from remediator.core.rejections import is_rejected, remember, said
from remediator.core.results import finish, recovered_progress, with_eviction
from remediator.core.situation import Situation
from remediator.core.state import ActionKind, NodeState, Outcome, Plan, Reasoned
from remediator.core.turn import Turn, begun, ended, held_back, propose, without_episode

Handler = Callable[[Situation], Turn]


def watching(s: Situation) -> Turn:
    """Nothing is under way; an episode may be open."""
    if s.state.episode_id and s.at_ease:
        used = percent(s.memory.used_ratio) if s.memory else "unknown"
        return ended(s, Reasoned(Reason.RECOVERED, f"GREEN at {used} used"))
    why = overdue(s)
    return escalated(s, why) if why is not None else propose(s)


def overdue(s: Situation) -> Reasoned | None:
    """RED and not under the safe level long after the first act at RED."""
    since, limit = s.state.red_acted_at, s.policy.timers.escalate_after_seconds
    if since is None or s.level is not Level.RED or s.target_bytes <= 0 or s.now - since < limit:
        return None
    detail = f"still RED {duration(s.now - since)} after the first act: the next one needs a human"
    return Reasoned(Reason.ESCALATED, detail)


def escalated(s: Situation, why: Reasoned, outcome: Outcome | None = None) -> Turn:
    """An incident: what would be done next is put before a human."""
    until = s.now + s.policy.timers.plan_expiry_seconds
    phase = phase_after(s.state.phase, Event.ESCALATE)
    state = replace(s.state, phase=phase, escalated_until=until, acted_at=None, plan=None, settle_until=None)
    turn = propose(s.with_state(state))
    return replace(turn, verdict=Verdict.HOLD, reasons=(why, *turn.reasons), outcome=outcome, due_at=until)


def waiting_for_human(s: Situation) -> Turn:
    """ESCALATED: until the node is well, a human approves, or nobody answers."""
    if s.at_ease:
        return ended(s, Reasoned(Reason.RECOVERED, "GREEN again"))
    if s.state.plan is not None and is_rejected(s, s.state.plan):
        refused = s.with_state(remember(s, s.state.plan))
        return ended(refused, said(refused.state.rejected[-1]))
    if s.state.plan is not None and is_approved(s, s.state.plan):
        return _approved(s, s.state.plan)
    until = s.state.escalated_until
    if until is None or s.now >= until:
        return ended(s, Reasoned(Reason.PLAN_EXPIRED, "nobody answered the escalation"))
    if s.state.plan is None:
        turn = propose(s)
        return replace(turn, due_at=until)
    return replace(_still_waiting(s), due_at=until)


def is_approved(s: Situation, plan: Plan) -> bool:
    """By `spec.approvedPlan`, or by the operator's signal; always this plan's own id."""
    by_signal = s.signal.kind is SignalKind.APPROVAL and s.signal.plan_id == plan.id
    return by_signal or s.observation.spec.approved_plan == plan.id


def awaiting_approval(s: Situation) -> Turn:
    """A plan is stored: approve, replace, withdraw, or go on waiting."""
    plan = s.state.plan
    if plan is None or s.mode is Mode.OBSERVE or s.mode is Mode.OFF or _mode_now_enforces(s):
        return watching(_withdrawn(s))
    if is_rejected(s, plan):
        return _rejected(s, plan)
    if data_unknown(s) is not None:
        return _still_waiting(s)
    if is_approved(s, plan) and s.now < plan.expires_at:
        return _approved(s, plan)
    return _unanswered(s, plan)


def _unanswered(s: Situation, plan: Plan) -> Turn:
    if s.now >= plan.expires_at:
        w = _withdrawn(s)
        return held_back(w, draft(w), Reasoned(Reason.PLAN_EXPIRED, f"nobody approved plan {plan.id}"))
    if s.at_ease or (s.target_bytes <= 0 and s.strategy_bytes == 0):
        return watching(_withdrawn(s))
    return propose(s) if s.level > plan.level else _still_waiting(s)


def _rejected(s: Situation, plan: Plan) -> Turn:
    """Dropped; what else there is to do is proposed by a later pass."""
    w = _withdrawn(s.with_state(remember(s, plan)))
    return held_back(w, draft(w), said(w.state.rejected[-1]))


def _mode_now_enforces(s: Situation) -> bool:
    return s.mode is Mode.ENFORCE and s.breaker_until is None


def _withdrawn(s: Situation) -> Situation:
    state = replace(s.state, phase=phase_after(s.state.phase, Event.WITHDRAW), plan=None)
    return s.with_state(state)


def _still_waiting(s: Situation) -> Turn:
    plan = s.state.plan
    detail = f"plan {plan.id} expires in {duration(plan.expires_at - s.now)}" if plan else ""
    why = Reasoned(Reason.AWAITING_APPROVAL, detail)
    due_at = plan.expires_at if plan else None
    return replace(held_back(s, draft(s), why, due_at=due_at), verdict=Verdict.HOLD)


def _approved(s: Situation, plan: Plan) -> Turn:
    """Looked at and planned again: only what is in both plans runs."""
    d = draft(s)
    both = replace(intersection(plan, d.actions), approved_by=_approver(s, plan))
    if both.actions:
        opened = s if s.state.episode_id else _episode_of(s, plan)
        return begun(opened, d, both)
    gone = Reasoned(Reason.RECOVERED, f"nothing of plan {plan.id} is right any more")
    if s.state.phase is Phase.ESCALATED:
        return ended(s, gone)
    w = _withdrawn(s)
    return held_back(w, draft(w), gone)


def _approver(s: Situation, plan: Plan) -> str:
    by_spec = s.observation.spec.approved_plan == plan.id
    return s.observation.spec.approved_by if by_spec else s.signal.operator


def _episode_of(s: Situation, plan: Plan) -> Situation:
    state = replace(s.state, episode_id=plan.episode_id, episode_started_at=s.now, rounds=0, refused=())
    return s.with_state(state)


KIND_STOPS: Mapping[ActionKind, Stops] = {
    ActionKind.CORDON: Stops.CORDON,
    ActionKind.TAINT: Stops.CORDON,
    ActionKind.DRAIN_ENDPOINTS: Stops.DRAIN,
    ActionKind.SCALE: Stops.SCALE,
    ActionKind.EVICT: Stops.EVICT,
    ActionKind.FORCE_DELETE: Stops.EVICT,
}


def acting(s: Situation) -> Turn:
    """A plan was being performed when somebody died: go on with what is left of it, or call it done."""
    plan = s.state.plan
    if s.cluster is None:  # nobody can say yet who has left
        return held_back(s, draft(s), due_at=s.now + s.policy.timers.gone_poll_seconds)
    if plan is None or s.now >= plan.expires_at:
        return _finished(s)
    left = left_of(plan, s.state.results, s.pods)
    d = draft(s, plan_id=plan.id)
    allowed = tuple(a for a in left.actions if not KIND_STOPS[a.kind] & d.stopped.stops)
    if not allowed:
        return _finished(s)
    return Turn(s, Verdict.ALLOW, d, plan=replace(left, actions=allowed, substitutes=False), due_at=s.now)


def after_a_crash(s: Situation) -> Situation:
    """Found in ACTING: somebody died. What he had done, or may have done, becomes fact before all else."""
    plan = s.state.plan
    if s.state.phase is not Phase.ACTING or plan is None or s.cluster is None:
        return s
    s = s.with_state(recovered_progress(s.state, s.now))
    return s.with_state(_crash_evictions(s, plan))


def _crash_evictions(s: Situation, plan: Plan) -> NodeState:
    """A pod of the plan that is gone or terminating was evicted by us, as far as anybody can tell."""
    state, alive = s.state, {pod.uid for pod in s.pods if pod.terminating_since is None}
    for action in plan.actions:
        if action.kind is ActionKind.EVICT and action.pod_uid not in alive and s.cluster is not None:
            state = with_eviction(state, action, s.now, observed=s.observing)
    present = {pod.uid for pod in s.pods}
    gone = tuple(
        replace(e, gone_at=s.now) if e.gone_at is None and e.uid not in present and s.cluster else e
        for e in state.evictions
    )
    return replace(state, evictions=gone)


def _finished(s: Situation) -> Turn:
    s = s.with_state(finish(s.state, (), s.now))
    return settling(s) if s.state.phase is Phase.SETTLING else watching(s)


def settling(s: Situation) -> Turn:
    """Wait until the evicted pods are gone by UID, then for the memory to show, then measure."""
    if _must_isolate(s):
        turn = _isolate_while_settling(s)
        if turn is not None:
            return turn
    gate = _wait(s)
    if gate is not None:
        return gate
    evicted = round_evictions(s.state)
    if s.observing or (evicted and all(e.observed_only for e in evicted)):
        return ended(s, Reasoned(Reason.SETTLING, "observe mode: nothing was done, so nothing is measured"))
    memory = s.memory
    if memory is None or stale(s) is not None:
        return _blind(s)
    return _measured(s, assess(s, memory))


def _must_isolate(s: Situation) -> bool:
    return s.step.cordon and s.state.isolation is Isolation.NONE and mode_off(s) is None


def _isolate_while_settling(s: Situation) -> Turn | None:
    """RED in the middle of settling: the node is closed at once, evictions go on waiting."""
    d = draft(s, gate=Reasoned(Reason.SETTLING, "the last round is still settling"))
    automatic = s.observing or (s.mode is Mode.ENFORCE and s.breaker_until is None)
    return begun(s, d) if automatic and any(a.kind is ActionKind.CORDON for a in d.actions) else None


def _wait(s: Situation) -> Turn | None:
    """A turn that waits, or None when the round has settled."""
    timers, evicted = s.policy.timers, round_evictions(s.state)
    present = [e for e in evicted if e.gone_at is None]
    if any(s.now - e.at <= timers.gone_deadline_seconds for e in present):
        names = ", ".join(e.pod for e in present)
        return _settles(s, f"{names} still terminating", s.now + timers.gone_poll_seconds)
    gone = [e.gone_at for e in evicted if e.gone_at is not None]
    since = max([*gone, s.state.acted_at if s.state.acted_at is not None else s.now])
    until = (max(gone) if gone and not present else since) + timers.settle_seconds
    if s.now < until:
        s = s.with_state(replace(s.state, settle_until=until))
        return _settles(s, f"measured in {duration(until - s.now)}", until)
    return None


def _settles(s: Situation, detail: str, due_at: float) -> Turn:
    why = Reasoned(Reason.SETTLING, detail)
    return held_back(s, draft(s, gate=why), why, due_at=due_at)


def _blind(s: Situation) -> Turn:
    """No sample to measure by: wait for one, but not for ever."""
    since = s.state.settle_until or s.state.acted_at or s.now
    if s.now - since > s.policy.timers.plan_expiry_seconds:
        return ended(s, Reasoned(Reason.DATA_UNKNOWN, "no sample to measure the round by"))
    return _settles(s, "no fresh sample to measure by yet", s.now + s.policy.timers.gone_poll_seconds)


def _measured(s: Situation, outcome: Outcome) -> Turn:
    """The round has an outcome: the end, the next round, or a human."""
    state = replace(s.state, outcomes=(*s.state.outcomes, outcome)[-10:], acted_at=None, settle_until=None)
    s = s.with_state(state)
    if s.at_ease:
        return ended(s, Reasoned(Reason.RECOVERED, outcome.kind.value), outcome=outcome)
    spent = _rounds_spent(s)
    why = overdue(s) or (spent if s.level is Level.RED and s.target_bytes > 0 else None)
    if why is not None:
        return escalated(s, why, outcome)
    if spent is not None:
        return ended(s, spent, outcome=outcome)
    turn = propose(s)
    if turn.situation.state.phase is Phase.SETTLING:
        after = replace(s.state, phase=phase_after(Phase.SETTLING, Event.ASSESSED), plan=None)
        turn = replace(turn, situation=s.with_state(replace(after, round_started_at=None)))
    return replace(turn, outcome=outcome)


def _rounds_spent(s: Situation) -> Reasoned | None:
    """Spent when not even the level above would allow another round."""
    most = max(step.max_rounds for level, step in s.policy.ladder.items() if level >= s.level)
    if s.state.rounds < most:
        return None
    return Reasoned(Reason.ROUNDS_SPENT, f"{s.state.rounds} of {most} rounds")


def cooling_down(s: Situation) -> Turn:
    """The episode is over; even RED only alerts."""
    until = s.state.cooldown_until
    if until is None or s.now >= until:
        return watching(without_episode(s, Event.COOLED))
    return held_back(s, draft(s), due_at=until)


def stood_down(s: Situation) -> Turn:
    """The kubelet was evicting here."""
    until = s.state.stood_down_until
    if until is None or s.now >= until:
        return watching(without_episode(s, Event.STAND_DOWN_OVER))
    return held_back(s, draft(s), due_at=until)


def stand_down(s: Situation) -> Turn | None:
    """From any phase: the kubelet evicts for memory, so we do not. None when it does not."""
    found = kubelet_eviction(s)
    if found is None:
        return None
    until = found[0] + s.policy.timers.stand_down_seconds
    phase = phase_after(s.state.phase, Event.KUBELET_EVICTS)
    state = replace(s.state, phase=phase, stood_down_until=until, plan=None, acted_at=None, settle_until=None)
    s = s.with_state(state)
    return held_back(s, draft(s), due_at=until)


HANDLERS: Mapping[Phase, Handler] = {
    Phase.WATCHING: watching,
    Phase.AWAITING_APPROVAL: awaiting_approval,
    Phase.ACTING: acting,
    Phase.SETTLING: settling,
    Phase.COOLING_DOWN: cooling_down,
    Phase.STOOD_DOWN: stood_down,
    Phase.ESCALATED: waiting_for_human,
}
