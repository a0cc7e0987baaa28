"""What may be said of a plan: found in the records, judged, and written back into the record as the operator's word.

Everything goes through the node's record, so that whichever replica holds the node sees it. Nothing is decided
about pods here: the next pass does that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from remediator.core.actions import Plan
from remediator.core.model import Phase
from remediator.reconciler.explanation import plan_as_json
from remediator.reconciler.ports import Record

WAITING = (Phase.AWAITING_APPROVAL, Phase.ESCALATED)


class Verdict(StrEnum):
    """An operator's word on a plan."""

    APPROVE = "approve"
    REJECT = "reject"


WORDS = {Verdict.APPROVE: "approvedPlan", Verdict.REJECT: "rejectedPlan"}
_PAST = {Verdict.APPROVE: "approved", Verdict.REJECT: "rejected"}


class PlanStatus(StrEnum):
    """Where a plan stands."""

    WAITING = "waiting"
    APPROVED = "approved"
    """A human said yes; the pass that performs it is about to run."""
    REJECTED = "rejected"
    EXPIRED = "expired"
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a word on a plan is not taken."""

    code: int
    why: str


def status_of(record: Record, plan: Plan, now: float) -> PlanStatus:
    """Where the plan that the record holds stands at `now` (unix seconds)."""
    if record.state.phase not in WAITING:
        return PlanStatus.RUNNING if record.state.phase is Phase.ACTING else PlanStatus.DONE
    if record.spec.rejected_plan == plan.id:
        return PlanStatus.REJECTED
    if record.spec.approved_plan == plan.id:
        return PlanStatus.APPROVED
    return PlanStatus.EXPIRED if now >= plan.expires_at else PlanStatus.WAITING


def plan_rows(records: Sequence[Record], now: float) -> list[dict[str, Any]]:
    """Every plan that the records hold: those that wait first, then by age."""
    held = [(record, record.state.plan) for record in records]
    rows = [_row(record, plan, now) for record, plan in held if plan is not None]
    return sorted(rows, key=lambda row: (row["status"] != PlanStatus.WAITING, row["created_at"], row["node"]))


def _row(record: Record, plan: Plan, now: float) -> dict[str, Any]:
    spec, status = record.spec, status_of(record, plan, now)
    by = {PlanStatus.APPROVED: spec.approved_by, PlanStatus.REJECTED: spec.rejected_by}
    return {
        **plan_as_json(plan),
        "node": record.node,
        "status": str(status),
        "answered_by": by.get(status) or plan.approved_by or None,
        "expires_in_seconds": max(0, round(plan.expires_at - now)),
    }


def taken(records: Sequence[Record], plan_id: str, verdict: Verdict, now: float) -> Record | Refused:
    """The record to write the word into, or why it is not taken. The same word twice is taken twice."""
    record = next((each for each in records if each.state.plan is not None and each.state.plan.id == plan_id), None)
    if record is None or record.state.plan is None:
        return _gone(records, plan_id)
    match status_of(record, record.state.plan, now):
        case PlanStatus.RUNNING | PlanStatus.DONE as status:
            by = f", approved by {record.state.plan.approved_by}" if record.state.plan.approved_by else ""
            does = "runs already" if status is PlanStatus.RUNNING else "has run"
            return Refused(409, f"plan {plan_id} on {record.node} {does}{by}; see `remediator status`")
        case PlanStatus.EXPIRED:
            return Refused(409, f"plan {plan_id} has expired; see `remediator plans` for what waits now")
        case PlanStatus.APPROVED if verdict is Verdict.REJECT:
            return Refused(
                409, f"plan {plan_id} was approved by {record.spec.approved_by} a moment ago and is about to run"
            )
        case PlanStatus.REJECTED if verdict is Verdict.APPROVE:
            return Refused(409, f"plan {plan_id} was rejected by {record.spec.rejected_by} a moment ago")
    return record


def _gone(records: Sequence[Record], plan_id: str) -> Refused:
    """No record holds it any more: as much of its end as is remembered."""
    for record in records:
        for rejected in record.state.rejected:
            if rejected.plan_id == plan_id:
                return Refused(409, f"plan {plan_id} was rejected by {rejected.by}")
        if record.spec.approved_plan == plan_id:
            return Refused(409, f"plan {plan_id} on {record.node} is over; {record.spec.approved_by} had approved it")
    return Refused(404, f"no plan {plan_id}: it was replaced, withdrawn or has expired; see `remediator plans`")


def past(verdict: Verdict) -> str:
    """`approved` or `rejected`."""
    return _PAST[verdict]
