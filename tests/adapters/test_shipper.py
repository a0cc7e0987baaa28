"""The shipper against a server that answers as Elasticsearch does: every line once, whatever happens."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from remediator.adapters.audit import JsonLinesAudit
from remediator.adapters.shipper import Bulk, Files, Shipper, Target
from remediator.adapters.shipper.shipping import POLL_SECONDS
from remediator.core.state import Notice
from tests.adapters import shipper_process
from tests.adapters.elastic import MISFORTUNES, Elastic, serving
from tests.adapters.shipper_process import record

HOUR_SECONDS = 3600.0


@pytest.fixture
def elastic() -> Iterator[Elastic]:
    """The server."""
    with serving(Elastic()) as served:
        yield served


class Replica:
    """A writer and its shipper, stepped by hand: no thread, no waiting."""

    def __init__(self, directory: Path, elastic: Elastic, *, max_bytes=2000, max_files=1000, **target) -> None:
        self.files = Files(directory, "r", max_bytes, max_files)
        self.audit = JsonLinesAudit(directory, "r", max_bytes=max_bytes, max_files=max_files)
        self.bulk = Bulk(Target((elastic.url,), **target))
        self.told: list[Notice] = []
        self.written = 0
        self.restart()

    def restart(self) -> None:
        """A new shipper that knows what is on disk, as after SIGKILL."""
        self.shipper = Shipper(self.files, self.bulk.send, "audit", self.told.append, batch_bytes=900, batch_lines=5)

    def write(self, lines: int = 1) -> None:
        """So many more lines."""
        for _ in range(lines):
            self.audit.write(record(self.written))
            self.written += 1

    def lines(self) -> list[str]:
        """Every line that rotation has kept."""
        paths = self.files.directory.glob("audit-r.jsonl*")
        return [line for path in paths for line in path.read_text().splitlines()]

    def drain(self, most: int = 2000) -> float:
        """Step until nothing is left; the seconds that would have been waited."""
        waited = 0.0
        for _ in range(most):
            pause = self.shipper.step()
            if pause == POLL_SECONDS and not self.shipper._waiting:
                return waited
            waited += pause
        raise AssertionError("not drained")

    def rejected(self) -> list[dict[str, str]]:
        """The lines that were set aside."""
        return [json.loads(line) for line in (self.files.directory / "rejected-r.jsonl").read_text().splitlines()]


def count(name: str) -> float:
    """A metric now."""
    return REGISTRY.get_sample_value(f"remediator_audit_{name}") or 0.0


@pytest.fixture
def replica(tmp_path: Path, elastic: Elastic) -> Replica:
    """A replica of that server."""
    return Replica(tmp_path, elastic)


def test_every_line_becomes_one_document_over_rotations_and_a_restart(replica, elastic):
    """Several files, then a restart: what is there is not sent again, what is new is."""
    before = count("shipped_lines_total")
    replica.write(40)
    replica.drain()
    requests = len(elastic.headers)
    replica.restart()
    replica.write(3)
    replica.drain()
    assert sorted(elastic.lines()) == sorted(replica.lines())
    assert len(replica.lines()) == 43
    assert len(elastic.headers) == requests + 1
    assert count("shipped_lines_total") - before == 43
    assert count("backlog_ratio") == 0


@pytest.mark.parametrize("seed", range(12))
def test_no_fault_loses_or_doubles_a_line(replica, elastic, seed):
    """Answers that never came, torn or refused, items that were refused, rotations, restarts: each line once."""
    chance = random.Random(seed)  # noqa: S311 - a seed that repeats a failure
    elastic.item_fault = lambda identity, source: chance.choice((0, 0, 0, 429, 503, 403, 404))
    for _ in range(25):
        elastic.faults = chance.choices(MISFORTUNES, k=3)
        replica.write(chance.randrange(12))
        for _ in range(chance.randrange(4)):
            replica.shipper.step()
        if chance.random() < 0.3:
            replica.restart()
    elastic.faults, elastic.item_fault = [], lambda identity, source: 0
    replica.drain()
    assert sorted(elastic.lines()) == sorted(replica.lines())
    assert len(replica.lines()) == replica.written


def test_a_process_killed_at_any_moment_loses_and_doubles_nothing(tmp_path, elastic):
    """SIGKILL of writer and shipper again and again, under faults; the last life ships what is left."""
    chance = random.Random(7)  # noqa: S311 - a seed that repeats a failure
    first = 0
    for life in range(6):
        elastic.faults = chance.choices(MISFORTUNES, k=40)
        seen = len(elastic.headers)
        arguments = [str(tmp_path), elastic.url, str(first), str(life)]
        process = subprocess.Popen([sys.executable, "-m", shipper_process.__name__, *arguments])
        try:
            deadline = time.monotonic() + 30
            while len(elastic.headers) < seen + chance.randrange(5, 30) and time.monotonic() < deadline:
                time.sleep(0.01)
        finally:
            process.kill()
            process.wait()
        first += 10_000
    elastic.faults = []
    JsonLinesAudit(tmp_path, "r", max_bytes=4000, max_files=1000).begin()
    last = Shipper(shipper_process.files(tmp_path), Bulk(Target((elastic.url,))).send, "audit", print)
    while last.step() != POLL_SECONDS:
        pass
    lines = [line for path in tmp_path.glob("audit-*") for line in path.read_text().splitlines()]
    assert sorted(elastic.lines()) == sorted(lines)
    assert len(list(tmp_path.glob("audit-*"))) > 2


def test_hours_of_outage_are_waited_out_ever_more_slowly(replica, elastic):
    """The waits double up to a minute, so that hours cost few requests; then everything arrives."""
    elastic.faults = ["503"] * 200
    waited = 0.0
    while waited < 3 * HOUR_SECONDS:
        replica.write()
        waited += replica.shipper.step()
    assert len(elastic.headers) < 200
    elastic.faults = []
    replica.drain()
    assert sorted(elastic.lines()) == sorted(replica.lines())


def test_what_rotation_drops_unshipped_is_counted_and_told_once(tmp_path, elastic):
    """Shipped and lost lines are together those written, over a restart in the middle; one message, not one a line."""
    replica = Replica(tmp_path, elastic, max_files=4)
    before = count("lost_lines_total")
    replica.write(10)
    replica.drain()
    elastic.faults = ["503"] * 500
    for _ in range(120):
        replica.write()
        replica.shipper.step()
    assert count("backlog_ratio") > 0.5
    assert [notice.key for notice in replica.told] == ["audit-shipping-lost"]
    lost_so_far = count("lost_lines_total") - before
    waiting = len(replica.shipper._waiting)
    replica.restart()
    elastic.faults = []
    replica.drain()
    # The batch that waited in memory died with the shipper, and its file is gone.
    assert count("lost_lines_total") - before == lost_so_far + waiting
    assert len(elastic.lines()) + count("lost_lines_total") - before == replica.written
    assert set(replica.lines()) <= set(elastic.lines())


def test_a_batch_in_memory_outlives_its_file(tmp_path, elastic):
    """Lines that were read before rotation dropped their file arrive, and are not counted as lost."""
    replica = Replica(tmp_path, elastic, max_files=2)
    before = count("lost_lines_total")
    replica.write(5)
    elastic.faults = ["503"]
    replica.shipper.step()
    waiting = [document.line for document in replica.shipper._waiting]
    for _ in range(60):
        replica.write()
        replica.shipper._look()
    replica.drain()
    assert waiting
    assert set(waiting) <= set(elastic.lines())
    assert len(elastic.lines()) + count("lost_lines_total") - before == replica.written


def test_only_what_was_not_taken_is_sent_again(replica, elastic):
    """Of a request with an overloaded item the others are settled."""
    busy = {"left": 1}

    def once(identity, source):
        busy["left"] -= 1
        return 429 if busy["left"] == 0 else 0

    elastic.item_fault = once
    replica.write(5)
    assert replica.shipper.step() == 1.0
    assert len(replica.shipper._waiting) == 1
    replica.drain()
    assert sorted(elastic.lines()) == sorted(replica.lines())


def test_a_line_that_does_not_fit_is_set_aside_with_the_reason(replica, elastic):
    """A mapping error, and a line that is no record, are counted and kept aside; the rest goes on."""
    before = count("rejected_lines_total")
    elastic.item_fault = lambda identity, source: 400 if source["host"]["name"] == "n2" else 0
    replica.write(6)
    with replica.audit.path.open("a") as file:
        file.write("no JSON\n")
    replica.write(1)
    replica.drain()
    aside = replica.rejected()
    assert len(elastic.lines()) == 6
    assert count("rejected_lines_total") - before == 2
    assert "document_parsing_exception" in aside[0]["reason"]
    assert json.loads(aside[0]["line"])["node"] == "n2"
    assert aside[1]["line"] == "no JSON"


@pytest.mark.parametrize("kind", ["validation_exception", "index_closed_exception"])
def test_a_fault_of_the_index_rejects_no_line(replica, elastic, monkeypatch, kind):
    """A cluster that is out of shards answers 400 as well; its lines wait."""
    monkeypatch.setitem(sys.modules["tests.adapters.elastic"].EXCEPTIONS, 400, (kind, "1000/1000 shards open"))
    elastic.item_fault = lambda identity, source: 400
    replica.write(3)
    assert replica.shipper.step() == 30.0
    elastic.item_fault = lambda identity, source: 0
    replica.drain()
    assert len(elastic.lines()) == 3
    assert not (replica.files.directory / "rejected-r.jsonl").exists()


def test_a_request_that_is_too_large_is_halved_until_it_fits(replica, elastic):
    """413 means fewer at once."""
    elastic.most_documents = 2
    replica.write(12)
    replica.drain()
    assert sorted(elastic.lines()) == sorted(replica.lines())


def test_a_single_line_that_is_too_large_is_set_aside(replica, elastic):
    """There is nothing left to halve."""
    elastic.most_documents = 0
    replica.write()
    replica.drain()
    assert "larger than the server takes" in replica.rejected()[0]["reason"]


@pytest.mark.parametrize("status", ["401", "403", "406", "404"])
def test_a_refusal_is_told_once_and_tried_slowly(replica, elastic, status):
    """Wrong credentials, too few rights, OpenSearch's 406, a wrong path: people are told, nothing is set aside."""
    elastic.faults = [status] * 10
    replica.write(3)
    pauses = [replica.shipper.step() for _ in range(6)]
    assert pauses == [30.0, 60.0, 120.0, 240.0, 300.0, 300.0]
    assert [notice.key for notice in replica.told] == ["audit-shipping-refused"]
    assert status in replica.told[0].text
    elastic.faults = []
    replica.drain()
    assert len(elastic.lines()) == 3


def test_a_server_that_is_not_elasticsearch_is_named(replica, elastic):
    """The official client asks for a header that only Elasticsearch sends."""
    elastic.product = ""
    replica.write()
    replica.shipper.step()
    assert "not Elasticsearch" in replica.told[0].text


def test_credentials_come_from_files_and_a_rotated_key_is_read(tmp_path, elastic):
    """After a refusal the file is read again; neither its content nor the URL's answer is in the message."""
    key = tmp_path / "key"
    key.write_text("old-secret:one\n")
    replica = Replica(tmp_path, elastic, api_key_file=key)
    elastic.faults = ["401"]
    replica.write()
    replica.shipper.step()
    key.write_text("bmV3OnR3bw==\n")
    replica.drain()
    sent = [headers["authorization"] for headers in elastic.headers]
    assert sent == ["ApiKey b2xkLXNlY3JldDpvbmU=", "ApiKey bmV3OnR3bw=="]
    assert "secret" not in str(replica.told)
    key.unlink()
    replica.write()
    replica.bulk.close()
    replica.shipper.step()
    assert "No such file" in replica.told[-1].text


def test_basic_auth_is_sent(tmp_path, elastic):
    """`user:password`, with a colon in the password."""
    auth = tmp_path / "auth"
    auth.write_text("elastic:a:b\n")
    replica = Replica(tmp_path, elastic, basic_auth_file=auth)
    replica.write()
    replica.drain()
    assert elastic.headers[0]["authorization"] == "Basic ZWxhc3RpYzphOmI="


def test_stopping_does_not_wait_for_an_answer(replica, elastic):
    """`close` returns while the server still holds the request; the line is there once after the next start."""
    replica.write()
    elastic.held.clear()
    replica.shipper.start()
    while not elastic.headers:
        time.sleep(0.01)
    replica.shipper.close()
    assert not elastic.documents
    elastic.held.set()
    replica.restart()
    replica.drain()
    assert elastic.lines() == replica.lines()


def test_half_a_line_waits_for_its_end(replica, elastic):
    """What is being written is not sent, and is met again whole."""
    replica.write()
    with replica.audit.path.open("a") as file:
        file.write('{"@timestamp":"2026-12-01T00:00:00.000+00:00","kind":')
    replica.drain()
    assert len(elastic.lines()) == 1
    with replica.audit.path.open("a") as file:
        file.write('"decision"}\n')
    replica.drain()
    assert sorted(elastic.lines()) == sorted(replica.lines())


def test_a_line_that_the_writer_took_back_hides_none_of_its_successors(replica, elastic):
    """The place in the file may lie behind its end, or inside a line: each line that stands is sent."""
    replica.write(3)
    replica.drain()
    lines = replica.audit.path.read_bytes().splitlines(keepends=True)
    replica.audit.close()
    replica.audit.path.write_bytes(b"".join(lines[:2]) + lines[2].replace(b'"number":2', b'"number":2000'))
    replica.drain()
    assert set(replica.lines()) <= set(elastic.lines())
    replica.audit.path.write_bytes(b"".join(lines[:2]))
    replica.write(1)
    replica.drain()
    assert set(replica.lines()) <= set(elastic.lines())


def test_progress_that_cannot_be_used_sends_everything_again(replica, elastic):
    """Identities make it harmless."""
    replica.write(4)
    replica.drain()
    for spoilt in ("{", "[]", '{"version": 2}', '{"version": 1, "file": "x", "offset": "y", "line": 0, "counted": []}'):
        (replica.files.directory / "shipped-r.json").write_text(spoilt)
        replica.restart()
        replica.drain()
    assert sorted(elastic.lines()) == sorted(replica.lines())
    assert len(elastic.headers) == 5


def test_lines_of_two_replicas_and_equal_lines_are_told_apart(tmp_path, elastic):
    """An identity is a file, a place and the words."""
    for name in ("a", "b"):
        path = tmp_path / f"audit-{name}.jsonl"
        line = json.dumps({"@timestamp": "2026-12-31T23:59:59.999+00:00", "kind": "decision", "replica": name})
        path.write_text(f"{line}\n{line}\n")
        shipper = Shipper(Files(tmp_path, name), Bulk(Target((elastic.url,))).send, "audit", print)
        while shipper.step() != POLL_SECONDS:
            pass
    assert len(elastic.documents) == 4
    assert {index for index, _ in elastic.documents} == {"audit-2026.12"}
