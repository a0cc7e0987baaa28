"""How much of the period the audit tells about: from line to line, whoever wrote it, and with roll calls in between."""

import heapq
from dataclasses import dataclass

from remediator.core.report.events import Line, Watching
from remediator.core.report.values import Coverage, Gap, Replica

EVERY_SECONDS = 300.0
"""How often the roll is called where no line says so."""
MISSED_CALLS = 2.5
"""So many calls may be late before it is taken that nobody watched."""
LATE_SECONDS = 60.0
"""Decisions go by Prometheus' clock, results by ours: so much disorder is no wonder."""
KEPT_GAPS = 20
KEPT_NAMES = 50


@dataclass(slots=True)
class _Replica:
    first_at: float
    last_at: float
    lines: int = 0
    starts: int = 0
    started_at: float = 0.0


class CoverageFold:
    """Fed line by line, ordered by time."""

    def __init__(self, since: float, until: float) -> None:
        self.since, self.until = since, until
        self.tolerance_seconds = MISSED_CALLS * EVERY_SECONDS
        self._at = since
        self._begun = False
        self._covered = self._blind = 0.0
        self._gaps: list[tuple[float, float]] = []
        self._gaps_total = self._lines = self._late = self._nodes = 0
        self._replicas: dict[str, _Replica] = {}
        self._modes: dict[str, None] = {}
        self._hashes: dict[str, None] = {}
        self.unreadable = 0

    def add(self, line: Line) -> None:
        """One more line."""
        self._lines += 1
        self._late += line.at < self._at - LATE_SECONDS
        blind = isinstance(line.event, Watching) and line.event.blind
        self._advance(line.at, blind=blind)
        self._begun = True
        replica = self._replicas.setdefault(line.replica, _Replica(line.at, line.at))
        replica.lines, replica.last_at = replica.lines + 1, max(replica.last_at, line.at)
        if line.config_hash and len(self._hashes) < KEPT_NAMES:
            self._hashes[line.config_hash] = None
        if isinstance(line.event, Watching):
            self._called(line.event, replica)

    def _called(self, call: Watching, replica: _Replica) -> None:
        self.tolerance_seconds = MISSED_CALLS * call.every_seconds
        self._nodes = max(self._nodes, call.nodes)
        self._modes[call.mode] = None
        replica.starts += call.started_at > replica.started_at
        replica.started_at = max(replica.started_at, call.started_at)

    def _advance(self, at: float, *, blind: bool) -> None:
        passed = at - self._at
        if passed <= 0:
            return
        if passed <= self.tolerance_seconds:
            self._covered += passed
            self._blind += passed if blind else 0.0
        else:
            self._gap(self._at, at)
        self._at = at

    def _gap(self, since: float, until: float) -> None:
        self._gaps_total += 1
        heapq.heappush(self._gaps, (until - since, since))
        if len(self._gaps) > KEPT_GAPS:
            heapq.heappop(self._gaps)

    def done(self) -> Coverage:
        """The sum."""
        if self._begun:
            self._advance(self.until, blind=False)
        elif self.until > self.since:
            self._gap(self.since, self.until)
        asked = self.until - self.since
        return Coverage(
            since=self.since,
            until=self.until,
            asked_seconds=asked,
            covered_seconds=self._covered,
            covered_ratio=self._covered / asked if asked > 0 else 0.0,
            blind_seconds=self._blind,
            gaps=tuple(Gap(since, since + length) for length, since in sorted(self._gaps, key=lambda gap: gap[1])),
            gaps_total=self._gaps_total,
            lines=self._lines,
            unreadable_lines=self.unreadable,
            late_lines=self._late,
            replicas=tuple(
                Replica(name, each.first_at, each.last_at, each.lines, each.starts)
                for name, each in sorted(self._replicas.items())
            ),
            modes=tuple(sorted(self._modes)),
            config_hashes=tuple(self._hashes),
            nodes=self._nodes,
        )
