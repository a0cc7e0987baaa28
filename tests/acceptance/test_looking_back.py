"""A moment of a drill that is over, explained from what its Prometheus has kept."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remediator.drill.processes import Processes, answers, free_port
from tests.acceptance.conftest import DRILL_SECONDS, Drilled
from tests.acceptance.remembered import remembered

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(DRILL_SECONDS + 20)]
RED = 3


@contextlib.contextmanager
def cluster_of(scenario: str, speed: float, directory: Path) -> Iterator[Path]:
    """The story's cluster before anything has happened to it: its kubeconfig."""
    address, kubeconfig = f"127.0.0.1:{free_port()}", directory / "kubeconfig"
    command = [sys.executable, "-m", "remediator.drill.simulation", "--scenario", scenario, "--listen", address]
    with Processes(directory / "logs") as processes:
        processes.start("cluster", [*command, "--speed", str(speed), "--kubeconfig-out", str(kubeconfig)])
        processes.wait_for("cluster", lambda: answers(f"http://{address}/readyz"))
        yield kubeconfig


@pytest.mark.xdist_group("spike")
def test_a_moment_that_is_over_is_explained(drilled: Callable[[str], Drilled], tmp_path: Path) -> None:
    """`explain --at` shows level and figures as they were at that moment, and says that the cluster is of now."""
    drill = drilled("spike")
    speed = drill.report["speed"]
    with remembered(drill.directory, speed) as prometheus, cluster_of("spike", speed, tmp_path) as kubeconfig:
        yellow = prometheus.times('node:memory_level{node="node-1"} == 1')
        assert yellow, "the spike never reached YELLOW"
        told = {}
        for name, moment in (("before", prometheus.span()[0] + 1), ("yellow", yellow[len(yellow) // 2])):
            command = [sys.executable, "-m", "remediator.cli", "explain", "node-1", "--output", "json"]
            command += ["--at", datetime.fromtimestamp(moment, UTC).isoformat(), "--speed", str(speed)]
            command += ["--prometheus", prometheus.url, "--alertmanager", f"http://127.0.0.1:{free_port()}"]
            done = subprocess.run([*command, "--kubeconfig", str(kubeconfig)], capture_output=True, text=True, check=False)
            assert done.returncode in (0, 1), done.stderr
            told[name] = json.loads(done.stdout)
    print(json.dumps(told, indent=1))
    assert told["yellow"]["level"] == "YELLOW"
