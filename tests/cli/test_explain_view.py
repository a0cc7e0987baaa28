"""`explain` as people see it."""

import io
import re

import pytest
from rich.console import Console

from remediator.cli.explain_view import show
from remediator.cli.page import size
from remediator.core.model import Level, Unknown
from tests.reconciler.world import World


def page(world: World) -> str:
    """The terminal page of n1."""
    console = Console(width=200, record=True, file=io.StringIO())
    show(console, world.replica().explain("n1"))
    return console.export_text()


def test_a_red_node_shows_level_target_ranking_and_plan() -> None:
    """Why, how much, who in which order and why not, what the kubelet would do, and the next steps."""
    text = page(World())
    assert "RED: used 93.8%" in text and "safe level of 62%" in text
    assert "to free: 20.3Gi" in text
    assert "RED may: cordon; scale on pressure; evict offline, low, standard, at most 3 a round" in text
    ranked = text[text.index("first to go first") : text.index("the kubelet goes by")]
    assert ranked.index("batch/spark-a-0") < ranked.index("logging/shipper-0") < ranked.index("shop/api-0")
    assert "0.4 x business + 0.3 x memory" in text
    assert "It would begin with batch/spark-a-0, batch/spark-b-0, data/kafka-0" in text
    assert "1. cordon n1" in text and "evict batch/spark-a-0 (9.0Gi)" in text


@pytest.mark.parametrize("width", [60, 80, 100, 139, 140, 160, 200])
def test_at_any_width_every_figure_of_every_pod_is_whole(width: int) -> None:
    """Nothing is cut, nothing runs over, and no figure is parted from its unit."""
    told = World().replica().explain("n1")
    console = Console(width=width, record=True, file=io.StringIO())
    show(console, told)
    text = console.export_text()
    lines = [line.rstrip() for line in text.splitlines()]
    assert "…" not in text and all(len(line) <= width for line in lines)
    assert not [line for line in lines if re.match(r"\s*(GiB|MiB|%|min|s)\b", line)]
    ranked = text[text.index("first to go first") : text.index("the kubelet goes by")]
    blocks = re.split(r"(?<![a-z])(?=[a-z]+/[a-z-]+-0)", ranked)[1:]
    for row, block in zip(told["ranking"], blocks, strict=True):
        shown = set(re.findall(r"[+#]?\d+(?:\.\d+)?(?:Gi|Mi)?", block))
        score = {f"{value:.0f}" for value in row["score"].values()}
        keys = {f"#{row['kubelet_rank']}", f"+{size(row['overshoot_bytes'])}", str(row["priority"])}
        assert score | keys | {size(row["releasable_bytes"]), size(row["usage_bytes"])} <= shown
        assert ("CHOSEN" in block) is row["chosen"]


def test_a_calm_node_says_that_nothing_would_be_done() -> None:
    """The verdict and its reason are there all the same."""
    world = World()
    world.host_used, world.level = 2**30, Level.GREEN
    text = page(world)
    assert "GREEN" in text and "Nothing would be done now." in text and "SUPPRESS" in text


def test_what_is_unknown_is_told_with_its_source() -> None:
    """A silent Prometheus or Alertmanager is named; no figure is invented."""
    world = World()
    world.prometheus_gone = True
    world.silences = Unknown("alertmanager", "no peer answered")
    text = page(world)
    assert "level UNKNOWN: prometheus: gone" in text
    assert "silences unknown: alertmanager: no peer answered" in text
    assert "usages unknown: prometheus: gone" in text


def test_memory_outside_of_pods_is_named() -> None:
    """A node filled by a system slice shows which."""
    world = World()
    reconciler = world.replica()
    told = reconciler.explain("n1")
    told["memory"]["system_slices"] = {"/system.slice": 11 * 2**30}
    told["memory"]["thresholds"] = {"red/enter": 0.92, "red/exit": 0.89}
    console = Console(width=200, record=True, file=io.StringIO())
    show(console, told)
    text = console.export_text()
    assert "outside of pods: /system.slice 11.0Gi" in text
    assert "levels begin at: red 92%" in text
