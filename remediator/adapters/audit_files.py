"""The audit read back: every replica's files of a directory, merged by their time, from either end.

It streams: one line of each replica is in memory at a time (from the newest on, one block of lines). A replica's files
are opened at once, the newest first: rotation only ever moves a file to a higher number, so none can be missed or met
twice, and one that is dropped meanwhile is still read to its end. Lines that cannot be read are told with their place
and skipped, never fatal. Never writes: the files are the writer's (`audit.py`), who may be at work.
"""

import heapq
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from remediator.core.trail import Part, Record, TrailQuestion, part, seconds, written_at

_NAME = re.compile(r"audit-(?P<replica>.+)\.jsonl(?:\.(?P<number>[1-9]\d*))?")
_STAMP = re.compile(rb'\{"@timestamp":"([^"]{1,40})"')
_MOST_LINE_BYTES = 8 * 1024**2
_TAIL_BYTES = 256 * 1024
_BLOCK_BYTES = 1024**2
_BEYOND = 3
"""So many numbers are tried beyond the last file that was found: a rotation may be under way."""
UNFINISHED = "half a line: it is being written, or its writer was killed"


@dataclass(frozen=True, slots=True)
class Line:
    """A record and where it stands."""

    at: float
    """Unix seconds of its `@timestamp`."""
    record: Record
    replica: str
    """As the file's name has it."""
    file: str
    number: int
    """Counts from 1."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that says nothing to us, or a whole file (number 0)."""

    replica: str
    file: str
    number: int
    why: str


Told = Callable[[Unreadable], None]
Words = Sequence[str]


def _nobody(unreadable: Unreadable) -> None:
    """For who does not ask."""


class AuditFiles:
    """The audit files of one directory, of one replica (its identity) or of all."""

    def __init__(self, directory: Path, identity: str | None = None) -> None:
        self._directory = directory
        self._only = None if identity is None else identity.replace("/", "_")

    def lines(
        self, since: float | None = None, until: float | None = None, unreadable: Told = _nobody
    ) -> Iterator[Line]:
        """Lines with since <= `@timestamp` < until (unix seconds), merged over replicas, each in its file's order.

        `unreadable` is told of lines and files that cannot be read; files that lie outside the range are not looked
        into. Raises OSError when the directory itself cannot be read.
        """
        span = _span(since, until)
        with ExitStack() as keep:
            replicas = sorted(self._highest().items())
            opened = [file for name, highest in replicas for file in self._opened(name, highest, keep, unreadable)]
            streams = [_in_order([f for f in opened if f.replica == name], span, unreadable) for name, _ in replicas]
            yield from (line for _, line in heapq.merge(*streams, key=lambda pair: pair[0]))

    def newest(
        self, before: float = float("inf"), since: float | None = None, until: float | None = None, words: Words = ()
    ) -> Iterator[tuple[float, Record | None]]:
        """(time, record), newest first, of since <= `@timestamp` < until and not younger than `before`.

        The record is None where the line cannot be read, or where no string of it ends with one of the `words`. The
        time never rises: a line that was written before another is not younger, whatever the clock said.
        """
        span = _span(since, until)
        needles = tuple(json.dumps(word)[1:].encode() for word in words)
        with ExitStack() as keep:
            replicas = sorted(self._highest().items())
            opened = [file for name, highest in replicas for file in self._opened(name, highest, keep, _nobody)]
            streams = [
                _backwards([f for f in reversed(opened) if f.replica == name], span, before, needles)
                for name, _ in replicas
            ]
            yield from heapq.merge(*streams, key=lambda pair: -pair[0])

    def page(self, server: str, asked: TrailQuestion, *, seconds: float) -> Part:
        """What these files have of a page, as far as one gets in so many seconds."""
        wanted = asked.filter
        end = time.monotonic() + seconds
        lines = self.newest(asked.position.at, wanted.since, wanted.until, wanted.words)
        return part(server, lines, asked, lambda: time.monotonic() > end)

    def replicas(self) -> list[str]:
        """Whose files are here."""
        return sorted(self._highest())

    def _highest(self) -> dict[str, int]:
        """Replica -> the highest number of its rotated files."""
        found: dict[str, int] = {}
        for path in self._directory.iterdir():
            named = _NAME.fullmatch(path.name)
            if named and self._only in (None, named["replica"]):
                found[named["replica"]] = max(found.get(named["replica"], 0), int(named["number"] or 0))
        return found

    def _opened(self, replica: str, highest: int, keep: ExitStack, unreadable: Told) -> "list[_File]":
        """The replica's files, oldest first; opened newest first, and one that moved meanwhile counts once."""
        found: dict[tuple[int, int], _File] = {}
        number = 0
        while number <= highest + _BEYOND:
            name = f"audit-{replica}.jsonl" + (f".{number}" if number else "")
            try:
                file = keep.enter_context((self._directory / name).open("rb"))
                status = os.fstat(file.fileno())
                found.setdefault((status.st_dev, status.st_ino), _File(replica, name, file))
                highest = max(highest, number)
            except FileNotFoundError:
                pass
            except OSError as error:
                unreadable(Unreadable(replica, name, 0, f"cannot be read: {error.strerror or error}"))
            number += 1
        return list(reversed(found.values()))


@dataclass(frozen=True, slots=True)
class _Span:
    since: float
    until: float

    def holds(self, at: float) -> bool:
        return self.since <= at < self.until

    def misses(self, first: float | None, last: float | None) -> bool:
        """Nothing between these two times is in it."""
        return (first is not None and first >= self.until) or (last is not None and last < self.since)


def _span(since: float | None, until: float | None) -> _Span:
    return _Span(float("-inf") if since is None else since, float("inf") if until is None else until)


@dataclass(frozen=True, slots=True)
class _File:
    replica: str
    name: str
    content: BinaryIO

    def ends(self) -> tuple[float | None, float | None]:
        """Times of its first and of its last line, where they say one."""
        first = _stamp(self.content.readline(_MOST_LINE_BYTES))
        self.content.seek(max(0, self.content.seek(0, os.SEEK_END) - _TAIL_BYTES))
        times = (_stamp(line) for line in reversed(self.content.readlines()))
        last = next((at for at in times if at is not None), None)
        self.content.seek(0)
        return first, last

    def lines(self, span: _Span, unreadable: Told) -> Iterator[Line]:
        """Its lines in the range."""
        number = 0
        while raw := self.content.readline(_MOST_LINE_BYTES):
            number += 1
            at = _stamp(raw)
            if at is not None and not span.holds(at):
                continue
            found = _read(raw)
            if isinstance(found, str):
                unreadable(Unreadable(self.replica, self.name, number, found))
            elif span.holds(found[0]):
                yield Line(*found, self.replica, self.name, number)

    def from_the_end(self) -> Iterator[bytes]:
        """Its whole lines, the last one first."""
        end, kept = self.content.seek(0, os.SEEK_END), b""
        while end > 0:
            begin = max(0, end - _BLOCK_BYTES)
            self.content.seek(begin)
            first, *lines = (self.content.read(end - begin) + kept).splitlines(keepends=True) or [b""]
            yield from reversed(lines)
            end, kept = begin, first if len(first) < _MOST_LINE_BYTES else b""
        if kept:
            yield kept


def _in_order(files: Sequence[_File], span: _Span, unreadable: Told) -> Iterator[tuple[tuple[float, str], Line]]:
    """A replica's lines as they were written, with the key to merge by: its clock may have been set back."""
    latest = float("-inf")
    for file in files:
        if span.misses(*file.ends()):
            continue
        for line in file.lines(span, unreadable):
            latest = max(latest, line.at)
            yield (latest, line.replica), line


def _backwards(
    files: Sequence[_File], span: _Span, before: float, needles: Sequence[bytes]
) -> Iterator[tuple[float, Record | None]]:
    """A replica's lines, the last one first."""
    earliest = float("inf")
    for file in files:
        first, last = file.ends()
        if span.misses(first, last) or (first is not None and last is not None and min(first, last, earliest) > before):
            continue
        for raw in file.from_the_end():
            at = _stamp(raw)
            earliest = min(earliest, earliest if at is None else at)
            if earliest <= before and (at is None or span.holds(at)):
                found = _read(raw) if all(needle in raw for needle in needles) else ""
                yield earliest, None if isinstance(found, str) else found[1]


def _stamp(raw: bytes) -> float | None:
    """Unix seconds of a line as our writer begins it, without reading the rest of it."""
    found = _STAMP.match(raw)
    return None if found is None else seconds(found[1].decode("ascii", "replace"))


def _read(raw: bytes) -> tuple[float, Record] | str:
    """(time, record), or why it is none."""
    if not raw.endswith(b"\n"):
        return UNFINISHED if len(raw) < _MOST_LINE_BYTES else f"longer than {_MOST_LINE_BYTES} bytes"
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return f"no JSON: {error}"
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
        return "no record of ours: it has no kind"
    at = written_at(record)
    return "no record of ours: its @timestamp is no time with its zone" if at is None else (at, record)
