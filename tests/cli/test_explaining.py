"""`remediator explain` on situations: the same decision anywhere, what-if, and errors that say what to do."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from click.testing import CliRunner, Result

from remediator.cli import cli, direct, explaining
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


def sample(at: float, available: int, **pods: int) -> dict[str, Any]:
    """One moment as the exporter's /history has it."""
    node = {"memory_total_bytes": 16 * 2**30, "memory_available_bytes": available * 2**30}
    return {"at": at, "node": node, "pods": {uid: size * 2**30 for uid, size in pods.items()}}


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What an exporter kept."""
    samples: list[dict[str, Any]] = []

    def get(url: str, timeout: float) -> requests.Response:
        answer = requests.Response()
        answer.status_code = 200 if url == "http://node:9101/history" else 404
        answer._content = json.dumps({"samples": samples}).encode()
        return answer

    monkeypatch.setattr(direct.requests, "get", get)
    return samples


def test_direct_shows_the_exporters_minutes_and_decides_nothing(
    exporter: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Node by the minute, pods by name and growth, and why nothing is decided."""
    exporter += [sample(600, 9, a=2, b=1), sample(630, 8, a=3, b=1), sample(690, 4, a=7)]
    monkeypatch.setattr(explaining, "pod_names", lambda kubeconfig, node: {"a": "batch/spark-a"})
    page = run("n1", "--direct", "http://node:9101").output
    assert "00:11:30" in page and "75.0 %" in page and "00:10:30" in page and "00:10:00" not in page
    row = next(line for line in page.splitlines() if line.startswith("batch/spark-a"))
    assert row.split()[-2:] == ["+5.0", "GiB"]
    assert "gone" in page and "Nothing is decided" in page
    named = told("n1", "--direct", "http://node:9101/")
    assert named["names"] == {"a": "batch/spark-a"} and len(named["samples"]) == 3


def test_direct_without_an_exporter_says_where_it_would_be(exporter: list[dict[str, Any]]) -> None:
    """A wrong URL and an empty history are told apart."""
    wrong = run("n1", "--direct", "http://node:1")
    assert wrong.exit_code == 1 and "http://NODE:9101" in wrong.output
    assert "has kept nothing yet" in run("--direct", "http://node:9101").output


def test_flags_that_contradict_one_another_are_wrong_use(small: Path) -> None:
    """A file is of its own moment."""
    result = run("--situation", str(small), "--at", "-2h")
    assert result.exit_code == 2 and "--situation and --at" in result.output


def test_at_is_put_to_prometheus_and_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 3339, unix seconds and -2h; the page says what is of then and what of now."""
    asked: list[float | None] = []

    def compose(settings: Any, policy: Any, *, reads_only: bool, at: float | None) -> Any:
        asked.append(at)
        return SimpleNamespace(question=World().replica().question, stop=lambda: None)

    remembered = SimpleNamespace(last_below=lambda *_: None, pod_names=lambda node: {})
    monkeypatch.setattr(explaining, "compose", compose)
    monkeypatch.setattr(explaining, "history", lambda settings, at: remembered)
    monkeypatch.setattr(explaining.time, "time", lambda: 100_000.0)
    live = ("n1", "--prometheus", "http://p:1", "--alertmanager", "http://a:1")
    for moment in ("1970-01-02T00:00:00Z", "10000", "-2h"):
        page = run(*live, "--at", moment).output
    assert asked == [86_400.0, 10_000.0, 92_800.0]
    assert "1970-01-02 01:46:40 UTC" in page and "as they are now" in page
    result = run(*live, "--at", "yesterday")
    assert result.exit_code == 2 and "--at: 'yesterday' is not a time" in result.output
