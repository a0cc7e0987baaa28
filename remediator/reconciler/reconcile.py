"""One pass over one node: observe -> decide -> record intent -> perform -> record.

The reconciler knows the order of steps and nothing else: what to do is the core's, how is the adapters'. A
record that somebody else wrote ends the pass quietly; an intent that cannot be kept ends it loudly and
without an act.
"""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from remediator import metrics as counters
from remediator.core.model import Mode, Phase, Signal, SignalKind
from remediator.core.planner import after_actions, decide
from remediator.core.policy import Policy
from remediator.core.question import Question
from remediator.core.state import ActionStatus, Decision, Plan
from remediator.reconciler.explanation import Json, explained
from remediator.reconciler.keeping import Keeper, TakenOverError
from remediator.reconciler.observing import Observer, Seen
from remediator.reconciler.performing import Performed, Performer
from remediator.reconciler.places import Places
from remediator.reconciler.ports import Actuator, Cluster, Leases, Metrics, Record, Records, Silences
from remediator.reconciler.resyncing import NotNowError
from remediator.reconciler.telling import Teller

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside systems."""

    metrics: Metrics
    cluster: Cluster
    silences: Silences
    records: Records
    leases: Leases
    actuators: Mapping[Mode, Actuator]
    """By the mode in force: the recording one for OBSERVE, the real one for APPROVE and ENFORCE."""


class Reconciler:
    """Brings one node a step further, whenever it is called."""

    def __init__(
        self,
        ports: Ports,
        teller: Teller,
        policy: Policy,
        *,
        pool: Executor,
        clock: Callable[[], float],
        places: Places | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._ports, self._teller, self._policy, self._stopping = ports, teller, policy, stopping
        self._observer = Observer(ports.metrics, ports.cluster, ports.silences, ports.records, pool, clock)
        self._places = places or Places(ports.leases)
        self._keeper = Keeper(ports.records)
        self._achieved: dict[str, frozenset[str]] = {}
        self._performer = Performer(self._keeper, teller, self._observer.look_again, policy)

    def reconcile(self, signal: Signal) -> float | None:
        """One pass; seconds after which the node wants the next, or None.

        Raises NotNowError when another replica acts on the node: nothing was done with this signal.
        """
        with counters.PASS_SECONDS.time():
            try:
                return self._passed(signal)
            except TakenOverError as taken:
                raise NotNowError(str(taken), self._soon()) from taken
            except NotNowError:
                raise
            except Exception as error:
                self._teller.failed(signal.node, error)
                raise

    def explain(self, node: str) -> Json:
        """The node's decision as it would be now; nothing is written, nothing is done."""
        return explained(self.question(node))

    def question(self, node: str) -> Question:
        """What a decision about the node would look at now; it can be kept, and decided again elsewhere."""
        signal = Signal(SignalKind.TIMER, node)
        seen = self._observer.observe(signal)
        return Question(seen.record.state, signal, seen.observation, self._policy)

    def release_all(self) -> None:
        """Give back every lease (on stopping)."""
        self._places.release_all()

    # --- steps -----------------------------------------------------------------------------------------

    def _passed(self, signal: Signal) -> float | None:
        seen = self._observer.observe(signal)
        decision = self._decided(signal, seen)
        if decision.plan is None:
            return self._kept(signal, seen, decision)
        with self._places.node(signal.node) as ours:
            if not ours:
                raise NotNowError("another replica acts on it", self._soon())
            self._teller.found_unfinished(signal.node, seen.record.state, seen.now)
            return self._acted(signal, seen, decision)

    def _decided(self, signal: Signal, seen: Seen) -> Decision:
        return decide(seen.record.state, signal, seen.observation, self._policy, seen.now)

    def _kept(self, signal: Signal, seen: Seen, decision: Decision) -> float | None:
        """Nothing to do: remember what is worth it, tell, come back when asked."""
        if decision.next_state.phase is not Phase.ACTING:
            self._teller.found_unfinished(signal.node, seen.record.state, seen.now)
        self._keeper.keep(seen.record, decision.next_state)
        self._teller.decided(signal, seen.observation, decision, seen.record.state)
        self._teller.notify(decision)
        return decision.requeue_after_seconds

    def _acted(self, signal: Signal, seen: Seen, decision: Decision) -> float | None:
        with self._places.turn(_takes(decision.plan)) as granted:
            if not granted:
                raise NotNowError("the turn did not come", self._soon())
            seen, decision = self._decided_again(signal, seen, decision)
            if decision.plan is None:
                return self._kept(signal, seen, decision)
            record = self._keeper.write(seen.record, decision.next_state)
        self._teller.decided(signal, seen.observation, decision, seen.record.state)
        try:
            self._teller.intends(decision.plan, decision.plan.actions, decision.mode)
        except Exception as error:
            self._teller.refused_to_act(decision, error)
            return self._policy.timers.resync_seconds
        self._teller.notify(decision)
        return self._performed(signal, seen, decision, record)

    def _decided_again(self, signal: Signal, seen: Seen, decision: Decision) -> tuple[Seen, Decision]:
        """With the turn in hand the other nodes' records are read afresh: caps count what was just taken."""
        if not _takes(decision.plan):
            return seen, decision
        fleet = self._observer.fleet(seen.observation.fleet.levels)
        if _others(fleet.states, signal.node) == _others(seen.observation.fleet.states, signal.node):
            return seen, decision
        fresh = replace(seen, observation=replace(seen.observation, fleet=fleet))
        return fresh, self._decided(signal, fresh)

    def _performed(self, signal: Signal, seen: Seen, decision: Decision, record: Record) -> float | None:
        performed = self._performer.perform(
            signal,
            decision,
            seen.observation,
            record,
            self._ports.actuators[decision.mode],
            lambda: not self._stopping() and self._places.still_ours(signal.node),
        )
        if not performed.complete:
            return self._soon()
        now = max([seen.now, *(result.at for result in performed.results)])
        self._keeper.write(performed.record, after_actions(decision.next_state, performed.results, now))
        return self._next_look(signal.node, performed)

    def _next_look(self, node: str, performed: Performed) -> float:
        """At once when something was achieved; a plan that failed, or comes back as it was, must not spin."""
        done = frozenset(r.action.key for r in performed.results if r.status is ActionStatus.DONE)
        again = done and self._achieved.get(node) != done
        self._achieved[node] = done
        return 0.0 if again else self._policy.timers.resync_seconds

    def _soon(self) -> float:
        return self._policy.timers.gone_poll_seconds


def _takes(plan: Plan | None) -> bool:
    """Whether a plan takes a place or spends a cap; giving back never waits for its turn."""
    return plan is not None and not all(action.undo for action in plan.actions)


def _others(states: Mapping[str, object], node: str) -> dict[str, object]:
    return {name: state for name, state in states.items() if name != node}
