"""`remediator explain` on situations: the same decision anywhere, what-if, and errors that say what to do."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from remediator.cli import cli
from remediator.config.situation import situation_text
from tests.reconciler.world import World

SMALL = """\
node: n1
memory: {level: red, total_bytes: 16Gi, available_bytes: 1Gi}
pods:
  shop/web-1: {usage: 6Gi, request_bytes: 5Gi}
  batch/crunch-1: {usage: 7Gi, workload: batch/Job/crunch}
policy: {mode: enforce}
"""


def run(*arguments: str) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(cli, ("explain", *arguments), env={"COLUMNS": "160"})


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A situation written by hand."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def told(*arguments: str) -> Any:
    """What is printed for machines."""
    result = run(*arguments, "--output", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_saved_situation_is_decided_as_the_live_node_was(tmp_path: Path) -> None:
    """Byte for byte the same JSON, without any cluster."""
    reconciler = World().replica()
    path = tmp_path / "saved.yaml"
    path.write_text(situation_text(reconciler.question("n1")))
    live = json.dumps(reconciler.explain("n1"), indent=2) + "\n"
    assert run("--situation", str(path), "--output", "json").stdout == live
    again = tmp_path / "again.yaml"
    run("--situation", str(path), "--save", str(again))
    assert again.read_text() == path.read_text()


def test_a_few_lines_are_a_situation(small: Path) -> None:
    """What is left out changes nothing: a Job is offline, an undeclared Deployment is protected."""
    found = told("--situation", str(small))
    assert [(row["pod"], row["reason"]) for row in found["ranking"]] == [
        ("crunch-1", "chosen"),
        ("web-1", "undeclared"),
    ]
    assert found["mode"] == "enforce" and found["verdict"] == "ALLOW"


def test_another_policy_is_a_what_if_that_shows_what_it_changes(small: Path, tmp_path: Path) -> None:
    """The decision of the other policy, and beside it the one in force."""
    other = tmp_path / "other.yaml"
    other.write_text("mode: observe\nundeclared: offline\nbusiness: [{tier: critical, namespace: batch}]\n")
    found = told("--situation", str(small), "--policy", str(other))
    assert found["mode"] == "observe"
    assert found["what_if"]["in_force"]["chosen"] == ["batch/crunch-1"]
    changes = found["what_if"]["changes"]
    assert changes["chosen"] == [["batch/crunch-1"], ["shop/web-1"]]
    assert changes["pods"] == {"shop/web-1": ["undeclared", "chosen"], "batch/crunch-1": ["chosen", "tier_critical"]}
    page = run("--situation", str(small), "--policy", str(other)).output
    assert "What if" in page and "chosen: batch/crunch-1 -> shop/web-1" in page


def test_a_typo_is_told_with_its_line_and_the_nearest_key(small: Path) -> None:
    """Nothing is guessed."""
    small.write_text(SMALL.replace("request_bytes", "requst_bytes").replace("mode", "mod"))
    result = run("--situation", str(small))
    assert result.exit_code == 1
    assert "small.yaml:4: pods.shop/web-1.requst_bytes: unknown key; did you mean request_bytes?" in result.output
    assert "small.yaml:6: policy.mod: unknown key; did you mean mode?" in result.output


def test_without_node_or_sources_it_says_what_is_missing() -> None:
    """Wrong use, exit code 2."""
    result = run("n1")
    assert result.exit_code == 2 and "--prometheus and --alertmanager" in result.output
    assert run().exit_code == 2


def test_a_file_that_cannot_be_written_is_told(small: Path, tmp_path: Path) -> None:
    """By the flag's name."""
    result = run("--situation", str(small), "--save", str(tmp_path / "no" / "x.yaml"))
    assert result.exit_code == 1 and "--save" in result.output
