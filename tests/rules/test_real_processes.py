"""What only the real Prometheus and Alertmanager can show: a restart, and inhibition."""

import json
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from remediator.rulefiles import alertmanager_config, render
from tests.rules.conftest import find_tool

pytestmark = pytest.mark.acceptance
SPEED = 12.5


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait(what: Callable[[], Any], seconds: float = 30) -> Any:
    """The first true answer; errors count as none."""
    ends = time.monotonic() + seconds
    while True:
        try:
            if answer := what():
                return answer
        except (OSError, ValueError):
            pass
        assert time.monotonic() < ends, f"nothing within {seconds:g} s"
        time.sleep(0.05)


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        text: str = answer.read().decode()
    return text


class Served:
    """A page whose text may change, and the JSON bodies that were posted."""

    def __init__(self) -> None:
        self.text, self.bodies = "", list[dict[str, Any]]()
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(served.text.encode())

            def do_POST(self) -> None:
                served.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self._answer(b"")

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def served() -> Iterator[Served]:
    """A server on a free port."""
    server = Served()
    yield server
    server.server.shutdown()


class Prometheus:
    """One that can be ended and started again over the same data."""

    def __init__(self, directory: Path, target: str) -> None:
        self.directory, self.port = directory, _free_port()
        for name, text in render(time_scale=SPEED).items():
            (directory / name).write_text(text, encoding="utf-8")
        job = {"job_name": "memory-exporter", "static_configs": [{"targets": [target]}]}
        config = {
            "global": {"scrape_interval": "400ms", "scrape_timeout": "400ms"},
            "rule_files": [str(path) for path in directory.glob("*.yaml")],
            "scrape_configs": [job],
        }
        (directory / "prometheus.json").write_text(json.dumps(config), encoding="utf-8")
        self.start()

    def start(self) -> None:
        """Start it and wait until it is ready."""
        command = [find_tool("prometheus"), f"--config.file={self.directory / 'prometheus.json'}"]
        command += [f"--storage.tsdb.path={self.directory / 'data'}", f"--web.listen-address=127.0.0.1:{self.port}"]
        self.process = subprocess.Popen([*command, "--log.level=error"])
        _wait(lambda: _get(f"http://127.0.0.1:{self.port}/-/ready"))

    def stop(self) -> None:
        """End it as an operator would."""
        self.process.terminate()
        self.process.wait(timeout=30)

    def value(self, query: str) -> float | None:
        """The one value of an instant query."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{urlencode({'query': query})}"
        result = json.loads(_get(url))["data"]["result"]
        return float(result[0]["value"][1]) if result else None


@pytest.fixture
def prometheus(served: Served, tmp_path: Path) -> Iterator[Prometheus]:
    """Prometheus with the rules of a drill, scraping `served`."""
    running = Prometheus(tmp_path, served.address)
    yield running
    running.stop()


def _node(available: int) -> str:
    names = ("memory_exporter_node_memory_total_bytes", "memory_exporter_node_memory_available_bytes")
    return "".join(f'{name}{{node="n1"}} {value}\n' for name, value in zip(names, (100, available), strict=True))


def test_a_restarted_prometheus_comes_back_with_the_level(served: Served, prometheus: Prometheus) -> None:
    """No sample after the restart is lower than RED; and a node that recovers afterwards is let go."""
    served.text = _node(5)
    _wait(lambda: prometheus.value("node:memory_level") == 3)
    prometheus.stop()
    prometheus.start()
    ready = time.time()
    _wait(lambda: (prometheus.value("timestamp(node:memory_level)") or 0) > ready + 2)
    assert prometheus.value("min_over_time(node:memory_level[2s])") == 3
    _wait(lambda: prometheus.value('count(ALERTS{level="red",alertstate="firing"})') == 1)
    served.text = _node(60)
    _wait(lambda: prometheus.value("node:memory_level") == 0)


def _alert(name: str, node: str, **labels: str) -> dict[str, Any]:
    return {"labels": {"alertname": name, "node": node, "namespace": "remediator", "cluster": "c1", **labels}}


def test_only_the_highest_level_of_a_node_is_delivered(served: Served, tmp_path: Path) -> None:
    """Raised in one breath, lower levels and predictions are inhibited per node before the first delivery."""
    config = tmp_path / "alertmanager.yaml"
    config.write_text(alertmanager_config(f"http://{served.address}/api/v1/alerts", 2), encoding="utf-8")
    port = _free_port()
    command = [find_tool("alertmanager"), f"--config.file={config}"]
    command += [f"--storage.path={tmp_path}", f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
    process = subprocess.Popen([*command, "--log.level=error"])
    try:
        _wait(lambda: _get(f"http://127.0.0.1:{port}/-/ready"))
        alerts = [_alert("NodeMemoryPressure", "n1", level=level) for level in ("yellow", "orange", "red")]
        alerts += [_alert("NodeMemoryPressure", "n2", level="yellow")]
        alerts += [_alert("NodeMemoryExhaustionPredicted", node) for node in ("n1", "n2", "n3")]
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/v2/alerts", json.dumps(alerts).encode(), {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(request, timeout=5).close()
        _wait(lambda: len(served.bodies) >= 3)
        time.sleep(1.5)
    finally:
        process.terminate()
        process.wait(timeout=30)
    delivered = {
        (alert["labels"]["alertname"], alert["labels"]["node"], alert["labels"].get("level"))
        for body in served.bodies
        for alert in body["alerts"]
    }
    assert delivered == {
        ("NodeMemoryPressure", "n1", "red"),
        ("NodeMemoryPressure", "n2", "yellow"),
        ("NodeMemoryExhaustionPredicted", "n3", None),
    }
