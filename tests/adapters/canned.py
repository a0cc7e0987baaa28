"""A server that answers as it is told, and what a real API server answered once."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import kubernetes
import requests

from remediator.adapters.kubernetes_api import KubernetesApi

REAL = Path(__file__).parents[1] / "drill" / "apiserver" / "captures"


def captured(name: str) -> dict[str, Any]:
    """What a real API server answered: {status, body}."""
    found: dict[str, Any] = json.loads(next(REAL.glob(f"{name}-*.json")).read_text())["response"]
    return found


def api_of(url: str, *, token: str = "", **timeouts: float) -> KubernetesApi:
    """The wrapped client for a server of a test."""
    configuration = kubernetes.client.Configuration(host=url)
    if token:
        configuration.api_key["authorization"] = f"Bearer {token}"
    return KubernetesApi(configuration, **timeouts)


def requests_to(url: str) -> list[dict[str, Any]]:
    """What a simulated API server was asked so far."""
    found: list[dict[str, Any]] = requests.get(f"{url}/drill/requests", timeout=5).json()
    return found


@dataclass(slots=True)
class Asked:
    """A request that a canned server got."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    peer: tuple[str, int]
    """Address and port of the connection it came by."""
    body: Any = None


@dataclass(slots=True)
class Answer:
    """What it says: a JSON body, or raw bytes; `hang`: nothing at all; `drip`: a byte now and then, for ever."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    drip: bool = False


class Canned:
    """Answers what `answer(asked)` says: an Answer, or a body for a 200. Set it anew at any time."""

    def __init__(self, answer: Callable[[Asked], Any]) -> None:
        self.answer, self.asked = answer, []
        self._stopped = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # Clients that left in the middle are what is tested here.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        canned = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # Headers and body in one packet, and of a long one no packet waits for an acknowledgement.
            disable_nagle_algorithm = True

            def _any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(length)
                split = urlsplit(self.path)
                asked = Asked(self.command, split.path, parse_qs(split.query), dict(self.headers), self.client_address)
                asked.body = json.loads(raw) if raw else None
                canned.asked.append(asked)
                said = canned.answer(asked)
                canned.send(self, said if isinstance(said, Answer) else Answer(body=said))

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Quiet."""

        return Handler

    def send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        if answer.hang:
            self._stopped.wait(30)
            handler.close_connection = True
            return
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        handler.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body) + (1000 if answer.drip else 0)))
        handler.end_headers()
        handler.wfile.write(body)
        handler.wfile.flush()
        while answer.drip and not self._stopped.wait(0.02):
            try:
                handler.wfile.write(b" ")
                handler.wfile.flush()
            except OSError:
                return


@contextmanager
def answering() -> Iterator[Callable[..., Canned]]:
    """Start such servers; they are stopped at the end."""
    running: list[Canned] = []

    def start(answer: Callable[[Asked], Any]) -> Canned:
        running.append(Canned(answer))
        return running[-1]

    try:
        yield start
    finally:
        for server in running:
            server.stop()
