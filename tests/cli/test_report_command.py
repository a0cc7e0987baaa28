"""`remediator report` over files that two replicas wrote: text, JSON and a page; what is wrong is told with the fix."""

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from remediator.cli import cli
from tests.core.report.fortnight import write


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """Two weeks of observing, ending now."""
    write(tmp_path / "audit", time.time())
    return tmp_path / "audit"


def test_a_terminal_of_80_columns_shows_it_in_order(audit: Path) -> None:
    """Undeclared workloads first, recommendations last, no line wider than the terminal but the policy's rows."""
    told = CliRunner().invoke(cli, ["report", "--audit-dir", str(audit)], env={"COLUMNS": "80"})
    assert told.exit_code == 0, told.output
    heads = [
        "Undeclared workloads",
        "Levels reached",
        "What would have been done",
        "What held",
        "What died",
        "to do next",
    ]
    places = [told.output.index(head) for head in heads]
    assert places == sorted(places)
    assert max(len(line) for line in told.output.splitlines()) <= 80


def test_json_and_the_page_hold_the_same_and_the_page_needs_nothing_else(audit: Path, tmp_path: Path) -> None:
    """The page carries its style, has no script and asks nobody for anything."""
    told = json.loads(CliRunner().invoke(cli, ["report", "--audit-dir", str(audit), "--output", "json"]).output)
    assert told["undeclared"][0]["workload"] == "ml/Deployment/notebooks"
    assert told["coverage"]["gaps_total"] == 1
    file = tmp_path / "report.html"
    flags = ["--audit-dir", str(audit), "--output", "html", "--output-file", str(file)]
    assert CliRunner().invoke(cli, ["report", *flags]).exit_code == 0
    page = file.read_text()
    assert "ml/Deployment/notebooks" in page and "<style>" in page
    assert not any(word in page for word in ("<script", "http://", "https://", 'rel="stylesheet"'))


def test_what_is_wrong_is_told_with_what_to_do(tmp_path: Path) -> None:
    """A directory without an audit, one that is not there, and a period that is none."""
    empty = CliRunner().invoke(cli, ["report", "--audit-dir", str(tmp_path)])
    assert empty.exit_code == 1 and "holds no audit-*.jsonl" in empty.output
    missing = CliRunner().invoke(cli, ["report", "--audit-dir", str(tmp_path / "no")])
    assert missing.exit_code == 1 and "cannot be read" in missing.output
    wrong = CliRunner().invoke(cli, ["report", "--since", "yesterday"])
    assert wrong.exit_code == 2 and "14d, 36h" in wrong.output
