"""A node's episode and its past as rows for people: each step with what became of it, evictions and outcomes."""

from collections.abc import Iterable, Sequence
from typing import Any

from remediator.core.actions import Action, ActionStatus
from remediator.core.model import Phase
from remediator.core.reason import SENTENCES
from remediator.core.state import NodeState
from remediator.reconciler.explanation import action_as_json
from remediator.reconciler.ports import Record

Json = dict[str, Any]
KEPT = 15
_PENDING = {Phase.ACTING: "next", Phase.AWAITING_APPROVAL: "waits", Phase.ESCALATED: "waits"}


def steps(state: NodeState) -> list[Json]:
    """The steps of the plan in hand, in order; `status` of a step that was not done yet says what it waits for."""
    if state.plan is None:
        return []
    answers = {key: (status, reason) for key, status, reason in state.results}
    return [_step(action, answers.get(action.key), state.phase) for action in state.plan.actions]


def _step(action: Action, answer: Any, phase: Phase) -> Json:
    if answer is None:
        return {**action_as_json(action), "status": _PENDING.get(phase, "–"), "sentence": "", "done": False}
    status, reason = answer
    told = {"status": str(status), "sentence": SENTENCES[reason], "done": status is ActionStatus.DONE}
    return {**action_as_json(action), **told}


def past(records: Iterable[Record]) -> list[Json]:
    """Outcomes and evictions of all these nodes, newest first."""
    rows = [row for record in records for row in (*_outcomes(record), *_evictions(record))]
    return sorted(rows, key=lambda row: -row["at"])


def _outcomes(record: Record) -> Sequence[Json]:
    return [
        {
            "at": outcome.at,
            "node": record.node,
            "what": "outcome",
            "kind": str(outcome.kind),
            "used_ratio_before": outcome.used_ratio_before,
            "used_ratio_after": outcome.used_ratio_after,
            "released_bytes": outcome.released_bytes,
            "expected_bytes": outcome.expected_bytes,
            "workloads": list(outcome.workloads),
        }
        for outcome in record.state.outcomes
    ]


def _evictions(record: Record) -> Sequence[Json]:
    return [
        {
            "at": each.at,
            "node": record.node,
            "what": "eviction",
            "pod": f"{each.namespace}/{each.pod}",
            "tier": each.tier,
            "expected_bytes": each.bytes,
            "observed": each.observed_only,
        }
        for each in record.state.evictions
    ]
