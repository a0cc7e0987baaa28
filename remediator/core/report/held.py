"""Which guards and reasons held a node's remediation back, by spells. Routine reasons (settling, calm) are no news."""

from dataclasses import dataclass, field

from remediator.core.model import Level
from remediator.core.reason import SENTENCES, Reason
from remediator.core.report.advice import HELD_ADVICE
from remediator.core.report.events import Decided
from remediator.core.report.values import Held

_IDLE = (Reason.SETTLING, Reason.RECOVERED, Reason.CALM)
"""While a round settles, or with nothing left to free, the same reasons hold nobody back."""


@dataclass(slots=True)
class _Held:
    spells: int = 0
    last_at: float = 0.0
    nodes: dict[str, int] = field(default_factory=dict)


class HeldFold:
    """Fed with decisions; `spell` is the node's."""

    def __init__(self) -> None:
        self._held: dict[Reason, _Held] = {}

    def decided(self, decision: Decided, at: float, spell: int) -> None:
        """One decision."""
        for reason in holding(decision):
            found = self._held.setdefault(reason, _Held())
            found.spells += found.nodes.get(decision.node) != spell
            found.nodes[decision.node] = spell
            found.last_at = max(found.last_at, at)

    def done(self) -> tuple[Held, ...]:
        """The most frequent first."""
        rows = (
            Held(
                reason=reason.value,
                sentence=SENTENCES[reason],
                spells=found.spells,
                nodes=tuple(sorted(found.nodes)),
                last_at=found.last_at,
                advice=HELD_ADVICE[reason],
            )
            for reason, found in self._held.items()
        )
        return tuple(sorted(rows, key=lambda row: (-row.spells, row.reason)))


def holding(decision: Decided) -> list[Reason]:
    """What held this decision back: at a level that acts, or on a node that nobody sees."""
    if decision.level is not None and (decision.level < Level.ORANGE or set(_IDLE) & set(decision.reasons)):
        return []
    return [reason for reason in dict.fromkeys(decision.reasons) if reason in HELD_ADVICE]
