"""What was done, or would have been: by workload and tier, with bytes, harm, and what did not succeed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from remediator.core.model import Tier
from remediator.core.ordering import DISPENSABLE_FIRST
from remediator.core.report.events import Acted, Decided, Measured
from remediator.core.report.once import Once
from remediator.core.report.values import Rounds, WorkloadActs
from remediator.core.score import STARTUP_UNKNOWN_SECONDS

HARM_WEIGHTS: Mapping[str | None, float] = {
    Tier.CRITICAL: 1.0,
    Tier.IMPORTANT: 0.8,
    Tier.STANDARD: 0.5,
    Tier.LOW: 0.2,
    Tier.OFFLINE: 0.05,
}
"""As in docs/harm.md."""
UNDO = ("restore_endpoints", "restore_scale", "untaint", "uncordon")
ENDS_PODS = ("evict", "force_delete", "scale")
_WITH_ANOTHER = ("taint",)
"""Set beside the cordon: counted with it."""
_ORDER = ("evict", "force_delete", "scale", "drain_endpoints", "cordon")
Key = tuple[str, str | None, str | None, bool]


@dataclass(slots=True)
class _Acts:
    first_at: float
    last_at: float
    times: int = 0
    done: int = 0
    pods: int = 0
    expected_bytes: int = 0
    harm: float = 0.0
    not_done: Counter[str] = field(default_factory=Counter)
    nodes: set[str] = field(default_factory=set)


class ActsFold:
    """Fed with results, measured rounds, and decisions for the start-up times in them."""

    def __init__(self) -> None:
        self._acts: dict[Key, _Acts] = {}
        self._pods = Once()
        self._startup_seconds: dict[str, Mapping[str, float]] = {}
        self._given_back = 0
        self._outcomes: Counter[str] = Counter()
        self._released = self._expected = 0

    def decided(self, decision: Decided) -> None:
        """How long its pods take to start."""
        if decision.startup_seconds:
            self._startup_seconds[decision.node] = decision.startup_seconds

    def acted(self, act: Acted, at: float) -> None:
        """One result."""
        if act.kind in UNDO:
            self._given_back += act.done
        elif act.kind not in _WITH_ANOTHER:
            self._count(act, at)

    def _count(self, act: Acted, at: float) -> None:
        found = self._acts.setdefault((act.kind, act.workload, act.tier, act.observed), _Acts(at, at))
        found.times += 1
        found.first_at, found.last_at = min(found.first_at, at), max(found.last_at, at)
        found.nodes.add(act.node)
        if not act.done:
            found.not_done[act.reason.value] += 1
            return
        found.done += 1
        if self._pods.first((act.kind, act.observed, act.pod_uid or act.workload or act.node)):
            found.pods += bool(act.pod_uid)
            found.expected_bytes += act.expected_bytes
            found.harm += self._harm(act)

    def _harm(self, act: Acted) -> float:
        if act.kind not in ENDS_PODS:
            return 0.0
        seconds = self._startup_seconds.get(act.node, {}).get(act.pod_uid, STARTUP_UNKNOWN_SECONDS)
        return seconds * HARM_WEIGHTS.get(act.tier, 1.0)

    def measured(self, round_: Measured) -> None:
        """What a round that was carried out came to."""
        self._outcomes[round_.outcome] += 1
        self._released += round_.released_bytes
        self._expected += round_.expected_bytes

    def done(self) -> tuple[WorkloadActs, ...]:
        """Evictions first, most dispensable tiers first, then by bytes."""
        rows = [
            WorkloadActs(
                kind=kind,
                workload=workload,
                tier=tier,
                observed=observed,
                nodes=tuple(sorted(found.nodes)),
                times=found.times,
                done=found.done,
                not_done=dict(sorted(found.not_done.items())),
                pods=found.pods,
                expected_bytes=found.expected_bytes,
                harm=found.harm,
                first_at=found.first_at,
                last_at=found.last_at,
            )
            for (kind, workload, tier, observed), found in self._acts.items()
        ]
        return tuple(sorted(rows, key=_order))

    @property
    def given_back(self) -> int:
        """Steps that gave back what had been taken."""
        return self._given_back

    def rounds(self) -> Rounds:
        """All of them."""
        return Rounds(dict(sorted(self._outcomes.items())), self._released, self._expected)


def _order(row: WorkloadActs) -> tuple[int | str, ...]:
    tiers = [tier.value for tier in DISPENSABLE_FIRST]
    kind = _ORDER.index(row.kind) if row.kind in _ORDER else len(_ORDER)
    tier = tiers.index(row.tier) if row.tier in tiers else len(tiers)
    return row.observed, kind, tier, -row.expected_bytes, row.workload or ""
