"""A running server, and a headless Chromium that looks at it."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from remediator.drill.apiserver.store import Store
from remediator.drill.stack import CRD_FILE
from tests.simulated import Served, serving

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
TOKEN = "a1b2c3"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Running:
    """The server under test and the API server that holds its records."""

    url: str
    cluster: Served

    def plan(self) -> str:
        """Id of the plan that waits for n1, as soon as there is one."""
        while True:
            found = requests.get(f"{self.url}/api/v1/plans", timeout=5).json()["plans"]
            waiting = [plan["id"] for plan in found if plan["status"] == "waiting"]
            if waiting:
                return str(waiting[0])
            time.sleep(0.05)

    def record(self) -> dict[str, Any]:
        """n1's NodeRemediation."""
        return self.cluster.inside(Store.get, "NodeRemediation", None, "n1")


def up(url: str, process: "subprocess.Popen[bytes]") -> bool:
    """Whether it answers; it must not have died."""
    assert process.poll() is None, "the server ended"
    try:
        return requests.get(f"{url}/healthz", timeout=5).ok
    except requests.ConnectionError:
        return False


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    """A server in approve mode whose n1 is RED, so that a plan waits at once."""
    operators = tmp_path / "operators"
    operators.write_text(f"ann: {TOKEN}\n")
    with serving() as serve, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        cluster = serve(Store())
        cluster.ask("POST", _CRDS, yaml.safe_load(CRD_FILE.read_text())).raise_for_status()
        command = [sys.executable, "-m", "tests.pages.served", str(port), cluster.url, str(operators)]
        process = subprocess.Popen(command, cwd=ROOT)
        try:
            while not up(f"http://127.0.0.1:{port}", process):
                time.sleep(0.05)
            yield Running(f"http://127.0.0.1:{port}", cluster)
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium; without one these tests are skipped."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium on PATH: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install .[test]")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any, running: Running) -> Iterator[Any]:
    """Open a path in a fresh context; what the browser complained of, and any request elsewhere, fails the test."""
    contexts: list[Any] = []
    complaints: list[str] = []
    foreign: list[str] = []

    def complains(message: Any) -> bool:
        """A refusal that the page tells people about is no complaint."""
        return bool(message.type == "error" and "status of 401" not in message.text)

    def ours(url: str) -> bool:
        return url.startswith((running.url, "data:"))

    def opened(path: str = "/", **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: complaints.append(message.text) if complains(message) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: foreign.append(request.url) if not ours(request.url) else None)
        page.goto(running.url + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert foreign == [], "the page asked somebody else"
