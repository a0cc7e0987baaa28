"""OOM kills and kubelet evictions that came all the same, each with what had been said about its node before.

Warned of: the node had risen above GREEN before it. Planned before: evictions from the node had been planned in that
spell (in observe mode: would have been carried out). Told twice, by two replicas or after a restart, it counts once.
"""

from collections import Counter, deque
from dataclasses import dataclass, field

from remediator.core.figures import size
from remediator.core.model import Level, Mode
from remediator.core.reason import SENTENCES
from remediator.core.report.events import CAUSES, Decided, Died, LevelChanged
from remediator.core.report.held import holding
from remediator.core.report.once import Once
from remediator.core.report.pressure import PressureFold
from remediator.core.report.values import CauseCount, Death, Said

KEPT_DEATHS = 200
KEPT_WORDS = 50
SAID_SECONDS = 3600.0
SAID_MOST = 4
KEPT_WORKLOADS = 200


@dataclass(frozen=True, slots=True)
class _Word:
    at: float
    text: str
    plans: bool = False


@dataclass(slots=True)
class _Cause:
    deaths: int = 0
    warned: int = 0
    planned: int = 0
    workloads: Counter[str] = field(default_factory=Counter)


class DeathsFold:
    """Fed in order of time; `pressure` knows the levels."""

    def __init__(self, pressure: PressureFold) -> None:
        self._pressure = pressure
        self._once = Once()
        self._words: dict[str, deque[_Word]] = {}
        self._causes = {cause: _Cause() for cause in CAUSES}
        self._deaths: deque[Death] = deque(maxlen=KEPT_DEATHS)

    def changed(self, change: LevelChanged, at: float) -> None:
        """People are told of a level that rises."""
        if change.level > (change.before or Level.GREEN):
            self._say(change.node, _Word(at, change.level.name))

    def decided(self, decision: Decided, at: float) -> None:
        """Evictions that were planned, or why there were none."""
        if decision.evictions:
            would = "would evict" if decision.mode == Mode.OBSERVE else "evictions planned:"
            total = size(sum(expected for _, expected in decision.evictions))
            names = ", ".join(dict.fromkeys(workload for workload, _ in decision.evictions))
            self._say(decision.node, _Word(at, f"{would} {names} ({total})", plans=True))
        elif reasons := holding(decision):
            self._say(decision.node, _Word(at, f"held back: {SENTENCES[reasons[0]]}"))

    def died(self, death: Died) -> None:
        """One more, unless it was told before."""
        if not self._once.first((death.node, *death.key)):
            return
        told = self._told(death)
        self._deaths.append(told)
        cause = self._causes[death.cause]
        cause.deaths += 1
        cause.warned += told.warned_seconds is not None
        cause.planned += told.planned_seconds is not None
        name = death.workload or f"{death.namespace}/Pod/{death.pod}"
        if name in cause.workloads or len(cause.workloads) < KEPT_WORKLOADS:
            cause.workloads[name] += 1

    def _told(self, death: Died) -> Death:
        at, words = death.died_at, self._words.get(death.node, ())
        since = self._pressure.above_since(death.node, at)
        before = [word for word in words if word.at <= at and at - word.at <= SAID_SECONDS]
        planned = [word.at for word in words if word.plans and since is not None and since <= word.at <= at]
        level = death.level if death.level is not None else self._pressure.level_at(death.node, at)
        return Death(
            at=at,
            node=death.node,
            cause=death.cause,
            namespace=death.namespace,
            pod=death.pod,
            workload=death.workload,
            tier=death.tier,
            level=level.name if level is not None else None,
            warned_seconds=None if since is None else at - since,
            planned_seconds=at - min(planned) if planned else None,
            said=tuple(Said(at - word.at, word.text) for word in before[-SAID_MOST:]),
        )

    def _say(self, node: str, word: _Word) -> None:
        said = self._words.setdefault(node, deque(maxlen=KEPT_WORDS))
        if not said or said[-1].text != word.text or word.at - said[-1].at > SAID_SECONDS:
            said.append(word)

    def causes(self) -> tuple[CauseCount, ...]:
        """Every cause, also those of which nobody died."""
        return tuple(
            CauseCount(name, each.deaths, each.warned, each.planned, dict(each.workloads.most_common()))
            for name, each in self._causes.items()
        )

    def done(self) -> tuple[Death, ...]:
        """The latest deaths, in their order."""
        return tuple(sorted(self._deaths, key=lambda death: (death.at, death.node, death.pod)))
