"""Plans that a human rejected: not proposed again as they were, until the rejection expires.

"As it was" means the same pods (or, where nobody was to be evicted, the same steps) at no higher a level: what
got worse since is worth another question. Pure.
"""

from collections.abc import Iterable
from dataclasses import replace

from remediator.core.figures import duration
from remediator.core.reason import Reason
from remediator.core.situation import Situation
from remediator.core.state import Action, NodeState, Plan, Reasoned, RejectedPlan

KEPT = 10


def subject(actions: Iterable[Action]) -> tuple[str, ...]:
    """What a plan is about: its pods, else its steps; sorted."""
    listed = tuple(actions)
    pods = sorted(action.pod_uid for action in listed if action.pod_uid)
    return tuple(pods or sorted(action.key for action in listed))


def is_rejected(s: Situation, plan: Plan) -> bool:
    """By `spec.rejectedPlan`; always this plan's own id."""
    return s.observation.spec.rejected_plan == plan.id


def remember(s: Situation, plan: Plan) -> NodeState:
    """The state that knows of the rejection; older ones that still hold are kept."""
    until = s.now + s.policy.timers.plan_expiry_seconds
    fresh = RejectedPlan(plan.id, plan.level, subject(plan.actions), s.observation.spec.rejected_by, s.now, until)
    held = [each for each in s.state.rejected if each.until > s.now and each.plan_id != plan.id]
    return replace(s.state, rejected=(*held, fresh)[-KEPT:])


def said(rejected: RejectedPlan) -> Reasoned:
    """For people and the audit: who said no to what."""
    return Reasoned(Reason.PLAN_REJECTED, f"plan {rejected.plan_id}, by {rejected.by}")


def against(s: Situation, actions: Iterable[Action]) -> tuple[Reasoned, float] | None:
    """Why these steps may not be proposed now, and until when; None: they may."""
    wanted = subject(actions)
    for each in reversed(s.state.rejected):
        if each.until > s.now and each.subject == wanted and s.level <= each.level:
            again = f"asked again in {duration(each.until - s.now)}"
            why = f"plan {each.plan_id} was the same, rejected by {each.by}; {again}"
            return Reasoned(Reason.PLAN_REJECTED, why), each.until
    return None
