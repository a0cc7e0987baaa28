"""From an alert's labels to a node, quickly: remembered answers and a deadline.

The lookup itself is the cluster adapter's. A webhook must be answered well under a second even when the API
server is not, so an alert that names its node is taken at its word when no answer comes in time: the pass
will look the node up again before anything is done.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer

from remediator.core.model import Rejection

log = logging.getLogger(__name__)
Lookup = Callable[[Mapping[str, str]], str | Rejection]
_LABELS = ("node", "instance", "nodename")


class CannotTellError(Exception):
    """The cluster did not answer in time and the alert names no node by itself."""


class NodeResolver:
    """Remembers answers for `remember_seconds`; refusals for a tenth of that (a node may just be joining)."""

    def __init__(self, lookup: Lookup, *, remember_seconds: float = 60.0, deadline_seconds: float = 0.5) -> None:
        self._lookup, self._remember_seconds, self._deadline_seconds = (
            lookup,
            remember_seconds,
            deadline_seconds,
        )
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="node-for")
        self._lock = threading.Lock()
        self._known: dict[tuple[str, ...], tuple[float, str | Rejection]] = {}

    def deadline(self) -> float:
        """Moment until which one request may wait for answers, all its alerts together."""
        return time.monotonic() + self._deadline_seconds

    def node(self, labels: Mapping[str, str], deadline: float) -> str | Rejection:
        """The node, or why not; CannotTellError when the cluster is silent and there is no `node` label."""
        key = tuple(labels.get(name, "") for name in _LABELS)
        with self._lock:
            until, answer = self._known.get(key, (0.0, ""))
        if answer and until > time.monotonic():
            return answer
        return self._asked(key, labels, deadline)

    def _asked(self, key: tuple[str, ...], labels: Mapping[str, str], deadline: float) -> str | Rejection:
        remaining = deadline - time.monotonic()
        if remaining > 0:
            future: Future[str | Rejection] = self._pool.submit(self._remember, key, dict(labels))
            try:
                return future.result(remaining)
            except NoAnswer:
                future.cancel()
            except Exception:
                log.exception("a node lookup failed in a way nobody foresaw")
        if labels.get("node"):
            return labels["node"]
        raise CannotTellError

    def _remember(self, key: tuple[str, ...], labels: Mapping[str, str]) -> str | Rejection:
        answer = self._lookup(labels)
        share = 1.0 if isinstance(answer, str) else 0.1
        with self._lock:
            if len(self._known) > 20_000:
                self._known.clear()
            self._known[key] = (time.monotonic() + share * self._remember_seconds, answer)
        return answer
