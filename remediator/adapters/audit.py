"""The audit: JSON lines in a file of this replica's own, flushed before the act they announce, rotated by size.

A predecessor that was killed may have left half a line, and intents without an end: the first write cuts the one off
and closes the others, so that every intent has an end whoever died. A line that cannot be kept whole raises
`AuditUnavailableError`, and then nothing may be done. Never holds secrets: it writes what it is given, and nobody gives
it any.
"""

import json
import os
import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from remediator.core.audit_names import MAX_BYTES, MAX_FILES, rotated_name
from remediator.core.fences import AuditUnavailableError

_SYNCED = ("intent",)
_LEAST_FREE_BYTES = 1024**2


ABANDONED = "whoever announced it was killed before an answer was kept; what became of it is read from the cluster"
_TAIL_BYTES = 1024**2
"""So much of the file's end is looked at for open intents: they are as young as the predecessor's last moments."""


def _whole_lines(path: Path) -> list[bytes]:
    """The last lines of a file; half a line at its end is cut off."""
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read()
        whole = tail.rfind(b"\n") + 1
        if whole < len(tail):
            file.truncate(size - len(tail) + whole)
    return tail[:whole].splitlines()


def _open_intents(lines: list[bytes]) -> list[dict[str, object]]:
    """Intents that no later line answers."""
    found: dict[tuple[object, ...], dict[str, object]] = {}
    for line in lines:
        try:
            told = json.loads(line)
            action = told["action"] if told["kind"] in ("intent", "result", "abandoned") else {}
            key = (told.get("plan_id"), action.get("kind"), action.get("pod_uid"), action.get("workload"))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if told["kind"] == "intent":
            found[key] = told
        elif action:
            found.pop(key, None)
    return list(found.values())


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
        copy: Callable[[bytes], None] | None = None,
    ) -> None:
        """`copy` gets each line that was kept; it must neither wait nor raise."""
        self._identity, self._directory = identity, directory
        self.path = self._numbered(0)
        self._max_bytes, self._max_files, self._now, self._copy = max_bytes, max_files, now, copy
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._inherited = True
        """What a predecessor left has not been looked at yet."""

    def write(self, record: Mapping[str, object]) -> None:
        """One line; intents are on disk when this returns. Raises AuditUnavailableError."""
        stamped = {"@timestamp": self._now().isoformat(timespec="milliseconds"), **record}
        line = json.dumps(stamped, separators=(",", ":"), default=str) + "\n"
        with self._lock:
            try:
                self._tidy_up()
                self._write(line.encode(), synced=record.get("kind") in _SYNCED)
            except OSError as error:
                self._close()
                raise AuditUnavailableError(f"{self.path}: {error.strerror or error}") from error

    def begin(self) -> None:
        """Close what a predecessor left open, now and not only with our first line. Never raises."""
        with self._lock, suppress(OSError):
            self._tidy_up()

    def _tidy_up(self) -> None:
        """Once, before the first line of this process."""
        if not self._inherited:
            return
        if self.path.is_file():
            lines = _whole_lines(self.path)
            for intent in _open_intents(lines):
                told = {**intent, "kind": "abandoned", "detail": ABANDONED}
                stamped = told | {"@timestamp": self._now().isoformat(timespec="milliseconds")}
                self._write((json.dumps(stamped, separators=(",", ":")) + "\n").encode(), synced=False)
        self._inherited = False

    def _write(self, line: bytes, *, synced: bool) -> None:
        file = self._opened()
        end = file.tell()
        if end and end + len(line) > self._max_bytes:
            self._rotate()
            file, end = self._opened(), 0
        try:
            # Unbuffered: a write may take a part only, when the disk fills up.
            written = 0
            while written < len(line):
                written += file.write(line[written:])
            if synced:
                os.fsync(file.fileno())
        except OSError:
            # Half a line would spoil the next one.
            with suppress(OSError):
                file.truncate(end)
            raise
        if self._copy is not None:
            self._copy(line)

    def _opened(self) -> BinaryIO:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab", buffering=0)
            self._file.seek(0, os.SEEK_END)
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
        return self._directory / rotated_name(self._identity, number)

    def _close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    def close(self) -> None:
        """Close the file; a later write opens it again."""
        with self._lock:
            self._close()

    def ready(self) -> str:
        """Empty when a line could be written, else what is wrong."""
        try:
            with self._lock:
                self._opened()
            free = shutil.disk_usage(self.path.parent).free
        except OSError as error:
            return f"the audit file {self.path} cannot be written: {error.strerror or error}"
        if free < _LEAST_FREE_BYTES:
            return f"the disk of {self.path.parent} is full: without its audit nothing is done"
        return ""
