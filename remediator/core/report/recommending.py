"""What follows from the figures, by plain rules: each recommendation has the figure that says so, none stands without.

Where the period is too short to decide by, that comes first. Nothing here looks at anything but the report's parts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from remediator.core.figures import percent, size, span
from remediator.core.model import Mode, Tier
from remediator.core.reason import Reason
from remediator.core.report.events import KUBELET
from remediator.core.report.values import (
    CauseCount,
    Coverage,
    Held,
    NodePressure,
    Recommendation,
    Rounds,
    UndeclaredWorkload,
    WorkloadActs,
)

DAY = 86_400.0
ENOUGH_DAYS = 7.0
"""A working week and a weekend: less says little about what a cluster does."""
ENOUGH_COVERED = 0.8
BLIND = 0.05
NON_POD_SHARE = 0.34
FREED_ENOUGH = 0.5
NAMED = 3


@dataclass(frozen=True, slots=True)
class Parts:
    """What the rules look at."""

    coverage: Coverage
    undeclared: tuple[UndeclaredWorkload, ...]
    nodes: tuple[NodePressure, ...]
    acts: tuple[WorkloadActs, ...]
    rounds: Rounds
    held: tuple[Held, ...]
    causes: tuple[CauseCount, ...]

    @property
    def spells(self) -> int:
        """Of all nodes."""
        return sum(node.spells for node in self.nodes)

    def times(self, level: str) -> int:
        """How often nodes rose to a level."""
        return sum(node.times[level] for node in self.nodes)

    @property
    def enough(self) -> bool:
        """Whether the period carries a decision."""
        covered = self.coverage
        return covered.covered_ratio >= ENOUGH_COVERED and covered.covered_seconds >= ENOUGH_DAYS * DAY

    def pods(self, *, observed: bool) -> int:
        """Distinct pods that were evicted, or would have been."""
        return sum(row.pods for row in self.acts if row.kind == "evict" and row.observed is observed)

    @property
    def node_deaths(self) -> list[CauseCount]:
        """Those that a remediator may prevent: not the ones by a container's own limit."""
        return [cause for cause in self.causes if cause.cause in ("node-oom", KUBELET)]


def recommendations(parts: Parts) -> tuple[Recommendation, ...]:
    """In the order in which to take them up."""
    return tuple(found for rule in _RULES for found in rule(parts))


def _wait(p: Parts) -> Iterator[Recommendation]:
    covered = p.coverage
    if not p.enough:
        figure = f"covered {span(covered.covered_seconds)} of {span(covered.asked_seconds)}"
        want = f"at least {ENOUGH_DAYS:.0f} days, {percent(ENOUGH_COVERED)} of them watched, carry a decision"
        yield Recommendation("wait", f"Wait, and keep watching: {want}.", figure)


def _blind(p: Parts) -> Iterator[Recommendation]:
    covered = p.coverage
    if covered.blind_seconds > BLIND * max(1.0, covered.covered_seconds):
        text = "Make Prometheus answer first: see /readyz; what was not seen is not in this report."
        yield Recommendation("see", text, f"blind for {span(covered.blind_seconds)}")


def _declare(p: Parts) -> Iterator[Recommendation]:
    rows = [row for row in p.undeclared if row.most_bytes > 0]
    if rows:
        names = ", ".join(row.workload for row in rows[:NAMED]) + (", ..." if len(rows) > NAMED else "")
        largest = max(rows, key=lambda row: row.most_bytes)
        text = f"Declare the undeclared workloads, the first of them before the rest: {names}."
        figure = f"{len(rows)} workloads, {largest.workload} alone up to {size(largest.most_bytes)} on one node"
        yield Recommendation("declare", text, figure)


def _outside_pods(p: Parts) -> Iterator[Recommendation]:
    held = _held(p, Reason.NON_POD_MEMORY)
    if held is not None and held.spells >= NON_POD_SHARE * max(1, p.spells):
        text = "Find what holds memory outside pods (`remediator explain NODE` names it): evictions do not free it."
        yield Recommendation("outside-pods", text, f"in {held.spells} of {p.spells} spells")


def _limits(p: Parts) -> Iterator[Recommendation]:
    cause = next((each for each in p.causes if each.cause == "limit-oom"), None)
    if cause is not None and cause.deaths:
        names = ", ".join(list(cause.workloads)[:NAMED])
        text = f"Raise the limits of, or look for leaks in {names}: they are killed at their own limit on any node."
        yield Recommendation("limits", text, f"{cause.deaths} limit-OOM kills")


def _unwarned(p: Parts) -> Iterator[Recommendation]:
    deaths, warned = (sum(getattr(each, name) for each in p.node_deaths) for name in ("deaths", "warned"))
    if deaths and warned < deaths:
        text = (
            "Look at those that came without a warning: lower the thresholds (another profile), or scrape more often."
        )
        yield Recommendation("earlier", text, f"{deaths - warned} of {deaths} came from GREEN")


def _in_time(p: Parts) -> Iterator[Recommendation]:
    deaths, planned = (sum(getattr(each, name) for each in p.node_deaths) for name in ("deaths", "planned"))
    if planned and p.pods(observed=True):
        text = "Acting would have come before these: the plan stood while the pods still lived."
        yield Recommendation("would-have-helped", text, f"{planned} of {deaths} deaths had a plan before them")


def _nothing(p: Parts) -> Iterator[Recommendation]:
    if p.enough and not p.times("ORANGE"):
        text = (
            "Acting would have done nothing so far; switch it on as an insurance, or keep observing: both cost nothing."
        )
        yield Recommendation("calm", text, f"no node rose to ORANGE in {span(p.coverage.covered_seconds)}")


def _next_mode(p: Parts) -> Iterator[Recommendation]:
    would = [row for row in p.acts if row.observed and row.kind == "evict" and row.done]
    protected = [row for row in would if row.tier in (None, Tier.CRITICAL.value, Tier.IMPORTANT.value)]
    if p.enough and would and not protected and Mode.OBSERVE.value in p.coverage.modes:
        freed = size(sum(row.expected_bytes for row in would))
        text = "Go on to `approve` on one pool if you would have taken the same pods (docs/rollout.md)."
        figure = f"{p.pods(observed=True)} pods of {len({row.workload for row in would})} workloads, {freed}"
        yield Recommendation("approve", f"{text} None of them is critical, important or undeclared.", figure)


def _freed(p: Parts) -> Iterator[Recommendation]:
    rounds = p.rounds
    if rounds.expected_bytes > 0 and rounds.released_bytes < FREED_ENOUGH * rounds.expected_bytes:
        text = "Look at what rounds came to before going on: much less came free than the pods held."
        figure = f"{size(max(0, rounds.released_bytes))} of {size(rounds.expected_bytes)} expected"
        yield Recommendation("freed-little", text, figure)


def _bad_rounds(p: Parts) -> Iterator[Recommendation]:
    bad = {kind: n for kind, n in p.rounds.outcomes.items() if kind in ("rebounded", "moved", "no-effect")}
    total = sum(p.rounds.outcomes.values())
    if total and 2 * sum(bad.values()) > total:
        text = "Do not take the next pool yet: most rounds did not help."
        yield Recommendation("rounds", text, ", ".join(f"{n} of {total} {kind}" for kind, n in bad.items()))


def _held(p: Parts, reason: Reason) -> Held | None:
    return next((each for each in p.held if each.reason == reason), None)


_RULES: tuple[Callable[[Parts], Iterator[Recommendation]], ...] = (
    _wait,
    _blind,
    _declare,
    _outside_pods,
    _limits,
    _unwarned,
    _in_time,
    _freed,
    _bad_rounds,
    _nothing,
    _next_mode,
)
