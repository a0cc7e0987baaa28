"""Audit lines also on standard output, for whoever collects the logs of containers.

One JSON line each; the log goes to standard error and is no JSON, and `event.dataset` tells ours from others' lines.
A reader that has stopped must not stop us: a thread writes, from a queue that never makes anybody wait. What finds it
full is dropped and counted, since the file has every line anyway.
"""

import logging
import os
import threading
from contextlib import suppress
from queue import Full, Queue

from remediator import metrics

log = logging.getLogger(__name__)
QUEUE_LENGTH = 1000
MARK = b'{"event.dataset":"remediator.audit",'
_STOP_SECONDS = 1.0


class StdoutCopies:
    """Copies of audit lines on a file descriptor: Python's own stdout has a lock, at which a process cannot end."""

    def __init__(self, descriptor: int, *, queue_length: int = QUEUE_LENGTH) -> None:
        self._descriptor, self._gone = descriptor, False
        self._queue: Queue[bytes | None] = Queue(queue_length)
        self._thread = threading.Thread(target=self._write_for_ever, name="audit-stdout", daemon=True)
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Queue a line of the audit file; never waits, never raises."""
        try:
            self._queue.put_nowait(MARK + line.removeprefix(b"{"))
        except Full:
            metrics.AUDIT_STDOUT_DROPPED.inc()

    def close(self) -> None:
        """Write what waits, as far as a moment reaches."""
        with suppress(Full):
            self._queue.put_nowait(None)
            self._thread.join(_STOP_SECONDS)

    def _write_for_ever(self) -> None:
        while (line := self._queue.get()) is not None:
            try:
                self._write(line)
            except OSError as error:
                metrics.AUDIT_STDOUT_DROPPED.inc()
                if not self._gone:
                    log.error("standard output is gone, audit lines are in their file only: %s", error)
                self._gone = True

    def _write(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._descriptor, line) :]
