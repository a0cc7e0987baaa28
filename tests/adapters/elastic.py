"""An HTTP server that answers bulk requests as Elasticsearch does, keeps documents by index and id, and misbehaves.

Forms of the answers: Elasticsearch's bulk API (items in the order of the operations, `create` with `status`, 409
`version_conflict_engine_exception`, 400 `document_parsing_exception`, 429 `es_rejected_execution_exception`), and the
header `X-Elastic-Product`, without which the official client refuses a server. What a whole request may meet is a list
of faults that is used up (a 413 of it spares a single document); what a single document meets is a function of it.
"""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Item = dict[str, Any]
MEDIA_TYPE = "application/vnd.elasticsearch+json;compatible-with=8"
EXCEPTIONS = {
    400: ("document_parsing_exception", "[1:86] failed to parse field [host.name] of type [keyword]"),
    403: ("security_exception", "action [indices:data/write/bulk[s]] is unauthorized for API key id [k]"),
    404: ("index_not_found_exception", "no such index [x] and [action.auto_create_index] is [false]"),
    429: ("es_rejected_execution_exception", "rejected execution of coordinating operation"),
    503: ("unavailable_shards_exception", "[x][0] primary shard is not active Timeout: [1m]"),
}
MISFORTUNES = ("lost", "torn", "429", "503", "413", "200-html", "none")
"""What `Elastic.faults` may hold: `lost` takes effect and gives no answer, `torn` breaks in the middle of one."""


class Elastic:
    """Documents and the plan of what goes wrong."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], dict[str, Any]] = {}
        self.faults: list[str] = []
        self.item_fault: Callable[[str, dict[str, Any]], int] = lambda identity, source: 0
        """(id, source) -> the status to refuse the document with, or 0."""
        self.headers: list[dict[str, str]] = []
        self.most_documents = 10**9
        """A request with more is too large (413)."""
        self.product = "Elasticsearch"
        self.held = threading.Event()
        self.held.set()
        self.url = ""
        self._lock = threading.Lock()

    def lines(self) -> list[str]:
        """What the documents say, as the audit file has it."""
        return [source["event"]["original"] for source in self.documents.values()]

    def answer(self, body: bytes) -> tuple[int, Any]:
        """(status, JSON) of a bulk request that reaches the server."""
        lines = [json.loads(line) for line in body.splitlines()]
        pairs = list(zip(lines[::2], lines[1::2], strict=True))
        if len(pairs) > self.most_documents:
            return 413, None
        with self._lock:
            items = [{"create": self._create(operation["create"], source)} for operation, source in pairs]
        return 200, {"took": 7, "errors": any("error" in item["create"] for item in items), "items": items}

    def _create(self, operation: dict[str, str], source: dict[str, Any]) -> Item:
        index, identity = operation["_index"], operation["_id"]
        item: Item = {"_index": index, "_id": identity}
        if status := self.item_fault(identity, source):
            kind, reason = EXCEPTIONS[status]
            return {**item, "status": status, "error": {"type": kind, "reason": reason}}
        if (index, identity) in self.documents:
            reason = f"[{identity}]: version conflict, document already exists (current version [1])"
            error = {"type": "version_conflict_engine_exception", "reason": reason, "index": index, "shard": "0"}
            return {**item, "status": 409, "error": error}
        self.documents[index, identity] = source
        shards = {"total": 2, "successful": 1, "failed": 0}
        place = {"_seq_no": len(self.documents) - 1, "_primary_term": 1}
        return {**item, "_version": 1, "result": "created", "_shards": shards, **place, "status": 201}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    elastic: Elastic

    def do_PUT(self) -> None:
        """The client sends bulk requests with PUT."""
        elastic = self.elastic
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        elastic.headers.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
        elastic.held.wait()
        fault = elastic.faults.pop(0) if elastic.faults else "none"
        if fault.isdigit() and not (fault == "413" and body.count(b"\n") == 2):
            self._say(int(fault), _error(int(fault)))
        elif fault == "200-html":
            self._say(200, "<html>a proxy's page</html>")
        else:
            self._effective(body, fault)

    def _effective(self, body: bytes, fault: str) -> None:
        status, told = self.elastic.answer(body)
        if fault == "lost":
            self.close_connection = True
        else:
            self._say(status, told, torn=fault == "torn")

    def _say(self, status: int, told: Any, *, torn: bool = False) -> None:
        text = told if isinstance(told, str) else json.dumps(told) if told else ""
        body, html = text.encode(), text.startswith("<")
        self.send_response(status)
        if self.elastic.product and not html:
            self.send_header("X-Elastic-Product", self.elastic.product)
        self.send_header("Content-Type", "text/html" if html else MEDIA_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if torn else body)
        self.close_connection |= torn

    do_POST = do_PUT  # noqa: N815 - the server calls it so

    def log_message(self, *args: object) -> None:
        """Quiet."""


def _error(status: int) -> Any:
    """The body of a request that is refused as a whole."""
    if status == 413:
        return None
    kinds = {401: "security_exception", 406: "media_type_header_exception"}
    kind = kinds.get(status) or EXCEPTIONS.get(status, ("exception", ""))[0]
    error = {"type": kind, "reason": "unable to authenticate with provided credentials"}
    return {"error": {"root_cause": [error], **error}, "status": status}


@contextmanager
def serving(elastic: Elastic) -> Iterator[Elastic]:
    """Serve it on loopback."""
    handler = type("Handler", (_Handler,), {"elastic": elastic})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    elastic.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield elastic
    finally:
        elastic.held.set()
        server.shutdown()
        server.server_close()
