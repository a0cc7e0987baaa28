"""Properties of the pressure score, on the real rules and the real evaluator: many nodes in one run of promtool."""

import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.rules.promtool_cases import place, run

_FEW = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
_RATES = {
    "major_faults": "memory_exporter_node_major_faults_total{{node={node}}}",
    "direct_reclaim": "memory_exporter_node_direct_reclaim_pages_total{{node={node}}}",
    "swap_out": "memory_exporter_node_swap_out_pages_total{{node={node}}}",
    "stall": 'memory_exporter_node_stalled_seconds_total{{node={node},kind="full"}}',
}
_GAUGES = {
    "available": "memory_exporter_node_memory_available_bytes{{node={node}}}",
    "swap_free": "memory_exporter_node_swap_free_bytes{{node={node}}}",
}


@dataclass(frozen=True)
class Node:
    """Raw figures: gauges per mille, counters per scrape; None is a figure that is not there."""

    available: int
    swap_free: int | None
    major_faults: int | None
    direct_reclaim: int | None
    swap_out: int | None
    stall: float | None

    def series(self, name: str) -> list[dict[str, str]]:
        """What promtool is fed."""
        node = f'"{name}"'
        given = [
            {"series": f"memory_exporter_node_memory_total_bytes{{node={node}}}", "values": "1000x15"},
            {"series": f"memory_exporter_node_swap_total_bytes{{node={node}}}", "values": "1000x15"},
            {"series": f"memory_exporter_node_swap_in_pages_total{{node={node}}}", "values": "5x15"},
        ]
        for key, template in _GAUGES.items():
            if (value := getattr(self, key)) is not None:
                given.append({"series": template.format(node=node), "values": f"{value}x15"})
        for key, template in _RATES.items():
            if (value := getattr(self, key)) is not None:
                given.append({"series": template.format(node=node), "values": f"0+{value}x15"})
        return given


def nodes(*, missing: bool = True) -> st.SearchStrategy[Node]:
    """Any node."""

    def maybe(figures: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.none() | figures if missing else figures

    return st.builds(
        Node,
        available=st.integers(0, 1000),
        swap_free=maybe(st.integers(0, 1000)),
        major_faults=maybe(st.integers(0, 4000)),
        direct_reclaim=maybe(st.integers(0, 40000)),
        swap_out=maybe(st.integers(0, 8000)),
        stall=maybe(st.integers(0, 20).map(lambda tenths: tenths / 20)),
    )


@st.composite
def worse(draw: st.DrawFn) -> tuple[Node, Node]:
    """(a node, the same with one figure worse)."""
    node = draw(nodes())
    name = draw(st.sampled_from([field.name for field in fields(Node) if getattr(node, field.name) is not None]))
    value, step = getattr(node, name), draw(st.integers(1, 500))
    if name in _GAUGES:
        return node, replace(node, **{name: max(0, value - step)})
    return node, replace(node, **{name: value + step / 100 if name == "stall" else value + step})


@st.composite
def without_one(draw: st.DrawFn) -> tuple[Node, Node]:
    """(a node with one figure missing, the same with it)."""
    whole = draw(nodes(missing=False))
    return replace(whole, **{draw(st.sampled_from(["swap_free", *_RATES])): None}), whole


def _check(promtool: Path, named: dict[str, Node], wrong: str) -> None:
    """No node matches the expression `wrong` after a minute."""
    series = [item for name, node in named.items() for item in node.series(name)]
    story = {
        "rule_files": ["node-memory.recording.yaml"],
        "evaluation_interval": "65s",
        "tests": [
            {
                "interval": "5s",
                "input_series": series,
                "promql_expr_test": [{"expr": wrong, "eval_time": "65s", "exp_samples": []}],
            }
        ],
    }
    with tempfile.TemporaryDirectory() as directory:
        run(promtool, place(Path(directory), story, "score"))


def _pairs(pairs: list[tuple[Node, Node]]) -> dict[str, Node]:
    return {f"{i}-{side}": node for i, pair in enumerate(pairs) for side, node in zip("lh", pair, strict=True)}


# Compared to a billionth, for sums of parts round.
_LOWER = 'label_replace(node:memory_pressure:score{node=~".*-l"}, "pair", "$1", "node", "(.*)-l")'
_HIGHER = 'label_replace(node:memory_pressure:score{node=~".*-h"}, "pair", "$1", "node", "(.*)-h")'
_FALLS = f"{_LOWER} > on (pair) ({_HIGHER} + 1e-9)"


@_FEW
@given(st.lists(worse(), min_size=30, max_size=60))
def test_never_falls_when_one_figure_gets_worse(promtool: Path, pairs: list[tuple[Node, Node]]) -> None:
    """The score is monotone in each of its parts."""
    _check(promtool, _pairs(pairs), _FALLS)


@_FEW
@given(st.lists(without_one(), min_size=30, max_size=60))
def test_a_missing_figure_never_raises_it(promtool: Path, pairs: list[tuple[Node, Node]]) -> None:
    """What a kernel does not tell adds nothing."""
    _check(promtool, _pairs(pairs), _FALLS)


@_FEW
@given(st.lists(nodes(), min_size=30, max_size=60))
def test_is_there_and_within_its_range(promtool: Path, many: list[Node]) -> None:
    """Every node whose memory is known has a score of 0 to 100."""
    named = {str(i): node for i, node in enumerate(many)}
    _check(promtool, named, f"(count(node:memory_pressure:score >= 0 <= 100) or vector(0)) != {len(named)}")


@_FEW
@given(st.lists(st.integers(500, 1000), min_size=30, max_size=60))
def test_an_idle_node_scores_0(promtool: Path, available: list[int]) -> None:
    """Half of the memory available and nothing moving: 0."""
    idle = {str(i): Node(free, 1000, 0, 0, 0, 0) for i, free in enumerate(available)}
    _check(promtool, idle, f"(count(node:memory_pressure:score == 0) or vector(0)) != {len(idle)}")


@st.composite
def thrashing(draw: st.DrawFn) -> Node:
    """Under 5 % available, and one of the strong signs at its full weight; the others as they come."""
    node = replace(draw(nodes()), available=draw(st.integers(0, 49)))
    sign = draw(st.sampled_from(["major_faults", "direct_reclaim", "stall"]))
    return replace(node, **{sign: {"major_faults": 2500, "direct_reclaim": 25000, "stall": 0.5}[sign]})


@_FEW
@given(st.lists(thrashing(), min_size=30, max_size=60))
def test_a_thrashing_node_scores_100(promtool: Path, many: list[Node]) -> None:
    """Hardly any memory, and the kernel works for it: 100, whichever sign the kernel is able to show."""
    named = {str(i): node for i, node in enumerate(many)}
    _check(promtool, named, f"(count(node:memory_pressure:score > 99.999999) or vector(0)) != {len(named)}")
