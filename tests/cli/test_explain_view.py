"""`explain` as people see it."""

import io

from rich.console import Console

from remediator.cli.explain_view import show
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
    assert "RED  used" in text and "safe at 62%" in text
    assert "to free: 20.3Gi" in text
    assert text.index("batch/spark-a-0") < text.index("logging/shipper-0") < text.index("shop/api-0")
    assert "#1" in text
    assert "1. cordon n1" in text and "evict batch/spark-a-0 (9.0Gi)" in text
    assert "critical" in text


def test_a_narrow_terminal_has_every_pod_and_reason_in_whole_words() -> None:
    """Eighty columns, as a pipe has them, hold the same words, not columns of three letters."""
    console = Console(width=80, record=True, file=io.StringIO())
    show(console, World().replica().explain("n1"))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert any(line.startswith("batch/spark-a-0  offline, frees 9.0Gi") for line in lines)
    assert any(line.startswith("  score ") and "biz" in line for line in lines)
    assert all(len(line) <= 80 for line in lines)


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
    assert "UNKNOWN  prometheus: gone" in text
    assert "silences unknown: no peer answered" in text


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
