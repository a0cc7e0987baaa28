"""Audit lines on standard output: marked, whole, and never in anybody's way."""

import json
import os

from prometheus_client import REGISTRY

from remediator.adapters.audit import JsonLinesAudit
from remediator.adapters.audit_stdout import StdoutCopies


def dropped() -> float:
    """Copies that were not written."""
    return REGISTRY.get_sample_value("remediator_audit_stdout_dropped_total") or 0.0


def test_each_line_of_the_file_is_copied_with_a_mark(tmp_path):
    """What is on standard output is what is in the file, and says that it is audit."""
    with (tmp_path / "stdout").open("wb") as stream:
        copies = StdoutCopies(stream.fileno())
        audit = JsonLinesAudit(tmp_path, "r", copy=copies.put)
        for number in range(3):
            audit.write({"kind": "intent", "number": number})
        copies.close()
    told = [json.loads(line) for line in (tmp_path / "stdout").read_text().splitlines()]
    assert [line.pop("event.dataset") for line in told] == ["remediator.audit"] * 3
    assert told == [json.loads(line) for line in audit.path.read_text().splitlines()]


def test_a_reader_that_has_stopped_holds_up_no_line_of_the_file(tmp_path):
    """A full pipe: every line is in the file, what the queue cannot hold is counted, and closing comes to an end."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"):
        copies = StdoutCopies(writer, queue_length=4)
        before = dropped()
        audit = JsonLinesAudit(tmp_path, "r", copy=copies.put)
        for number in range(300):
            audit.write({"kind": "decision", "number": number, "text": "x" * 1000})
        assert len(audit.path.read_text().splitlines()) == 300
        assert dropped() - before > 100
        copies.close()


def test_a_reader_that_is_gone_stops_the_copies_alone(tmp_path):
    """A broken pipe: the file goes on, the copies are counted."""
    reader, writer = os.pipe()
    os.close(reader)
    before = dropped()
    copies = StdoutCopies(writer)
    audit = JsonLinesAudit(tmp_path, "r", copy=copies.put)
    for number in range(5):
        audit.write({"kind": "decision", "number": number})
    copies.close()
    os.close(writer)
    assert len(audit.path.read_text().splitlines()) == 5
    assert dropped() - before == 5
