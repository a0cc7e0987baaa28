"""HTTP of the exporter: /metrics, /metrics/containers, /history, /healthz. Standard library only.

It answers GET and nothing else, over socketserver: http.server would bring mail parsing and TLS with it, 4 MB on every
node that would never be used.
"""

import json
import socket
import socketserver
import threading
from collections import deque
from collections.abc import Callable

from remediator.exporter.collecting import Collector

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json"
_IDLE_SECONDS = 120
"""A connection that says nothing for so long is closed; Prometheus keeps its own open between scrapes."""
_SCRAPED_INTERVALS = 4
_LONGEST_LINE, _MOST_HEADERS = 8192, 100
_STATUS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 500: "Internal Server Error"}
Pages = dict[str, tuple[str, Callable[[], list[bytes]]]]
"""Path -> (content type, parts of the body)."""


class History:
    """The last minutes of samples, kept in memory as text: so a node can be studied when the centre is gone.

    As dense as the scrapes are, and one every interval when nobody has scraped for four of them.

    Its thread also notices what vanished when nobody scrapes, so that no descriptor pins a dying cgroup.
    """

    def __init__(self, collector: Collector, seconds: float, interval_seconds: float = 5.0) -> None:
        """`seconds` 0: keep nothing."""
        self._collector, self._interval_seconds = collector, interval_seconds
        self._samples: deque[bytes] = deque(maxlen=int(seconds / interval_seconds))
        self._stop = threading.Event()

    def start(self) -> None:
        """Take samples in a thread of its own."""
        threading.Thread(target=self._keep_sampling, name="history", daemon=True).start()

    def _keep_sampling(self) -> None:
        at: object = None
        while not self._stop.is_set():
            # Scrapes read for us; where nobody scrapes any more, the history goes on by itself.
            sample = self._collector.snapshot(unless_scraped_seconds=_SCRAPED_INTERVALS * self._interval_seconds)
            if sample["at"] != at:
                at = sample["at"]
                self._samples.append(json.dumps(sample, separators=(",", ":")).encode())
            self._stop.wait(self._interval_seconds)

    def stop(self) -> None:
        """Take no more."""
        self._stop.set()

    def page(self) -> list[bytes]:
        """JSON: `samples`, oldest first: `at` (Unix seconds), `node` (metric -> value), `pods` (uid -> working set)."""
        return [b'{"samples":[', b",".join(list(self._samples)), b"]}\n"]


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.pages = pages
        super().__init__((host, port), _Connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is none of our business; failures of pages are answered with 500 before."""


class _BadRequestError(Exception):
    """What came is no HTTP request."""


class _Connection(socketserver.StreamRequestHandler):
    """Requests of one client, one after another."""

    server: _Server
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer until the client closes, says so, or is not understood."""
        try:
            while (request := self._request()) is not None:
                method, path, stays = request
                status, content_type, body = self._page(method, path)
                self._answer(status, content_type, body, stays, with_body=method != "HEAD")
                if not stays:
                    return
        except _BadRequestError as error:
            self._answer(400, "text/plain", [f"{error}\n".encode()], stays=False)

    def _request(self) -> tuple[str, str, bool] | None:
        """(method, path without query, whether the connection stays); None at its end. Bodies are not for us."""
        words = self._line().split()
        if not words:
            return None
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise _BadRequestError("this is no HTTP/1 request")
        method, target, version = words
        stays = version != "HTTP/1.0"
        for _ in range(_MOST_HEADERS):
            name, _, value = self._line().partition(":")
            if not name:
                return method, target.partition("?")[0], stays
            if name.lower() == "connection":
                stays = value.strip().lower() != "close" and (stays or value.strip().lower() == "keep-alive")
            elif name.lower() in ("content-length", "transfer-encoding"):
                stays = False
        raise _BadRequestError("too many headers")

    def _line(self) -> str:
        line = self.rfile.readline(_LONGEST_LINE)
        if len(line) == _LONGEST_LINE:
            raise _BadRequestError("the line is too long")
        return line.decode("latin-1").rstrip("\r\n")

    def _page(self, method: str, path: str) -> tuple[int, str, list[bytes]]:
        if method not in ("GET", "HEAD"):
            return 405, "text/plain", [b"only GET is answered\n"]
        found = self.server.pages.get(path)
        if found is None:
            return 404, "text/plain", [f"not here; try {', '.join(self.server.pages)}\n".encode()]
        try:
            return 200, found[0], found[1]()
        except Exception as error:  # told to the scraper; the next scrape may do better
            return 500, "text/plain", [f"{type(error).__name__}: {error}\n".encode()]

    def _answer(
        self, status: int, content_type: str, body: list[bytes], stays: bool, *, with_body: bool = True
    ) -> None:
        head = (
            f"HTTP/1.1 {status} {_STATUS[status]}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {sum(map(len, body))}\r\nConnection: {'keep-alive' if stays else 'close'}\r\n\r\n"
        )
        self.wfile.write(head.encode() + (body[0] if with_body and body else b""))
        if with_body:
            for part in body[1:]:
                self.wfile.write(part)


def make_server(host: str, port: int, collector: Collector, history: History) -> socketserver.ThreadingTCPServer:
    """A server that is bound and not yet running. OSError when the address cannot be had."""
    return _Server(
        host,
        port,
        {
            "/metrics": (_TEXT, collector.page),
            "/metrics/containers": (_TEXT, collector.containers_page),
            "/history": (_JSON, history.page),
            "/healthz": ("text/plain", lambda: [b"ok\n"]),
        },
    )
