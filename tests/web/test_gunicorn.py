"""The server as it is run: real gunicorn, real HTTP, over a fake world."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.acceptance
ROOT = Path(__file__).resolve().parents[2]
A1 = {
    "version": "4",
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "NodeMemoryPressure", "node": "n1", "level": "red"},
            "fingerprint": "f1",
        }
    ],
}


@dataclass
class Served:
    """A running server."""

    url: str
    directory: Path
    process: "subprocess.Popen[bytes]"

    def post(self, **more: Any) -> requests.Response:
        """One webhook."""
        return requests.post(f"{self.url}/api/v1/alerts", timeout=10, **({"json": A1} | more))

    def acts(self) -> list[str]:
        """What was done so far."""
        path = self.directory / "acts"
        return path.read_text().splitlines() if path.exists() else []

    def sample(self, name: str) -> float:
        """Sum of a metric over its labels."""
        text = requests.get(f"{self.url}/metrics", timeout=10).text
        families = text_string_to_metric_families(text)
        return sum(s.value for family in families for s in family.samples if s.name == name)


def eventually(condition: Callable[[], object]) -> None:
    """Wait until it holds, as long as the test's own time-out allows."""
    while not condition():
        time.sleep(0.02)


def answers(url: str) -> bool:
    """Whether somebody listens."""
    try:
        return requests.get(url, timeout=5).ok
    except requests.ConnectionError:
        return False


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server whose acts can be held by a file; WEB_CONCURRENCY asks for four workers in vain."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.web.served", str(port), str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "WEB_CONCURRENCY": "4", "GUNICORN_CMD_ARGS": "--workers=4"},
    )
    running = Served(f"http://127.0.0.1:{port}", tmp_path, process)
    try:
        eventually(lambda: process.poll() is not None or answers(f"{running.url}/healthz"))
        yield running
    finally:
        (tmp_path / "hold").unlink(missing_ok=True)
        process.terminate()
        process.wait(30)


def test_c09_a_hundred_posts_are_a_hundred_received_and_one_remediation(served: Served) -> None:
    """C09: whatever the environment asks for there is one worker: counts are whole, a node is acted on once."""
    with ThreadPoolExecutor(8) as pool:
        codes = [answer.status_code for answer in pool.map(lambda _: served.post(), range(100))]
    assert codes == [202] * 100
    eventually(lambda: served.sample("remediator_evictions_total") >= 3)
    assert served.sample("remediator_webhooks_received_total") == 100
    assert [act.split(":")[0] for act in served.acts()] == ["cordon", "taint", "evict", "evict", "evict"]


def test_a04_the_webhook_is_answered_while_an_act_hangs(served: Served) -> None:
    """A04: the answer does not wait for the act, a repeat is taken too, and the act happens once."""
    (served.directory / "hold").touch()
    assert served.post().status_code == 202
    eventually(served.acts)
    assert served.post().status_code == 202
    assert served.acts() == ["cordon:n1"]
    (served.directory / "hold").unlink()
    eventually(lambda: served.sample("remediator_evictions_total") >= 3)
    assert len(served.acts()) == 5


def test_sigterm_finishes_the_step_in_hand_and_hands_over(served: Served) -> None:
    """Asked to end in the middle of an act, the worker ends it, starts no other, and stops the dispatcher."""
    (served.directory / "hold").touch()
    served.post()
    eventually(served.acts)
    served.process.send_signal(signal.SIGTERM)
    eventually(lambda: not answers(f"{served.url}/healthz"))
    (served.directory / "hold").unlink()
    assert served.process.wait(30) == 0
    assert served.acts() == ["cordon:n1"]
    assert (served.directory / "stopped").exists()


def test_a21_bodies_over_the_cap_are_413_over_the_wire(served: Served) -> None:
    """A21: 20 MB announced, or streamed without a length, are refused and the server goes on."""

    def stream() -> Iterator[bytes]:
        for _ in range(20):
            yield b"x" * 1_000_000

    for content in (b"x" * 20_000_000, stream()):
        try:
            answer = served.post(json=None, data=content)
            assert answer.status_code == 413
        except requests.ConnectionError:
            pass  # hung up while we were still sending: refused all the same
    assert served.post().status_code == 202
    assert served.sample("remediator_webhooks_received_total") == 3


def test_pages_and_api_answer_over_the_wire(served: Served) -> None:
    """Status page, node list and explain work under gunicorn, with their headers."""
    page = requests.get(served.url, timeout=10)
    assert page.status_code == 200 and "RED" in page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    told = requests.get(f"{served.url}/api/v1/nodes/n1", timeout=10).json()
    assert json.dumps(told["plan"]["actions"][0]["kind"]) == '"cordon"'
    assert requests.get(f"{served.url}/static/status.css", timeout=10).ok
