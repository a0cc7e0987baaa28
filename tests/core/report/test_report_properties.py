"""The fold over any audit: who wrote a line does not matter, and two halves of a period add up to the whole."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from remediator.core.report import Report, report
from tests.core.report.audit_lines import (
    GIB,
    NUMBERS,
    Line,
    by_time,
    decision,
    kubelet_eviction,
    level,
    oom_kill,
    outcome,
    result,
    step,
    untouched,
    watched,
)

PERIOD = 4 * 3600
NODES = ("n1", "n2")
TIMES = st.integers(1, PERIOD - 1)
NAMES = tuple(NUMBERS)


@st.composite
def moves(draw: st.DrawFn, node: str) -> list[Line]:
    """A node that changes its level now and then, beginning at GREEN."""
    found, before = [], "GREEN"
    for at in sorted(draw(st.lists(TIMES, max_size=8, unique=True))):
        after = draw(st.sampled_from([name for name in NAMES if name != before]))
        found.append(level(at, node, after, before, draw(st.floats(0.5, 1.0))))
        before = after
    return found


def level_of(changes: Iterable[Line], node: str, at: float) -> str:
    """Where the node stands then."""
    return next((c["level"] for c in reversed(by_time(changes)) if c["node"] == node and c["at"] <= at), "GREEN")


@st.composite
def looks(draw: st.DrawFn, changes: list[Line]) -> list[Line]:
    """Decisions, results, outcomes and deaths at any time, in accordance with the levels."""
    found = []
    for at in draw(st.lists(TIMES, max_size=12)):
        node, pod = draw(st.sampled_from(NODES)), draw(st.sampled_from(["a-0", "a-1", "b-0"]))
        rows = draw(st.lists(st.sampled_from(["x/Deployment/u", "x/Deployment/v"]), max_size=2, unique=True))
        reasons = draw(st.lists(st.sampled_from(["no_candidate", "storm_brake", "settling"]), max_size=2, unique=True))
        evicts = [step(pod)] if draw(st.booleans()) else []
        ways = [untouched(name, draw(st.integers(0, 9)) * GIB) for name in rows]
        found.append(decision(at, node, level_of(changes, node, at), reasons, evicts, untouched=ways))
        found += draw(
            st.lists(
                st.sampled_from(
                    [
                        result(at, node, step(pod)),
                        result(at, node, step(pod), "refused", "disruption_budget", mode="enforce"),
                        outcome(at, node, "partly", GIB, 2 * GIB),
                        oom_kill(at, node, f"oom-{at}", at - 5),
                        kubelet_eviction(at, node, f"evicted-{at}", at - 5),
                    ]
                ),
                max_size=2,
            )
        )
    return found


@st.composite
def audits(draw: st.DrawFn) -> list[Line]:
    """Four hours of two nodes, watched all the while."""
    changes = [line for node in NODES for line in draw(moves(node))]
    return by_time([*changes, *watched(PERIOD, changes), *draw(looks(changes))])


def told(found: Report) -> Any:
    """All of a report but who wrote it."""
    return found.summary, found.undeclared, found.nodes, found.acts, found.held, found.kept, found.deaths, found.causes


@given(lines=audits(), data=st.data())
def test_it_does_not_matter_which_replica_writes_what(lines: list[Line], data: st.DataObject) -> None:
    """Lines dealt out to two replicas; both call the roll, both look at nodes, both tell a death: the same report."""
    dealt = []
    for line in lines:
        dealt.append({**line, "replica": data.draw(st.sampled_from("ab"))})
        if line["kind"] in ("watching", "decision", "oom_kill", "kubelet_eviction") and data.draw(st.booleans()):
            dealt.append({**line, "replica": "b"})
    assert told(report(dealt, 0, PERIOD)) == told(report(lines, 0, PERIOD))


ADDITIVE: dict[str, Callable[[Report], Any]] = {
    "covered": lambda r: r.coverage.covered_seconds,
    "lines": lambda r: r.coverage.lines,
    "times": lambda r: sum(sum(node.times.values()) for node in r.nodes),
    "seconds at RED": lambda r: sum(node.seconds["RED"] for node in r.nodes),
    "seconds at YELLOW": lambda r: sum(node.seconds["YELLOW"] for node in r.nodes),
    "acts": lambda r: sum(row.times for row in r.acts),
    "acts done": lambda r: sum(row.done for row in r.acts),
    "not done": lambda r: sum(sum(row.not_done.values()) for row in r.acts),
    "released": lambda r: r.rounds.released_bytes,
    "rounds": lambda r: sum(r.rounds.outcomes.values()),
    "deaths": lambda r: sum(cause.deaths for cause in r.causes),
}
BY_SPELLS: dict[str, Callable[[Report], Any]] = {
    "spells": lambda r: sum(node.spells for node in r.nodes),
    "undeclared": lambda r: sum(row.spells for row in r.undeclared),
    "top": lambda r: sum(row.top_spells for row in r.undeclared),
    "bytes": lambda r: sum(row.mean_bytes * row.spells for row in r.undeclared),
    "held": lambda r: sum(row.spells for row in r.held),
    "kept": lambda r: sum(row.spells for row in r.kept),
}


def halves(lines: list[Line], cut: float) -> tuple[Report, Report, Report]:
    """Before the cut, after it, and the whole."""
    return report(lines, 0, cut), report(lines, cut, PERIOD), report(lines, 0, PERIOD)


@given(lines=audits(), cut=TIMES)
def test_a_period_cut_in_two_adds_up(lines: list[Line], cut: int) -> None:
    """Wherever it is cut, also in the middle of a spell."""
    first, second, whole = halves(lines, cut)
    for name, of in ADDITIVE.items():
        assert of(first) + of(second) == pytest.approx(of(whole)), name
    marks = [node.worst_used_ratio for part in (first, second) for node in part.nodes if node.worst_used_ratio]
    assert max(marks, default=None) == max(
        (n.worst_used_ratio for n in whole.nodes if n.worst_used_ratio), default=None
    )


@given(lines=audits(), cut=TIMES)
def test_spells_add_up_where_no_spell_is_cut(lines: list[Line], cut: int) -> None:
    """And so does all that is counted by spells; a spell that is cut counts in both halves."""
    changes = [line for line in lines if line["kind"] == "level"]
    assume(all(level_of(changes, node, cut) == "GREEN" for node in NODES))
    first, second, whole = halves(lines, cut)
    for name, of in BY_SPELLS.items():
        assert of(first) + of(second) == pytest.approx(of(whole)), name


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
WHOLE = [
    level(5, "n", "RED", None),
    decision(5, "n", "RED", untouched=[untouched("x/D/y", 1)], evicts=[step("p-0")]),
    result(5, "n", step("p-0")),
    oom_kill(5, "n", "p", 4),
    kubelet_eviction(5, "n", "p", 4),
    outcome(5, "n", "partly", 1, 2),
    *watched(1),
]


@given(data=st.data(), junk=JSON)
def test_whatever_stands_in_a_line_the_report_is_made(data: st.DataObject, junk: Any) -> None:
    """Any field of any kind may hold anything: the line counts, or is counted as unreadable."""
    line = data.draw(st.sampled_from(WHOLE))
    key = data.draw(st.sampled_from(sorted(line)))
    spoilt = {**line, key: junk}
    found = report([spoilt, *WHOLE], 0, 10)
    assert found.coverage.lines >= len(WHOLE) and found.coverage.unreadable_lines <= 1
