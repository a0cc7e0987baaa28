"""Prometheus and Alertmanager asked over real HTTP: what is partial, broken or late is Unknown, never a number."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prometheus_client import REGISTRY

from remediator.adapters.alertmanager import AlertmanagerSilences
from remediator.adapters.prometheus import PrometheusMetrics
from remediator.adapters.promql import quoted
from remediator.core.model import Level, Unknown
from remediator.core.reason import Reason

GIB = 2**30
NODE = [
    ({"__name__": "node:memory_level", "node": "n1"}, 3),
    ({"__name__": "node:memory_total:bytes", "node": "n1"}, 16 * GIB),
    ({"__name__": "node:memory_available:bytes", "node": "n1"}, GIB),
    ({"__name__": "node:memory_threshold:ratio", "node": "n1", "level": "red", "edge": "enter"}, 0.92),
    ({"what": "sampled_at", "node": "n1"}, 1000),
    ({"what": "slice", "path": "/system.slice"}, 2 * GIB),
]


class Answers:
    """A server that gives one answer to everything."""

    def __init__(self) -> None:
        self.status, self.body, self.asked = 200, b"{}", []
        self.hold = threading.Event()
        self.hold.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.hold.wait(20)
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(outer.body)))
                self.end_headers()
                self.wfile.write(outer.body)

            def log_message(self, *arguments: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def vector(self, samples, **more) -> None:
        result = [{"metric": labels, "value": [1000, str(value)]} for labels, value in samples]
        data = {"resultType": "vector", "result": result}
        self.body = json.dumps({"status": "success", "data": data, **more}).encode()

    def stop(self) -> None:
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server():
    found = Answers()
    yield found
    found.stop()


@pytest.fixture
def metrics(server):
    return PrometheusMetrics(server.url, deadline_seconds=0.5)


def test_node_memory_is_read_with_thresholds_and_slices(server, metrics):
    """Level, bytes, thresholds in force, and what is not in pods, from one answer."""
    server.vector(NODE)
    facts = metrics.memory("n1")
    assert (facts.level, facts.used_bytes, facts.sampled_at) == (Level.RED, 15 * GIB, 1000)
    assert facts.thresholds == {"red/enter": 0.92}
    assert facts.system_slices == {"/system.slice": 2 * GIB}


@pytest.mark.parametrize("missing", ["node:memory_level", "node:memory_available:bytes"])
def test_b18_a_blind_node_is_unknown(server, metrics, missing):
    """A node without its series is neither calm nor alarming."""
    server.vector([sample for sample in NODE if sample[0].get("__name__") != missing])
    assert isinstance(metrics.memory("n1"), Unknown)


def test_b21_a_partial_answer_is_no_answer(server, metrics):
    """Warnings make even a whole-looking answer Unknown, with that reason."""
    server.vector(NODE, warnings=["partial response"])
    found = metrics.memory("n1")
    assert isinstance(found, Unknown)
    assert found.reason is Reason.DATA_PARTIAL


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
def test_b21_values_that_are_no_numbers_are_dropped(server, metrics, value):
    """NaN and infinities come as strings and never become memory."""
    server.vector([*NODE, ({"__name__": "node:memory_pressure:score", "node": "n1"}, value)])
    assert metrics.memory("n1").score is None


@pytest.mark.parametrize(("status", "body"), [(422, b"{}"), (500, b"oops"), (200, b"not json"), (200, b"[]")])
def test_b15_a_failed_query_is_unknown(server, metrics, status, body):
    """Errors, garbage and the wrong shape fail closed."""
    server.status, server.body = status, body
    assert isinstance(metrics.levels(), Unknown)


def test_h01_a_server_that_never_answers_is_unknown_in_time(server, metrics):
    """The deadline is ours: no hang, no retry."""
    server.hold.clear()
    assert isinstance(metrics.levels(), Unknown)
    assert len(server.asked) == 1


def test_a_node_name_cannot_leave_its_quotes():
    """Label values are escaped, so nothing can be added to a query."""
    assert quoted('n1"} or up{x="') == '"n1\\"} or up{x=\\""'


def usage(**values):
    return [({"uid": uid, "what": what}, value) for uid, found in values.items() for what, value in found.items()]


WHOLE = {"working_set": 100, "anon": 60, "shmem": 10, "sampled_at": 990, "previous": 100}


def test_a_pods_releasable_bytes_are_anon_and_shmem(server, metrics):
    """B01: page cache is not what an eviction gives back."""
    server.vector(usage(u1=WHOLE))
    found = metrics.usages("n1")["u1"]
    assert (found.working_set_bytes, found.releasable_bytes, found.source) == (100, 70, "exporter")


def test_b17_scrapes_that_disagree_on_the_pods_are_unknown(server, metrics):
    """Half of the pods missing from one scrape to the next is a failed scrape, not an emptied node."""
    server.vector(usage(u1=WHOLE, u2={"previous": 5}, u3={"previous": 5}))
    found = metrics.usages("n1")
    assert isinstance(found, Unknown)
    assert found.reason is Reason.DATA_PARTIAL


SILENCE = {
    "id": "s1",
    "status": {"state": "active"},
    "matchers": [{"name": "node", "value": "n1", "isRegex": False, "isEqual": True}],
    "comment": "upgrade",
    "createdBy": "alice",
    "endsAt": "2026-12-01T00:00:00Z",
}


def test_active_silences_of_all_peers_count_together(server):
    """One peer that answers is enough; expired silences are not in force."""
    server.body = json.dumps([SILENCE, {**SILENCE, "id": "s2", "status": {"state": "expired"}, "labels": {}}]).encode()
    peers = AlertmanagerSilences(["http://127.0.0.1:9", server.url], timeout_seconds=1)
    facts = peers.read("n1", "NodeMemoryPressure", Level.RED)
    assert [silence.id for silence in facts.silences] == ["s1"]
    assert REGISTRY.get_sample_value("remediator_silences_active") == 1


def test_a_silent_alertmanager_makes_silences_unknown(server):
    """Nobody may act on the belief that nothing is silenced."""
    server.status = 500
    found = AlertmanagerSilences([server.url], timeout_seconds=1).read("n1", "NodeMemoryPressure", Level.RED)
    assert isinstance(found, Unknown)
    assert found.reason is Reason.SILENCES_UNKNOWN


def test_every_question_can_be_put_to_a_moment_that_is_over(server) -> None:
    """`time` goes with each of them, so that figures, samples' ages and the clock are those of then."""
    server.vector(NODE)
    then = PrometheusMetrics(server.url, at=900.5)
    then.memory("n1"), then.usages("n1"), then.levels(), then.now(), then.pod_names("n1")
    assert then.last_below("n1", Level.RED, 3600) == 3
    assert len(server.asked) == 6
    assert all("time=900.500" in path for path in server.asked)
    server.vector([])
    assert then.last_below("n1", Level.RED, 3600) is None


def test_the_last_hour_of_every_node_is_one_question(server, metrics):
    """Sixty points a node at most, what is no number left out."""
    values = [[900, "0.5"], [960, "NaN"], [1020, "0.75"]]
    rows = [{"metric": {"node": "n1"}, "values": values}, {"metric": {}, "values": values}]
    server.body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": rows}}).encode()
    assert metrics.used_ratios(3600) == {"n1": [(900, 0.5), (1020, 0.75)]}
    (asked,) = server.asked
    assert "step=60s" in asked


def test_names_of_pods_come_from_kube_state_metrics(server) -> None:
    """By UID; a row without one says nothing."""
    server.vector([({"namespace": "shop", "pod": "web-1", "uid": "u"}, 1), ({"namespace": "shop", "pod": "x"}, 1)])
    assert PrometheusMetrics(server.url).pod_names("n1") == {"u": ("shop", "web-1")}
