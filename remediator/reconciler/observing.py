"""Observe: every source asked at once, one frozen Observation out.

A source that fails in a way its adapter did not foresee becomes `Unknown` too, loudly: no bug in a reader
may turn into calm. Nothing is decided here. The clock of the pass is Prometheus' own; where that is silent,
ours corrected by the last difference seen, so that waiting times go on.
"""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from typing import TypeVar

from remediator import metrics as counters
from remediator.core.model import ClusterFacts, Level, Signal, SilenceFacts, Unknown
from remediator.core.state import FleetFacts, NodeState, Observation
from remediator.reconciler.hindsight import with_levels
from remediator.reconciler.ports import Cluster, Metrics, Record, Records, Silences

log = logging.getLogger(__name__)
PRESSURE_ALERT = "NodeMemoryPressure"
"""What a pass without an alert of its own (timer, resync of a record) is silenced by."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look at a node gave: the facts, and the record that fences what follows."""

    observation: Observation
    record: Record

    @property
    def now(self) -> float:
        """Time of the pass, on Prometheus' clock."""
        return self.observation.at


class Observer:
    """Asks all sources about one node, side by side."""

    def __init__(
        self,
        metrics: Metrics,
        cluster: Cluster,
        silences: Silences,
        records: Records,
        pool: Executor,
        clock: Callable[[], float],
    ) -> None:
        self._metrics, self._cluster, self._silences, self._records = metrics, cluster, silences, records
        self._pool, self._clock = pool, clock
        self._clock_difference_seconds = 0.0

    def observe(self, signal: Signal) -> Seen:
        """Everything a decision about the signal's node may look at.

        Raises only when the records cannot be read.
        """
        node = signal.node
        records = self._pool.submit(self._records_with, node)
        now = self._ask("clock", self._metrics.now)
        memory = self._ask("prometheus", self._metrics.memory, node)
        usages = self._ask("prometheus", self._metrics.usages, node)
        levels = self._ask("prometheus", self._metrics.levels)
        cluster = self._ask("kubernetes", self._snapshot, node)
        silences = self._ask("alertmanager", self.read_silences, signal)
        record, states = records.result()
        observation = Observation(
            node=node,
            at=self._time(now.result()),
            memory=memory.result(),
            cluster=cluster.result(),
            usages=usages.result(),
            silences=silences.result(),
            fleet=FleetFacts(levels=levels.result(), states=states),
            spec=record.spec,
        )
        return Seen(observation, record)

    def look_again(self, signal: Signal, before: Observation) -> Observation:
        """The look right before an irreversible act: everything that can say no is read afresh."""
        node = signal.node
        now = self._ask("clock", self._metrics.now)
        memory = self._ask("prometheus", self._metrics.memory, node)
        levels = self._ask("prometheus", self._metrics.levels)
        cluster = self._ask("kubernetes", self._snapshot, node)
        silences = self._ask("alertmanager", self.read_silences, signal)
        return replace(
            before,
            at=self._time(now.result()),
            memory=memory.result(),
            cluster=cluster.result(),
            silences=silences.result(),
            fleet=replace(before.fleet, levels=levels.result()),
        )

    def fleet(self, levels: Mapping[str, Level] | Unknown) -> FleetFacts:
        """The other nodes' records as they are now."""
        return FleetFacts(levels=levels, states={record.node: record.state for record in self._records.all()})

    def read_silences(self, signal: Signal) -> SilenceFacts | Unknown:
        """Silences that may hold the signal's alert, or its node's pressure alert."""
        return self._silences.read(signal.node, signal.alertname or PRESSURE_ALERT, signal.level)

    def _records_with(self, node: str) -> tuple[Record, dict[str, NodeState]]:
        """The node's record and everybody's state, from one list where it holds the node."""
        listed = self._records.all()
        mine = next((record for record in listed if record.node == node), None)
        return mine or self._records.load(node), {record.node: record.state for record in listed}

    def _snapshot(self, node: str) -> ClusterFacts | Unknown:
        return with_levels(self._cluster.snapshot(node), self._metrics.levels_at)

    def _ask(self, source: str, ask: Callable[..., _T], *arguments: object) -> "Future[_T | Unknown]":
        return self._pool.submit(self._answer, source, ask, *arguments)

    def _answer(self, source: str, ask: Callable[..., _T], *arguments: object) -> _T | Unknown:
        try:
            return ask(*arguments)
        except Exception as error:
            log.exception("%s could not be read", source)
            counters.READS_FAILED.labels(source).inc()
            return Unknown(source, f"{type(error).__name__}: {error}")

    def _time(self, prometheus_now: float | Unknown) -> float:
        ours = self._clock()
        if not isinstance(prometheus_now, Unknown):
            self._clock_difference_seconds = prometheus_now - ours
        return ours + self._clock_difference_seconds
