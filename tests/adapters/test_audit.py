"""The audit file: every line kept, or nothing may be done."""

import json

import pytest

from remediator.adapters.audit import JsonLinesAudit
from remediator.core.fences import AuditUnavailableError


def lines(directory) -> list[dict]:
    files = sorted(directory.glob("audit-*"), reverse=True)
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def test_each_record_is_one_line_with_its_time(tmp_path):
    """JSON lines, stamped, in order."""
    audit = JsonLinesAudit(tmp_path, "replica-0")
    for number in range(3):
        audit.write({"kind": "intent", "number": number})
    audit.close()
    assert [line["number"] for line in lines(tmp_path)] == [0, 1, 2]
    assert all("@timestamp" in line for line in lines(tmp_path))


def test_a_full_file_is_rotated_and_nothing_is_lost(tmp_path):
    """Rotation by size keeps the lines in numbered files."""
    audit = JsonLinesAudit(tmp_path, "r", max_bytes=300, max_files=20)
    for number in range(12):
        audit.write({"kind": "decision", "number": number})
    audit.close()
    assert sorted(line["number"] for line in lines(tmp_path)) == list(range(12))
    assert len(list(tmp_path.glob("audit-*"))) > 1


def test_a_line_that_cannot_be_kept_is_an_error(tmp_path):
    """Where the directory cannot be made, writing raises: an act without its intent line is not allowed."""
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditUnavailableError):
        JsonLinesAudit(tmp_path / "file", "r").write({"kind": "intent"})
    assert JsonLinesAudit(tmp_path / "file", "r").ready()


def act(kind: str, plan: str, pod: str) -> dict:
    """A line of that kind about evicting a pod."""
    return {"kind": kind, "plan_id": plan, "action": {"kind": "evict", "pod_uid": pod}}


def test_what_a_killed_predecessor_announced_gets_an_end(tmp_path):
    """Answered intents are left alone; an open one is closed once, before the first new line, and half a line goes."""
    before = JsonLinesAudit(tmp_path, "a")
    for kind, plan, pod in (
        ("intent", "p1", "u1"),
        ("result", "p1", "u1"),
        ("intent", "p1", "u2"),
        ("intent", "p2", "u2"),
    ):
        before.write(act(kind, plan, pod))
    before.write(act("result", "p2", "u2"))
    with before.path.open("ab") as file:
        file.write(b'{"kind":"resu')
    JsonLinesAudit(tmp_path, "a").begin()
    for _ in range(2):
        JsonLinesAudit(tmp_path, "a").write({"kind": "decision"})
    lines = [json.loads(line) for line in before.path.read_text().splitlines()]
    assert [line["kind"] for line in lines[5:]] == ["abandoned", "decision", "decision"]
    assert (lines[5]["plan_id"], lines[5]["action"]["pod_uid"]) == ("p1", "u2")
    assert "killed" in lines[5]["detail"]


def test_a_file_of_others_is_no_obstacle(tmp_path):
    """Lines that are no JSON, or another JSON, are left where they are."""
    path = JsonLinesAudit(tmp_path, "a").path
    path.write_text('nonsense\n[1]\n{"kind": "intent"}\n{"action": 1, "kind": "result"}\n')
    JsonLinesAudit(tmp_path, "a").write({"kind": "decision"})
    assert path.read_text().count("\n") == 5
