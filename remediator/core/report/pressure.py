"""Levels over time: how often each was reached, how long it stood, the worst mark, and the spell a node is in.

Between two looks a node stood at the level before the later one; where nobody looked for too long nothing is counted.
"""

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field

from remediator.core.model import Level
from remediator.core.report.coverage import CoverageFold
from remediator.core.report.events import Decided, LevelChanged, Watching
from remediator.core.report.values import STRIP, NodePressure

REMEMBERED_CHANGES = 200
ABOVE_GREEN = (Level.YELLOW, Level.ORANGE, Level.RED)


@dataclass(slots=True)
class _Node:
    level: Level
    seen_at: float
    spells: int = 0
    times: dict[Level, int] = field(default_factory=lambda: dict.fromkeys(ABOVE_GREEN, 0))
    seconds: dict[Level, float] = field(default_factory=lambda: dict.fromkeys(ABOVE_GREEN, 0.0))
    worst: tuple[float, float] | None = None
    """(used ratio, when)."""
    strip: dict[int, int] = field(default_factory=dict)
    changes: deque[tuple[float, Level]] = field(default_factory=lambda: deque(maxlen=REMEMBERED_CHANGES))


class PressureFold:
    """Fed in order of time; `period` tells since when and how long a silence may be."""

    def __init__(self, period: CoverageFold) -> None:
        self._period = period
        self._nodes: dict[str, _Node] = {}
        self._called = False
        """A roll call named every node above GREEN: whoever was never seen was GREEN."""

    # --- lines ----------------------------------------------------------------------------------------------

    def changed(self, change: LevelChanged, at: float) -> None:
        """A level was told as it changed."""
        node = self._see(change.node, at, change.level, change.before or Level.GREEN)
        for level in ABOVE_GREEN:
            node.times[level] += (change.before or Level.GREEN) < level <= change.level
        self._mark(node, change.used_ratio, at)

    def decided(self, decision: Decided, at: float) -> None:
        """A decision knows the level as well."""
        if decision.level is not None:
            self._mark(self._see(decision.node, at, decision.level), decision.used_ratio, at)

    def called(self, call: Watching, at: float) -> None:
        """Nodes above GREEN by name; all the others are GREEN."""
        if call.blind:
            return
        for name, (level, peak) in call.above.items():
            self._mark(self._see(name, at, level), peak, at)
        if call.complete:
            for name, node in self._nodes.items():
                if node.level > Level.GREEN and name not in call.above:
                    self._see(name, at, Level.GREEN)
            self._called = True

    # --- questions ------------------------------------------------------------------------------------------

    def spell(self, node: str) -> int:
        """Which of its spells the node is in, or was in last."""
        found = self._nodes.get(node)
        return found.spells if found is not None else 0

    def level_at(self, node: str, at: float) -> Level | None:
        """As far as it is known."""
        changes = self._changes(node)
        before = bisect_right(changes, (at, Level.RED))
        return changes[before - 1][1] if before else None

    def above_since(self, node: str, at: float) -> float | None:
        """Since when the node had been above GREEN at that moment; None when it was not."""
        since = None
        for changed_at, level in self._changes(node):
            if changed_at > at:
                break
            since = None if level is Level.GREEN else changed_at if since is None else since
        return since

    def _changes(self, node: str) -> list[tuple[float, Level]]:
        found = self._nodes.get(node)
        return list(found.changes) if found is not None else []

    # --- folding --------------------------------------------------------------------------------------------

    def _see(self, name: str, at: float, level: Level, before: Level | None = None) -> _Node:
        """The node stands at this level now; until now it stood at `before`, or where it was seen last."""
        tolerance = self._period.tolerance_seconds
        node = self._nodes.get(name)
        if node is None:
            first = before if before is not None else Level.GREEN if self._called else level
            begun = max(self._period.since, at - tolerance)
            node = self._nodes[name] = _Node(Level.GREEN, begun)
            self._move(node, first, begun)
        held = node.level if before is None else before
        if 0 < at - node.seen_at <= tolerance:
            self._stood(node, held, node.seen_at, at)
        node.seen_at = max(node.seen_at, at)
        self._move(node, level, at)
        return node

    def _move(self, node: _Node, level: Level, at: float) -> None:
        if level is node.level:
            return
        node.spells += node.level is Level.GREEN
        node.level = level
        node.changes.append((at, level))

    def _stood(self, node: _Node, level: Level, since: float, until: float) -> None:
        if level is Level.GREEN:
            return
        node.seconds[level] += until - since
        first, last = self._part(since), self._part(until)
        for part in range(first, max(first, last) + 1):
            node.strip[part] = max(level, node.strip.get(part, 0))

    def _part(self, at: float) -> int:
        length = self._period.until - self._period.since
        return min(STRIP - 1, max(0, int(STRIP * (at - self._period.since) / length))) if length > 0 else 0

    def _mark(self, node: _Node, ratio: float | None, at: float) -> None:
        if ratio is not None and node.level > Level.GREEN and (node.worst is None or ratio > node.worst[0]):
            node.worst = ratio, at

    def done(self) -> tuple[NodePressure, ...]:
        """Nodes that were above GREEN, those longest at the highest level first."""
        until = self._period.until
        for node in self._nodes.values():
            if 0 < until - node.seen_at <= self._period.tolerance_seconds:
                self._stood(node, node.level, node.seen_at, until)
        found = [_pressure(name, node) for name, node in self._nodes.items() if node.spells]
        return tuple(sorted(found, key=_worst_first))


def _pressure(name: str, node: _Node) -> NodePressure:
    return NodePressure(
        node=name,
        spells=node.spells,
        times={level.name: count for level, count in node.times.items()},
        seconds={level.name: seconds for level, seconds in node.seconds.items()},
        worst_used_ratio=node.worst[0] if node.worst else None,
        worst_at=node.worst[1] if node.worst else None,
        last_at=node.seen_at if node.level > Level.GREEN else node.changes[-1][0],
        strip=tuple(int(node.strip.get(part, 0)) for part in range(STRIP)),
    )


def _worst_first(row: NodePressure) -> tuple[float | str, ...]:
    return (*(-row.seconds[level.name] for level in reversed(ABOVE_GREEN)), row.node)
