"""HTTP of the exporter: /metrics, /metrics/containers, /history, /healthz. Standard library only."""

import json
import socket
import threading
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from remediator.exporter.collecting import Collector

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json"
_IDLE_SECONDS = 120
"""A connection that says nothing for so long is closed; Prometheus keeps its own open between scrapes."""


class History:
    """The last minutes of samples, kept in memory as text: so a node can be studied when the centre is gone.

    Its thread also notices what vanished when nobody scrapes, so that no descriptor pins a dying cgroup.
    """

    def __init__(self, collector: Collector, seconds: float, interval_seconds: float = 5.0) -> None:
        """`seconds` 0: keep nothing."""
        self._collector, self._interval_seconds = collector, interval_seconds
        self._samples: deque[str] = deque(maxlen=int(seconds / interval_seconds))
        self._stop = threading.Event()

    def start(self) -> None:
        """Take samples in a thread of its own."""
        threading.Thread(target=self._keep_sampling, name="history", daemon=True).start()

    def _keep_sampling(self) -> None:
        while not self._stop.is_set():
            sample = self._collector.snapshot(within_seconds=self._interval_seconds)
            self._samples.append(json.dumps(sample, separators=(",", ":")))
            self._stop.wait(self._interval_seconds)

    def stop(self) -> None:
        """Take no more."""
        self._stop.set()

    def page(self) -> str:
        """JSON: `samples`, oldest first: `at` (Unix seconds), `node` (metric -> value), `pods` (uid -> working set)."""
        return '{"samples":[' + ",".join(list(self._samples)) + "]}\n"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), handler)

    def server_bind(self) -> None:
        """As the plain server's, without the look-up of our own host's name, which may take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = self.socket.getsockname()[:2]


def make_server(host: str, port: int, collector: Collector, history: History) -> ThreadingHTTPServer:
    """A server that is bound and not yet running. OSError when the address cannot be had."""
    pages: dict[str, tuple[str, Callable[[], str]]] = {
        "/metrics": (_TEXT, collector.page),
        "/metrics/containers": (_TEXT, collector.containers_page),
        "/history": (_JSON, history.page),
        "/healthz": ("text/plain", lambda: "ok\n"),
    }

    class Handler(BaseHTTPRequestHandler):
        """Answers GET."""

        protocol_version = "HTTP/1.1"
        timeout = _IDLE_SECONDS
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            """One page."""
            found = pages.get(self.path.split("?")[0])
            if found is None:
                self._answer(404, "text/plain", f"not here; try {', '.join(pages)}\n")
            else:
                self._answer(200, found[0], found[1]())

        def _answer(self, status: int, content_type: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """A line per scrape tells nobody anything."""

    return _Server(host, port, Handler)
