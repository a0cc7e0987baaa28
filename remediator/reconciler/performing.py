"""Perform one plan: look again and write the record before whatever cannot be undone.

The order of steps, the next best after a refusal and every reason to stop are the core's (`next_action`,
`recheck`); this module only walks. It never starts an act after the record was lost, the lease was lost, or
a stop was asked for: what is left is then done by whoever reads the record next.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from remediator.core.model import Signal
from remediator.core.planner import next_action, recheck
from remediator.core.policy import Policy
from remediator.core.reason import Reason
from remediator.core.state import (
    Action,
    ActionResult,
    ActionStatus,
    Decision,
    NodeState,
    Observation,
    Plan,
    Reasoned,
)
from remediator.reconciler.keeping import Keeper
from remediator.reconciler.ports import Actuator, Record
from remediator.reconciler.telling import Teller

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Performed:
    """What became of a plan."""

    record: Record
    results: tuple[ActionResult, ...]
    complete: bool
    """False: stopped in the middle (shutdown, lease lost); the record says how far."""


class Performer:
    """Walks a plan."""

    def __init__(
        self,
        keeper: Keeper,
        teller: Teller,
        look_again: Callable[[Signal, Observation], Observation],
        policy: Policy,
    ) -> None:
        self._keeper, self._teller, self._look_again, self._policy = keeper, teller, look_again, policy

    def perform(
        self,
        signal: Signal,
        decision: Decision,
        seen: Observation,
        record: Record,
        actuator: Actuator,
        may_go_on: Callable[[], bool],
    ) -> Performed:
        """Perform the decision's plan; `record` is the one that was written with the decision's next state.

        `may_go_on` is asked before every action. Raises TakenOverError when the record was lost.
        """
        plan = decision.plan
        if plan is None:
            raise ValueError("a decision without a plan has nothing to perform")
        results: list[ActionResult] = []
        written = 0
        while (action := next_action(plan, decision.ranking, results, self._policy)) is not None:
            if not may_go_on():
                record = self._keeper.write(record, progress(decision.next_state, results))
                return Performed(record, tuple(results), complete=False)
            stands_in = action not in plan.actions
            if action.irreversible and (written < len(results) or stands_in):
                record = self._keeper.write(record, progress(decision.next_state, results, plan, action))
                written = len(results)
            if stands_in:
                self._teller.intends(plan, (action,), decision.mode)
            results.append(self._one(signal, action, seen, actuator))
            self._teller.acted(results[-1], plan, decision.mode)
        return Performed(record, tuple(results), complete=True)

    def _one(self, signal: Signal, action: Action, seen: Observation, actuator: Actuator) -> ActionResult:
        if action.irreversible:
            fresh = self._look_again(signal, seen)
            against = recheck(action, fresh, self._policy, fresh.at)
            if against is not None:
                return _skipped(action, against, fresh.at)
        try:
            return actuator.perform(action)
        except Exception as error:
            # An adapter's bug must not make us forget that something may have been done.
            log.exception("%s failed in a way nobody foresaw", action.key)
            detail = f"{type(error).__name__}: {error}"
            return ActionResult(action, ActionStatus.UNKNOWN, Reason.API_ERROR, seen.at, detail)


def progress(
    state: NodeState,
    results: list[ActionResult],
    plan: Plan | None = None,
    standing_in: Action | None = None,
) -> NodeState:
    """The state while its plan is performed: answers so far; a stand-in joins the plan before it is acted on.

    So whoever takes over after a crash knows of every pod that may have been touched.
    """
    kept = tuple((result.action.key, result.status, result.reason) for result in results)
    state = replace(state, results=(*state.results, *kept))
    if plan is None or standing_in is None or standing_in in plan.actions or state.plan is None:
        return state
    extra = [result.action for result in results if result.action not in plan.actions]
    return replace(state, plan=replace(state.plan, actions=(*state.plan.actions, *extra, standing_in)))


def _skipped(action: Action, against: Reasoned, at: float) -> ActionResult:
    return ActionResult(action, ActionStatus.SKIPPED, against.reason, at, against.detail)
