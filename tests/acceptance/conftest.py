"""Drills run as a person runs them: the command in a process of its own, its answer read from what it leaves."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from remediator.drill.scenario import policy_text
from tests.acceptance.rights import chart_for

DRILL_SECONDS = 400


@dataclass(frozen=True)
class Drilled:
    """What one drill left behind."""

    status: int
    output: str
    directory: Path
    report: dict[str, Any]

    @property
    def failed_wants(self) -> list[str]:
        """One line per want that does not hold."""
        wants = self.report["wants"]
        return [f"{w['what']}: wanted {w['expected']}, saw {w['seen']}" for w in wants if not w["ok"]]


def drill_command(scenario: str, directory: Path) -> list[str]:
    """The command line of one drill."""
    return [sys.executable, "-m", "remediator.cli", "drill", "--scenario", scenario, "--output-dir", str(directory)]


@pytest.fixture(scope="module")
def drilled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Drilled]:
    """Runs a scenario to its end, with the rights that the chart grants for its policy, and no other.

    Logs stay in the directory that is named when something fails.
    """

    def run(scenario: str) -> Drilled:
        directory = tmp_path_factory.mktemp(Path(scenario).stem)
        done = subprocess.run(
            [*drill_command(scenario, directory), "--rights", chart_for(policy_text(scenario), directory)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DRILL_SECONDS,
            check=False,
        )
        output = done.stdout + done.stderr
        file = directory / "report.json"
        assert file.exists(), f"status {done.returncode}, no report; logs in {directory}/logs\n{output}"
        return Drilled(done.returncode, output, directory, json.loads(file.read_text()))

    return run
