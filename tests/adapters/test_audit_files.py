"""The audit read back from real files, with rotation at work."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remediator.adapters.audit import JsonLinesAudit
from remediator.adapters.audit_files import AuditFiles, Unreadable
from remediator.core.trail import Position, TrailFilter, TrailQuestion, merged

START = datetime(2026, 12, 1, tzinfo=UTC).timestamp()


class Clock:
    """A clock that is set by the test."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(START + self.at, UTC)


def written(directory: Path, replica: str, times: list[float], *, max_bytes: int = 10**9) -> None:
    """One line for each of these seconds."""
    clock = Clock()
    audit = JsonLinesAudit(directory, replica, max_bytes=max_bytes, max_files=99, now=clock)
    for number, clock.at in enumerate(times):
        audit.write({"kind": "decision", "number": number, "replica": replica})
    audit.close()


@settings(max_examples=30)
@given(
    times=st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 50), max_size=30).map(sorted), min_size=1),
    max_bytes=st.sampled_from([1, 300, 10**9]),
    since=st.none() | st.integers(0, 50),
    until=st.none() | st.integers(0, 50),
)
def test_all_replicas_are_read_in_the_order_of_time(tmp_path_factory, times, max_bytes, since, until):
    """However the lines are spread over replicas and files: each in the range once, oldest first."""
    directory = tmp_path_factory.mktemp("audit")
    for replica, seconds in times.items():
        written(directory, replica, seconds, max_bytes=max_bytes)
    low, high = (None if each is None else START + each for each in (since, until))
    found = list(AuditFiles(directory).lines(low, high))
    wanted = sorted(
        (at, replica, number)
        for replica, seconds in times.items()
        for number, at in enumerate(seconds)
        if (since is None or at >= since) and (until is None or at < until)
    )
    assert [(line.at - START, line.replica, line.record["number"]) for line in found] == wanted


def test_a_clock_that_was_set_back_does_not_scatter_a_replicas_lines(tmp_path):
    """What one replica wrote stays in its order, whatever its clock said."""
    written(tmp_path, "a", [10, 11, 2, 3, 12])
    written(tmp_path, "b", [11.5])
    found = [(line.replica, line.at - START) for line in AuditFiles(tmp_path).lines()]
    assert [at for replica, at in found if replica == "a"] == [10, 11, 2, 3, 12]
    assert found.index(("b", 11.5)) == 4


def test_what_cannot_be_read_is_told_with_its_place_and_skipped(tmp_path):
    """Torn and foreign lines name file, number and reason; the others are read."""
    written(tmp_path, "a", [1, 2])
    path = tmp_path / "audit-a.jsonl"
    stamp = datetime.fromtimestamp(START + 3, UTC).isoformat()
    bad = ["nonsense", "[1]", '{"a": 1}', '{"kind": "x", "@timestamp": "2026-12-01"}', "\0\0\0", '"\xff"']
    good = json.dumps({"kind": "decision", "@timestamp": stamp})
    path.write_bytes(path.read_bytes() + "\n".join([*bad, good, '{"@times']).encode("latin-1"))
    (tmp_path / "audit-shipped.json").write_text("another's")
    told: list[Unreadable] = []
    assert [line.number for line in AuditFiles(tmp_path).lines(unreadable=told.append)] == [1, 2, 9]
    assert [(each.file, each.number) for each in told] == [("audit-a.jsonl", n) for n in (3, 4, 5, 6, 7, 8, 10)]
    assert "half a line" in told[-1].why and all(each.why for each in told)


def test_one_replica_alone_is_read(tmp_path):
    """Given an identity, whatever others keep in the directory is left alone."""
    written(tmp_path, "team_a", [1])
    written(tmp_path, "team_a2", [2])
    assert [line.replica for line in AuditFiles(tmp_path, "team/a").lines()] == ["team_a"]
    assert AuditFiles(tmp_path).replicas() == ["team_a", "team_a2"]


def test_a_directory_that_is_not_there_is_an_error(tmp_path):
    """Nothing to read is told, not taken for an empty audit."""
    with pytest.raises(OSError):
        list(AuditFiles(tmp_path / "nowhere").lines())


WRITER = """
import sys
from pathlib import Path
from remediator.adapters.audit import JsonLinesAudit
audit = JsonLinesAudit(Path(sys.argv[1]), "a", max_bytes=20_000, max_files=200)
for number in range(10_000):
    audit.write({"kind": "decision", "number": number})
"""


def test_rotation_while_it_is_read_loses_and_doubles_nothing(tmp_path):
    """A writer that rotates every few lines: each reading is the whole beginning of what was written, no line twice."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)]) as writer:
        readings, running = [], True
        while running:
            running = writer.poll() is None
            told: list[Unreadable] = []
            numbers = [line.record["number"] for line in AuditFiles(tmp_path).lines(unreadable=told.append)]
            assert numbers == list(range(len(numbers)))
            assert all("half a line" in each.why for each in told)
            readings.append(len(numbers))
    assert readings[-1] == 10_000
    assert len(set(readings)) > 2


@settings(max_examples=30)
@given(
    times=st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 50), max_size=30).map(sorted), min_size=1),
    max_bytes=st.sampled_from([1, 300, 10**9]),
    limit=st.integers(1, 20),
    block=st.sampled_from([1, 10, 2**20]),
)
def test_pages_from_the_end_give_every_record_once(tmp_path_factory, times, max_bytes, limit, block):
    """Over files, replicas and blocks, however small the pages: the last line of each replica comes first."""
    directory = tmp_path_factory.mktemp("audit")
    for replica, seconds in times.items():
        written(directory, replica, seconds, max_bytes=max_bytes)
    found, place = [], Position()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("remediator.adapters.audit_files._BLOCK_BYTES", block)
        while place is not None:
            asked = TrailQuestion(limit=limit, position=place)
            answer = merged([AuditFiles(directory).page("s", asked, seconds=0.0)], asked)
            found += answer.records
            place = answer.next
    for replica, seconds in times.items():
        numbers = [record["number"] for record in found if record["replica"] == replica]
        assert numbers == list(reversed(range(len(seconds))))
    assert len(found) == sum(map(len, times.values()))


def test_from_the_end_only_what_is_asked_for_is_read(tmp_path):
    """Range and filter hold; a half line at the end and foreign ones are passed over."""
    written(tmp_path, "a", [1, 2, 3, 4])
    (tmp_path / "audit-a.jsonl").open("ab").write(b'nonsense\n{"@times')
    wanted = TrailFilter(kinds=("decision",), since=START + 2, until=START + 4)
    answer = AuditFiles(tmp_path).page("s", TrailQuestion(wanted), seconds=1.0)
    assert [record["number"] for _, record in answer.records] == [2, 1]
    assert answer.looked_back_to is None
    assert not AuditFiles(tmp_path).page("s", TrailQuestion(TrailFilter(node="n1")), seconds=1.0).records
