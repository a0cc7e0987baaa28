"""What must be looked at although nobody called: firing alerts, unfinished records, nodes isolated by us.

This is what makes lost webhooks, `resolved` that never comes, and restarts harmless. It only names nodes;
the passes decide.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from remediator.core.model import Isolation, Phase, Signal, SignalKind, Unknown
from remediator.core.state import NodeState
from remediator.reconciler.ports import Cluster, Metrics, Record, Records

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wake:
    """A node that must be looked at after `after_seconds` (0: now)."""

    signal: Signal
    after_seconds: float = 0.0


class NotNowError(Exception):
    """A pass ended before it could decide for good (another replica, no turn): bring the same signal again."""

    def __init__(self, why: str, after_seconds: float) -> None:
        super().__init__(why)
        self.after_seconds = after_seconds


class Resync:
    """Reads back what is due."""

    def __init__(self, metrics: Metrics, cluster: Cluster, records: Records, alert_names: Sequence[str]) -> None:
        self._metrics, self._cluster, self._records, self._alert_names = (
            metrics,
            cluster,
            records,
            alert_names,
        )

    def wakes(self) -> list[Wake]:
        """One wake per node and alert, the highest level of each.

        Sources that are silent are logged and skipped.
        """
        alerts = [Wake(signal) for signal in self._firing()]
        named = {wake.signal.node for wake in alerts}
        unfinished = [wake for wake in self._unfinished() if wake.signal.node not in named]
        named |= {wake.signal.node for wake in unfinished}
        isolated = [_timer(node) for node in self._isolated() if node not in named]
        return [*alerts, *unfinished, *isolated]

    def _firing(self) -> list[Signal]:
        firing = self._metrics.firing(self._alert_names)
        if isinstance(firing, Unknown):
            log.warning("firing alerts cannot be read back: %s", firing.why)
            return []
        highest: dict[tuple[str, str], Signal] = {}
        for signal in sorted(firing, key=lambda each: each.level or 0):
            highest[signal.node, signal.alertname] = signal
        return list(highest.values())

    def _unfinished(self) -> Iterator[Wake]:
        now = self._metrics.now()
        for record in self._records.all():
            if _unfinished(record.state):
                yield _timer(record.node, 0.0 if isinstance(now, Unknown) else _wait(record, now))

    def _isolated(self) -> Sequence[str]:
        isolated = self._cluster.isolated_by_us()
        if isinstance(isolated, Unknown):
            log.warning("nodes isolated by us cannot be read back: %s", isolated.why)
            return ()
        return isolated


def _unfinished(state: NodeState) -> bool:
    busy = state.phase is not Phase.WATCHING or state.isolation is not Isolation.NONE
    return busy or state.due_at is not None or bool(state.drained or state.scaled)


def _answered(record: Record) -> bool:
    """An operator spoke of the plan that waits, by kubectl or through another replica."""
    plan, spec = record.state.plan, record.spec
    return plan is not None and plan.id in (spec.approved_plan, spec.rejected_plan)


def _wait(record: Record, now: float) -> float:
    """Seconds until a quiet phase is due; a busy one, and one that an operator answered, is looked at now."""
    state = record.state
    if _answered(record):
        return 0.0
    quiet = state.phase in (Phase.COOLING_DOWN, Phase.STOOD_DOWN, Phase.AWAITING_APPROVAL)
    waits = quiet and state.isolation is Isolation.NONE and state.due_at is not None
    return max(0.0, state.due_at - now) if waits and state.due_at is not None else 0.0


def _timer(node: str, after_seconds: float = 0.0) -> Wake:
    return Wake(Signal(SignalKind.TIMER, node), after_seconds)
