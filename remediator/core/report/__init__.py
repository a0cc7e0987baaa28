"""The observe report: a period's audit folded into figures that a decision can be made by. Pure.

One pass over the lines, ordered by time; memory grows with nodes and workloads under pressure, never with lines.
"""

from collections.abc import Iterable, Sequence

from remediator.core.report.acts import ActsFold
from remediator.core.report.coverage import CoverageFold
from remediator.core.report.deaths import DeathsFold
from remediator.core.report.declaring import business_rows
from remediator.core.report.events import (
    Acted,
    Decided,
    Died,
    Event,
    LevelChanged,
    Line,
    Measured,
    Record,
    UnreadableError,
    Watching,
    read,
)
from remediator.core.report.held import HeldFold
from remediator.core.report.in_the_way import InTheWayFold
from remediator.core.report.pressure import PressureFold
from remediator.core.report.recommending import Parts, recommendations
from remediator.core.report.summing_up import caveats, summary
from remediator.core.report.values import Report

__all__ = ["Fold", "Line", "Report", "UnreadableError", "read", "report"]


def report(records: Iterable[Record], since: float, until: float) -> Report:
    """The report of `since` (included) to `until` (unix seconds) from lines of any number of replicas, by time."""
    fold = Fold(since, until)
    for record in records:
        fold.add(record)
    return fold.done()


class Fold:
    """A report in the making."""

    def __init__(self, since: float, until: float) -> None:
        self._since, self._until = since, until
        self._coverage = CoverageFold(since, until)
        self._pressure = PressureFold(self._coverage)
        self._in_the_way, self._acts, self._held = InTheWayFold(), ActsFold(), HeldFold()
        self._deaths = DeathsFold(self._pressure)

    def add(self, record: Record) -> None:
        """One more line; one that cannot be read is counted."""
        try:
            line = read(record)
        except UnreadableError:
            self.unreadable()
        else:
            self.add_line(line)

    def unreadable(self) -> None:
        """One more line that nobody could read."""
        self._coverage.unreadable += 1

    def add_line(self, line: Line) -> None:
        """One that was read already; one outside the period is left out."""
        if self._since <= line.at < self._until:
            self._coverage.add(line)
            if line.event is not None:
                self._take(line.event, line.at)

    def _take(self, event: Event, at: float) -> None:
        match event:
            case Decided():
                self._decided(event, at)
            case Acted():
                self._acts.acted(event, at)
            case LevelChanged():
                self._pressure.changed(event, at)
                self._deaths.changed(event, at)
            case Watching():
                self._pressure.called(event, at)
            case Died():
                self._deaths.died(event)
            case Measured():
                self._acts.measured(event)

    def _decided(self, decision: Decided, at: float) -> None:
        self._pressure.decided(decision, at)
        spell = self._pressure.spell(decision.node)
        self._in_the_way.decided(decision, at, spell)
        self._held.decided(decision, at, spell)
        self._acts.decided(decision)
        self._deaths.decided(decision, at)

    def done(self, notes: Sequence[str] = ()) -> Report:
        """The report; `notes` are caveats of whoever read the lines."""
        parts = Parts(
            coverage=self._coverage.done(),
            undeclared=self._in_the_way.undeclared(),
            nodes=self._pressure.done(),
            acts=self._acts.done(),
            rounds=self._acts.rounds(),
            held=self._held.done(),
            causes=self._deaths.causes(),
        )
        return Report(
            summary=summary(parts),
            caveats=(*caveats(parts.coverage), *notes),
            coverage=parts.coverage,
            undeclared=parts.undeclared,
            business=business_rows(parts.undeclared),
            nodes=parts.nodes,
            acts=parts.acts,
            given_back=self._acts.given_back,
            rounds=parts.rounds,
            held=parts.held,
            kept=self._in_the_way.kept(),
            causes=parts.causes,
            deaths=self._deaths.done(),
            recommendations=recommendations(parts),
        )
