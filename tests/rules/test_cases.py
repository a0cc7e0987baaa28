"""Every situation in rules/tests, on real promtool: as shipped, in each join, faster than the clock."""

import subprocess
from pathlib import Path

import pytest

from remediator.rulefiles import NODE_JOINS, PROFILES, render
from tests.rules.promtool_cases import faster, load, place, relabelled, run

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "rules" / "tests").glob("*.yaml"))
VARIANTS = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
FOREIGN = [path for path in SHIPPED if "'node_memory_" in path.read_text() or "'kubelet_" in path.read_text()]
# Timestamps are on the wall clock, and the words of alerts name figures per second.
UNSCALED = [path for path in SHIPPED if path.stem.startswith(("remediator", "annotations"))]


@pytest.mark.parametrize("cases", SHIPPED, ids=lambda path: path.stem)
def test_shipped_rules(cases: Path, promtool: Path) -> None:
    """The rules as they lie in rules/ pass the case file."""
    run(promtool, cases)


@pytest.mark.parametrize("join", [join for join in NODE_JOINS if join != "node"])
@pytest.mark.parametrize("cases", FOREIGN, ids=lambda path: path.stem)
def test_joins(cases: Path, join: str, promtool: Path, tmp_path: Path) -> None:
    """The same cases pass when node-exporter's series name their node another way."""
    story = load(cases)
    run(promtool, place(tmp_path, relabelled(story, join), cases.stem, node_join=join))


@pytest.mark.parametrize("cases", [path for path in SHIPPED if path not in UNSCALED], ids=lambda path: path.stem)
def test_time_scale(cases: Path, promtool: Path, tmp_path: Path) -> None:
    """The same cases pass 12.5 times as fast with rules rendered for it."""
    story = load(cases)
    run(promtool, place(tmp_path, faster(story, 12.5), cases.stem, time_scale=12.5))


@pytest.mark.parametrize("cases", VARIANTS, ids=lambda path: path.stem)
def test_variants(cases: Path, promtool: Path, tmp_path: Path) -> None:
    """Cases of one variant pass; the options of its rules are in its key `x_options`."""
    story = load(cases)
    options = story.pop("x_options")
    run(promtool, place(tmp_path, story, cases.stem, **options))


@pytest.mark.parametrize("join", NODE_JOINS)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "more", [{}, {"time_scale": 12.5}, {"scrape_interval_seconds": 30, "zfs_arc_available_ratio": 0.5}]
)
def test_every_variant_is_valid(
    profile: str, join: str, more: dict[str, float], promtool: Path, tmp_path: Path
) -> None:
    """promtool accepts every combination."""
    for name, text in render(profile=profile, node_join=join, pod_series=True, **more).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [promtool, "check", "rules", "--lint=all", "--lint-fatal", *sorted(tmp_path.glob("*.yaml"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
