"""That somebody watches, every five minutes: a line in the audit although nothing happens.

Without it nobody could tell a quiet fortnight from one in which no remediator ran. It says how many nodes stand at
which level, and how full those above GREEN were since the last line. Decides nothing.
"""

import time
from collections.abc import Callable

from remediator.core.model import Level, Unknown
from remediator.reconciler.explanation import Json
from remediator.reconciler.ports import Metrics
from remediator.reconciler.telling import Teller

EVERY_SECONDS = 300.0
NAMED = 100
"""So many nodes above GREEN are named, the worst first."""


class RollCall:
    """One process' roll call; `speed` is the drill's."""

    def __init__(
        self,
        metrics: Metrics,
        *,
        speed: float = 1.0,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics, self._every, self._clock, self._monotonic = metrics, EVERY_SECONDS / speed, clock, monotonic
        self._started_at, self._due = clock(), 0.0

    def call(self, teller: Teller) -> None:
        """Write the line when it is due."""
        if self._monotonic() >= self._due:
            self._due = self._monotonic() + self._every
            teller.watching(self._line(), self._clock())

    def _line(self) -> Json:
        levels, trends = self._metrics.levels(), self._metrics.used_ratios(self._every)
        told = {"every_seconds": self._every, "started_at": self._started_at}
        if isinstance(levels, Unknown):
            return told | {"unknown": levels.why, "nodes": None, "levels": {}, "above": {}}
        marks = {} if isinstance(trends, Unknown) else trends
        peaks = {node: max((ratio for _, ratio in marks.get(node, ())), default=None) for node in levels}
        above = [node for node, level in levels.items() if level > Level.GREEN]
        above.sort(key=lambda node: (-levels[node], -(peaks[node] or 0.0), node))
        return told | {
            "unknown": None,
            "nodes": len(levels),
            "levels": {each.name: sum(level is each for level in levels.values()) for each in Level},
            "above": {node: {"level": levels[node].name, "peak_used_ratio": peaks[node]} for node in above[:NAMED]},
        }
