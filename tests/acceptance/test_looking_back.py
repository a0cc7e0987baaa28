"""A moment of a drill that is over, explained from what its Prometheus has kept."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests
import yaml

from remediator.drill.processes import Processes, answers, free_port
from remediator.drill.stack import CRD_FILE
from tests.acceptance.conftest import DRILL_SECONDS, Drilled
from tests.acceptance.remembered import remembered

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(DRILL_SECONDS + 20)]


@contextlib.contextmanager
def cluster_of(scenario: str, speed: float, directory: Path) -> Iterator[Path]:
    """The story's cluster before anything has happened to it: its kubeconfig."""
    address, kubeconfig = f"127.0.0.1:{free_port()}", directory / "kubeconfig"
    command = [sys.executable, "-m", "remediator.drill.simulation", "--scenario", scenario, "--listen", address]
    with Processes(directory / "logs") as processes:
        processes.start("cluster", [*command, "--speed", str(speed), "--kubeconfig-out", str(kubeconfig)])
        processes.wait_for("cluster", lambda: answers(f"http://{address}/readyz"))
        crd = yaml.safe_load(CRD_FILE.read_text())
        definitions = f"http://{address}/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        requests.post(definitions, json=crd, timeout=10).raise_for_status()
        yield kubeconfig


@pytest.mark.xdist_group("spike")
def test_a_moment_that_is_over_is_explained(drilled: Callable[[str], Drilled], tmp_path: Path) -> None:
    """`explain --at` shows level and figures as they were at that moment, and says that the cluster is of now."""
    drill = drilled("spike")
    speed = drill.report["speed"]
    with remembered(drill.directory, speed) as prometheus, cluster_of("spike", speed, tmp_path) as kubeconfig:
        high = prometheus.times('node:memory_used:ratio{node="node-1"} > 0.85 and node:memory_level == 1')
        command = [sys.executable, "-m", "remediator.cli", "explain", "node-1", "--output", "json"]
        command += ["--at", datetime.fromtimestamp(high[0], UTC).isoformat(), "--speed", str(speed)]
        command += ["--prometheus", prometheus.url, "--alertmanager", f"http://127.0.0.1:{free_port()}"]
        command += ["--kubeconfig", str(kubeconfig)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert told["memory"]["level"] == "YELLOW"
    assert told["memory"]["used_ratio"] > 0.85
    assert abs(told["memory"]["sampled_at"] - high[0]) <= 60 / speed
    assert "unknown" in told["silences"], "nobody was there to ask"
    assert any("cluster's objects" in note for note in told["past"]["notes"])
