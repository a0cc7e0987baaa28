"""The audit as it is asked for: which records, newest first, a page at a time, several servers' answers made one.

Every server gives what it has; the pages are cut so that none is given twice and none is left out, also when a server
did not get to the end of its files in time. Pure: where records come from and who is asked is others' business.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Record = Mapping[str, Any]
KINDS = (
    *("decision", "intent", "result", "abandoned", "outcome", "operator"),
    *("level", "watching", "oom_kill", "kubelet_eviction"),
)
MOST_RECORDS = 1000
_LINES_BETWEEN_LOOKS_AT_THE_TIME = 64


@dataclass(frozen=True, slots=True)
class Subject:
    """What a record is about beside its node; a part that does not apply is empty."""

    action: str = ""
    namespace: str = ""
    pod: str = ""
    workload: str = ""
    """namespace/Kind/name."""


@dataclass(frozen=True, slots=True)
class TrailFilter:
    """Which records; what is empty does not narrow. All that is given must hold.

    Namespace, pod, workload and action hold together for one pod that was acted on, is in the plan, or (without an
    action) stands in the ranking of the decision.
    """

    node: str = ""
    episode: str = ""
    plan: str = ""
    action: str = ""
    namespace: str = ""
    pod: str = ""
    workload: str = ""
    """namespace/Kind/name, Kind/name, or name."""
    kinds: tuple[str, ...] = ()
    since: float | None = None
    """Unix seconds of `@timestamp`; the earliest that counts."""
    until: float | None = None
    """The first that does not."""

    def wants(self, record: Record) -> bool:
        """Whether the record is asked for, whenever it was written."""
        return (
            (not self.kinds or record.get("kind") in self.kinds)
            and self.node in ("", record.get("node"))
            and self.episode in ("", episode_of(record))
            and self.plan in ("", plan_of(record))
            and (not self._narrows or any(map(self._about, subjects(record))))
        )

    @property
    def words(self) -> tuple[str, ...]:
        """Texts with which strings of a wanted record surely end: what holds none of them need not be read."""
        kind = self.kinds[0] if len(self.kinds) == 1 else ""
        given = (self.node, self.episode, self.plan, self.action, self.namespace, self.pod, self.workload, kind)
        return tuple(filter(None, given))

    @property
    def _narrows(self) -> bool:
        return bool(self.action or self.namespace or self.pod or self.workload)

    def _about(self, subject: Subject) -> bool:
        return (
            self.action in ("", subject.action)
            and self.namespace in ("", subject.namespace)
            and self.pod in ("", subject.pod)
            and (not self.workload or f"/{subject.workload}".endswith(f"/{self.workload}"))
        )


def episode_of(record: Record) -> str:
    """Id of the episode it belongs to; empty when there is none."""
    return _text(record, "episode_id") or _text(_inner(record, "state"), "episode_id")


def plan_of(record: Record) -> str:
    """Id of the plan it belongs to; an operator's word names it `plan`."""
    return _text(record, "plan_id") or _text(_inner(record, "plan"), "id") or _text(record, "plan")


def writer_of(record: Record) -> str:
    """Identity of the replica that wrote it."""
    return _text(record, "replica")


def written_at(record: Record) -> float | None:
    """Unix seconds of its `@timestamp`; None when that is no time with its zone."""
    return seconds(_text(record, "@timestamp"))


def seconds(written: str) -> float | None:
    """Unix seconds of an RFC 3339 time; None when it is none, or has no zone."""
    try:
        at = datetime.fromisoformat(written)
        return at.timestamp() if at.tzinfo else None
    except (ValueError, OverflowError):
        return None


def subjects(record: Record) -> Iterator[Subject]:
    """Everything it is about."""
    for action in filter(None, (_inner(record, "action"), *_rows(_inner(record, "plan"), "actions"))):
        yield _subject(action, _text(action, "kind"))
    for row in _rows(record, "ranking"):
        yield _subject(row, "")
    workloads = record.get("workloads")
    for workload in workloads if isinstance(workloads, list) else ():
        yield Subject("", str(workload).partition("/")[0], "", str(workload))


def _subject(row: Record, action: str) -> Subject:
    return Subject(action, _text(row, "namespace"), _text(row, "pod"), _text(row, "workload"))


def _text(record: Record, name: str) -> str:
    found = record.get(name)
    return found if isinstance(found, str) else ""


def _inner(record: Record, name: str) -> Record:
    found = record.get(name)
    return found if isinstance(found, Mapping) else {}


def _rows(record: Record, name: str) -> list[Record]:
    found = record.get(name)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


# --- pages ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Position:
    """How far somebody has read: all that is younger than `at`, and of that very moment so many of each writer."""

    at: float = float("inf")
    given: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrailQuestion:
    """One page of the records that a filter wants, newest first."""

    filter: TrailFilter = TrailFilter()
    limit: int = 100
    position: Position = Position()
    local: bool = False
    """Only what the asked server has itself."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one server has, newest first."""

    server: str
    records: Sequence[tuple[float, Record]]
    """(unix seconds, record), at most as many as were asked for."""
    looked_back_to: float | None
    """What is older was not looked at; None: everything was."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A server that could not be asked, and why."""

    server: str
    why: str


@dataclass(frozen=True, slots=True)
class Trail:
    """One page, of everybody who answered."""

    records: tuple[Record, ...]
    """Newest first."""
    servers: tuple[str, ...]
    missing: tuple[Missing, ...] = ()
    next: Position | None = None
    """Where the next page begins; None: there is nothing more. A page may be empty and yet have a next one."""


def part(
    server: str, lines: Iterable[tuple[float, Record | None]], asked: TrailQuestion, time_is_up: Callable[[], bool]
) -> Part:
    """One server's part of a page, of its lines from the position on, newest first (None: surely not wanted).

    Ends when there are enough, or when the time is up and some way was made.
    """
    found: list[tuple[float, Record]] = []
    again: Counter[str] = Counter()
    for number, (at, record) in enumerate(lines, 1):
        if record is not None and asked.filter.wants(record):
            writer = writer_of(record)
            if at == asked.position.at and again[writer] < asked.position.given.get(writer, 0):
                again[writer] += 1
                continue
            found.append((at, record))
            if len(found) == asked.limit:
                return Part(server, found, at)
        if number % _LINES_BETWEEN_LOOKS_AT_THE_TIME == 0 and at < asked.position.at and time_is_up():
            return Part(server, found, at)
    return Part(server, found, None)


def merged(parts: Sequence[Part], asked: TrailQuestion, missing: Sequence[Missing] = ()) -> Trail:
    """The page: as far as everybody has looked. What two servers have of one writer counts once."""
    horizon = max((each.looked_back_to for each in parts if each.looked_back_to is not None), default=None)
    rows = sorted(_within(parts, horizon), key=lambda row: (-row[0], writer_of(row[1])))
    page = rows[: asked.limit]
    servers = tuple(each.server for each in parts)
    if horizon is None and len(rows) == len(page):
        return Trail(tuple(record for _, record in page), servers, tuple(missing))
    end = page[-1][0] if len(page) == asked.limit or horizon is None else horizon
    given = Counter(writer_of(record) for at, record in page if at == end)
    if end == asked.position.at:
        given.update(asked.position.given)
    return Trail(tuple(record for _, record in page), servers, tuple(missing), Position(end, dict(given)))


def _within(parts: Sequence[Part], horizon: float | None) -> Iterator[tuple[float, Record]]:
    """What surely has nothing unknown before it."""
    owner: dict[str, str] = {}
    for each in parts:
        for at, record in each.records:
            known = horizon is None or at > horizon or (at == horizon and each.looked_back_to == horizon)
            if known and owner.setdefault(writer_of(record), each.server) == each.server:
                yield at, record
