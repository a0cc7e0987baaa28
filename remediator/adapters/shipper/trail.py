"""One replica's audit files as one run of lines: where we are in it, how much is left, what rotation took before us.

Never locks or waits for the writer. Files are opened the newest first, as rotation only ever moves a file to a higher
number: none is missed, and one that moves meanwhile is met twice and counted once. Lines are counted in each file
while it is still there, for nobody can count those of a file that is gone.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from remediator.core.audit_names import file_identity, line_identity, rotated_name

_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Counted:
    """So many bytes of a file were looked at, with so many lines in them."""

    bytes: int = 0
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Cursor:
    """Everything before this place is settled."""

    file: str = ""
    """Identity of the file; empty: nothing was read yet."""
    offset: int = 0
    line: int = 0
    """Lines of the file before the offset."""
    last_offset: int = 0
    last: str = ""
    """Where the line before the offset begins, and its identity: the writer takes back a line that it could not keep
    whole, and may have written another one since."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines that follow one another, and where the next one begins."""

    lines: tuple[tuple[str, bytes], ...] = ()
    """(identity, line with its end)."""
    after: Cursor = field(default_factory=Cursor)


@dataclass(slots=True)
class _File:
    identity: str
    size: int
    bytes: BinaryIO


class Trail:
    """Audit files of one replica, read forward. Not for several threads."""

    def __init__(self, directory: Path, identity: str, *, max_files: int, batch_bytes: int, batch_lines: int) -> None:
        self._paths = [directory / rotated_name(identity, number) for number in range(max_files + 1)]
        self._batch_bytes, self._batch_lines = batch_bytes, batch_lines
        self.counted: dict[str, Counted] = {}
        """Files from the settled place on, the oldest first."""
        self.backlog_bytes = 0
        """What lay behind the head at the last look."""

    def look(self, settled: Cursor, head: Cursor) -> tuple[Batch, int, bool]:
        """(lines after `head`, lines that rotation took unread, whether files came or went). Raises OSError.

        `settled`..`head` is a batch that waits in memory: its lines are not lost with their file, and none are read
        until it is settled.
        """
        with ExitStack() as keep:
            files, before, waits = list(self._opened(keep)), set(self.counted), head != settled
            lost = self._lost(files, settled, head)
            head = _place(files, head)
            current = [file.identity for file in files]
            files = files[current.index(head.file) :] if head.file else files
            self._count(files)
            self.backlog_bytes = sum(file.size for file in files) - head.offset
            batch = Batch((), head) if waits else self._batch(files, head)
            return batch, lost, bool(lost) or set(self.counted) != before

    def forget(self, settled: Cursor) -> None:
        """Drop what was counted in files that are wholly settled."""
        names = list(self.counted)
        for name in names[: names.index(settled.file)] if settled.file in names else []:
            del self.counted[name]

    def _opened(self, keep: ExitStack) -> Iterator[_File]:
        """The oldest first; a file without a whole line is not there yet."""
        found: dict[str, _File] = {}
        for path in self._paths:
            try:
                file = keep.enter_context(path.open("rb"))
            except FileNotFoundError:
                continue
            first = file.readline()
            if first.endswith(b"\n"):
                identity = file_identity(first)
                found.setdefault(identity, _File(identity, os.fstat(file.fileno()).st_size, file))
        return reversed(found.values())

    def _lost(self, files: list[_File], settled: Cursor, head: Cursor) -> int:
        """Lines of files that are gone and were not read; they are counted once."""
        lost, there = 0, {file.identity for file in files}
        for name in [name for name in self.counted if name not in there]:
            read = head.line if name == head.file else 0
            lost += max(0, self.counted[name].lines - read)
            if name == settled.file and head != settled:
                self.counted[name] = replace(self.counted[name], lines=read)
            else:
                del self.counted[name]
        return lost

    def _count(self, files: list[_File]) -> None:
        for file in files:
            seen = self.counted.get(file.identity, Counted())
            if file.size > seen.bytes:
                file.bytes.seek(seen.bytes)
                self.counted[file.identity] = _counted(file, seen)

    def _batch(self, files: list[_File], head: Cursor) -> Batch:
        """Whole lines of one file: those at the head, or of the next file when the head's is at its end."""
        for file in files:
            at = _still_true(file, head) if file.identity == head.file else Cursor(file.identity)
            file.bytes.seek(at.offset)
            lines = file.bytes.readlines(self._batch_bytes)[: self._batch_lines]
            if lines and not lines[-1].endswith(b"\n"):
                lines.pop()
            if lines:
                return _batch(at, lines)
        return Batch((), head)


def _place(files: list[_File], head: Cursor) -> Cursor:
    """The head; where its file is gone, the beginning of the oldest that is left."""
    if any(file.identity == head.file for file in files):
        return head
    return Cursor(files[0].identity) if files else Cursor()


def _batch(at: Cursor, lines: list[bytes]) -> Batch:
    start, end, named = at.offset, at.offset, []
    for line in lines:
        start, end = end, end + len(line)
        named.append((line_identity(at.file, start, line), line))
    return Batch(tuple(named), Cursor(at.file, end, at.line + len(lines), start, named[-1][0]))


def _counted(file: _File, seen: Counted) -> Counted:
    """Goes on counting up to the size that the file had when it was opened."""
    left, lines = file.size - seen.bytes, seen.lines
    while left and (chunk := file.bytes.read(min(left, _CHUNK_BYTES))):
        left, lines = left - len(chunk), lines + chunk.count(b"\n")
    return Counted(file.size - left, lines)


def _still_true(file: _File, head: Cursor) -> Cursor:
    """The head, or the beginning of its last line when that is not the line that was read."""
    file.bytes.seek(head.last_offset)
    last = file.bytes.read(head.offset - head.last_offset)
    if line_identity(file.identity, head.last_offset, last) == head.last or not head.offset:
        return head
    return Cursor(head.file, head.last_offset, head.line - 1)


def as_json(settled: Cursor, counted: Mapping[str, Counted]) -> dict[str, object]:
    """What outlives us."""
    return {
        "version": 1,
        **asdict(settled),
        "counted": [[name, each.bytes, each.lines] for name, each in counted.items()],
    }


def from_json(kept: Mapping[str, Any]) -> tuple[Cursor, dict[str, Counted]]:
    """(where we were, what was counted); ValueError, KeyError or TypeError when it is not ours."""
    if kept["version"] != 1:
        raise ValueError("an unknown version")
    offset, line, last_offset = (int(kept[name]) for name in ("offset", "line", "last_offset"))
    place = Cursor(str(kept["file"]), offset, line, last_offset, str(kept["last"]))
    return place, {str(name): Counted(int(size), int(lines)) for name, size, lines in kept["counted"]}
