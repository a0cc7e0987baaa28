"""The audit: JSON lines in a file of this replica's own, flushed before the act they announce, rotated by size.

A line that cannot be kept raises `AuditUnavailableError`, and then nothing may be done. Never holds secrets: it
writes what it is given, and nobody gives it any.
"""

import json
import os
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from remediator.core.fences import AuditUnavailableError

_SYNCED = ("intent",)
MAX_BYTES = 64 * 1024**2
MAX_FILES = 8


class JsonLinesAudit:
    """One file, one writer at a time."""

    def __init__(
        self,
        directory: Path,
        identity: str,
        *,
        max_bytes: int = MAX_BYTES,
        max_files: int = MAX_FILES,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path = directory / f"audit-{identity.replace('/', '_')}.jsonl"
        self._max_bytes, self._max_files, self._now = max_bytes, max_files, now
        self._lock = threading.Lock()
        self._file: IO[str] | None = None

    def write(self, record: Mapping[str, object]) -> None:
        """One line; intents are on disk when this returns. Raises AuditUnavailableError."""
        stamped = {"@timestamp": self._now().isoformat(timespec="milliseconds"), **record}
        line = json.dumps(stamped, separators=(",", ":"), default=str) + "\n"
        with self._lock:
            try:
                self._write(line, synced=record.get("kind") in _SYNCED)
            except OSError as error:
                self._close()
                raise AuditUnavailableError(f"{self.path}: {error.strerror}") from error

    def _write(self, line: str, *, synced: bool) -> None:
        file = self._opened()
        file.write(line)
        file.flush()
        if synced:
            os.fsync(file.fileno())
        if file.tell() >= self._max_bytes:
            self._rotate()

    def _opened(self) -> IO[str]:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a", encoding="utf-8")
        return self._file

    def _rotate(self) -> None:
        """audit.jsonl -> audit.jsonl.1 -> …; the oldest goes."""
        self._close()
        for number in range(self._max_files - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self._numbered(self._max_files).unlink(missing_ok=True)
        self.path.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        """Close the file; a later write opens it again."""
        with self._lock:
            self._close()

    def ready(self) -> str:
        """Empty when a line could be written, else what is wrong."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            usable = os.access(self.path.parent, os.W_OK)
        except OSError as error:
            return f"the audit directory cannot be made: {error}"
        return "" if usable else f"the audit directory {self.path.parent} is not writable"
