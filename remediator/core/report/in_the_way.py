"""Who stood in the way: undeclared workloads, and everybody else that could not be touched, by reason.

Counted by spells, not by decisions: how many lines a spell makes depends on how many replicas look and how often.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from remediator.core.model import Level
from remediator.core.reason import SENTENCES, Reason
from remediator.core.report.advice import KEPT_ADVICE
from remediator.core.report.declaring import suggested
from remediator.core.report.events import Decided, Untouched
from remediator.core.report.values import Kept, UndeclaredWorkload

KEPT_NODES = 20


@dataclass(slots=True)
class _Undeclared:
    last: Untouched
    spells: int = 0
    top_spells: int = 0
    most_bytes: int = 0
    bytes_of_spells: int = 0
    pods: int = 0
    level: Level = Level.GREEN
    last_at: float = 0.0
    nodes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Node -> (its last spell, most bytes in it)."""
    topped: dict[str, int] = field(default_factory=dict)
    """Node -> the last spell in which it was the largest."""


@dataclass(slots=True)
class _Kept:
    spells: int = 0
    most_bytes: int = 0
    largest: tuple[int, str] = (-1, "")
    workloads: set[str] = field(default_factory=set)
    nodes: dict[str, int] = field(default_factory=dict)


class InTheWayFold:
    """Fed with decisions; `spell` is the node's."""

    def __init__(self) -> None:
        self._undeclared: dict[str, _Undeclared] = {}
        self._kept: dict[Reason, _Kept] = {}

    def decided(self, decision: Decided, at: float, spell: int) -> None:
        """A node above GREEN, and who could not be touched on it."""
        if decision.level is None or decision.level is Level.GREEN:
            return
        for place, each in enumerate(decision.untouched):
            if each.reason is Reason.UNDECLARED:
                self._in_the_way(each, decision, at, spell, top=place == 0)
        for reason in {each.reason for each in decision.untouched}:
            self._left_alone(reason, [e for e in decision.untouched if e.reason is reason], decision.node, spell)

    def _in_the_way(self, each: Untouched, decision: Decided, at: float, spell: int, *, top: bool) -> None:
        found = self._undeclared.setdefault(each.workload, _Undeclared(each))
        last_spell, most = found.nodes.get(decision.node, (-1, 0))
        if last_spell != spell:
            found.spells, most = found.spells + 1, 0
        found.bytes_of_spells += max(0, each.releasable_bytes - most)
        found.nodes[decision.node] = spell, max(most, each.releasable_bytes)
        if top and found.topped.get(decision.node) != spell:
            found.top_spells += 1
            found.topped[decision.node] = spell
        found.last = each
        found.most_bytes = max(found.most_bytes, each.releasable_bytes)
        found.pods = max(found.pods, each.pods)
        found.level = max(found.level, decision.level or Level.GREEN)
        found.last_at = max(found.last_at, at)

    def _left_alone(self, reason: Reason, rows: list[Untouched], node: str, spell: int) -> None:
        found = self._kept.setdefault(reason, _Kept())
        found.spells += found.nodes.get(node) != spell
        found.nodes[node] = spell
        found.most_bytes = max(found.most_bytes, sum(each.releasable_bytes for each in rows))
        found.workloads |= {each.workload for each in rows}
        found.largest = max([found.largest, *((each.releasable_bytes, each.workload) for each in rows)])

    def undeclared(self) -> tuple[UndeclaredWorkload, ...]:
        """Those that would have given most, over all spells, first."""
        ordered = sorted(self._undeclared.items(), key=lambda item: (-item[1].bytes_of_spells, item[0]))
        return tuple(_row(workload, found) for workload, found in ordered)

    def kept(self) -> tuple[Kept, ...]:
        """The other reasons, by bytes."""
        rows = (
            Kept(
                reason=reason.value,
                sentence=SENTENCES[reason],
                spells=found.spells,
                workloads=len(found.workloads),
                most_bytes=found.most_bytes,
                largest=found.largest[1],
                advice=KEPT_ADVICE.get(reason, ""),
            )
            for reason, found in self._kept.items()
        )
        return tuple(sorted(rows, key=lambda row: (-row.most_bytes, row.reason)))


def _row(workload: str, found: _Undeclared) -> UndeclaredWorkload:
    tier, because = suggested(found.last)
    return UndeclaredWorkload(
        workload=workload,
        spells=found.spells,
        top_spells=found.top_spells,
        most_bytes=found.most_bytes,
        mean_bytes=found.bytes_of_spells / found.spells,
        pods=found.pods,
        nodes=_some(found.nodes),
        highest_level=found.level.name,
        last_at=found.last_at,
        suggested_tier=tier.value,
        suggested_because=because,
    )


def _some(nodes: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(nodes))[:KEPT_NODES]
