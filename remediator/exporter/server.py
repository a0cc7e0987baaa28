"""HTTP of the exporter: /metrics, /metrics/containers, /history, /healthz. Standard library only."""

import json
import threading
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from remediator.exporter.collecting import Collector

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json"


class History:
    """The last minutes of samples, kept in memory: so a node can be studied when the centre is gone."""

    def __init__(self, collector: Collector, seconds: float, interval_seconds: float = 5.0) -> None:
        self._collector, self._interval_seconds = collector, interval_seconds
        self._samples: deque[dict[str, object]] = deque(maxlen=max(1, int(seconds / interval_seconds)))
        self._stop = threading.Event()

    def start(self) -> None:
        """Take samples in a thread of its own."""
        threading.Thread(target=self._keep_sampling, name="history", daemon=True).start()

    def _keep_sampling(self) -> None:
        while not self._stop.is_set():
            self._samples.append(self._collector.snapshot())
            self._stop.wait(self._interval_seconds)

    def stop(self) -> None:
        """Take no more."""
        self._stop.set()

    def page(self) -> str:
        """JSON, oldest first."""
        return json.dumps({"samples": list(self._samples)})


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

    ThreadingHTTPServer.daemon_threads = True
    return ThreadingHTTPServer((host, port), Handler)
