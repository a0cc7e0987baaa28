"""H01: servers that hang, drip, redirect or talk nonsense; every call ends, and ends as Unknown or an error of ours."""

import threading

import pytest
import requests

from remediator.adapters.alertmanager import AlertmanagerSilences
from remediator.adapters.calls import DeadlineSession
from remediator.adapters.cluster import KubernetesCluster
from remediator.adapters.errors import BrokenError, KubernetesError, RefusedError, TransientError
from remediator.adapters.leases import KubernetesLeases
from remediator.adapters.prometheus import PrometheusMetrics
from remediator.core.model import Level, Unknown
from remediator.core.reason import Reason
from remediator.drill.apiserver.faults import Fault
from tests.adapters.canned import Answer, api_of

HANG, DRIP = Answer(hang=True), Answer(body=b'{"status"', drip=True)


@pytest.mark.parametrize("answer", [HANG, DRIP], ids=["hangs", "drips"])
def test_h01_prometheus_that_does_not_end_is_unknown(canned, answer):
    """Neither silence nor a byte now and then outlives the deadline."""
    server = canned(lambda asked: answer)
    metrics = PrometheusMetrics(server.url, deadline_seconds=0.3)
    for found in (metrics.memory("n1"), metrics.usages("n1"), metrics.levels(), metrics.now()):
        assert isinstance(found, Unknown)
        assert found.source == "prometheus"
    assert len(server.asked) == 4


@pytest.mark.parametrize("answer", [HANG, DRIP], ids=["hangs", "drips"])
def test_h01_alertmanager_that_does_not_end_makes_silences_unknown(canned, answer):
    """Nothing is done while nobody can say what is silenced."""
    server = canned(lambda asked: answer)
    found = AlertmanagerSilences([server.url], timeout_seconds=0.2).read("n1", "NodeMemoryPressure", Level.RED)
    assert isinstance(found, Unknown)
    assert found.reason is Reason.SILENCES_UNKNOWN


@pytest.mark.parametrize("answer", [HANG, Answer(body=b'{"items"', drip=True)], ids=["hangs", "drips"])
def test_h01_an_api_server_that_does_not_end_makes_the_cluster_unknown(canned, answer):
    """The snapshot has one deadline over all its requests; a name is taken at its word, an address is refused."""
    server = canned(lambda asked: answer)
    api = api_of(server.url, read_timeout_seconds=0.2, read_budget_seconds=0.1)
    cluster = KubernetesCluster(api, deadline_seconds=0.5)
    assert isinstance(cluster.snapshot("n1"), Unknown)
    assert cluster.node_for({"node": "n1"}) == "n1"
    assert cluster.node_for({"instance": "10.0.0.1:9100"}).reason is Reason.NODE_UNKNOWN
    assert isinstance(cluster.isolated_by_us(), Unknown)
    assert isinstance(cluster.pod_uid("shop", "web"), Unknown)
    assert cluster.ready()
    assert not KubernetesLeases(api, "remediator", "me").acquire("x")


def test_h01_one_list_that_hangs_is_enough_for_unknown(simulated):
    """Everything else answers, the budgets do not: half a picture is no picture."""
    simulated.faults.replace([Fault(path="poddisruptionbudgets", never_answer=True)])
    cluster = KubernetesCluster(api_of(simulated.url), deadline_seconds=0.5)
    found = cluster.snapshot("n1")
    assert isinstance(found, Unknown)
    assert "within 0.5 s" in found.why
    simulated.faults.replace([])
    assert not isinstance(KubernetesCluster(api_of(simulated.url)).snapshot("n1"), Unknown)


def test_redirects_are_not_followed(canned):
    """A redirect is an answer nobody asked for: whoever is there instead must not be believed."""
    elsewhere = canned(lambda asked: [])
    server = canned(lambda asked: Answer(302, headers={"Location": elsewhere.url}))
    assert isinstance(PrometheusMetrics(server.url).levels(), Unknown)
    assert isinstance(AlertmanagerSilences([server.url]).read("n1", "a", None), Unknown)
    assert not elsewhere.asked


def test_an_answer_without_end_is_cut_off(canned):
    """The size of an answer is bounded as its time is."""
    server = canned(lambda asked: Answer(body=b"x" * 5000))
    with pytest.raises(requests.RequestException, match="more than 1000 bytes"):
        DeadlineSession(2, max_bytes=1000).get(server.url)


def test_connections_are_used_again(canned):
    """A call that ended well leaves its connection for the next."""
    peers = set()
    server = canned(lambda asked: peers.add(asked.peer) or [])
    session = DeadlineSession(5)
    for _ in range(3):
        assert session.get(server.url).json() == []
    api = api_of(server.url)
    server.answer = lambda asked: peers.add(asked.peer) or {}
    for _ in range(3):
        api.read(api.core.read_node, "n1")
    assert len(peers) == 2


def test_calls_left_behind_are_bounded(canned):
    """A server that swallows requests does not collect threads: beyond a number, calls wait, and end in time."""
    server = canned(lambda asked: HANG)
    session = DeadlineSession(0.05)
    before = threading.active_count()
    for _ in range(20):
        with pytest.raises(requests.Timeout):
            session.get(server.url)
    assert sum(thread.name == "call" for thread in threading.enumerate()) <= 16
    assert threading.active_count() - before < 60


def test_reads_are_retried_within_their_budget_and_writes_are_not(canned):
    """One retry layer: a read that fails twice succeeds the third time, a write is asked once."""
    said = [Answer(500), Answer(429, {"reason": "TooManyRequests"}), Answer(body={"ok": 1})]
    server = canned(lambda asked: said[min(len(server.asked), 3) - 1])
    api = api_of(server.url)
    assert api.read(api.core.read_node, "n1") == {"ok": 1}
    assert len(server.asked) == 3
    server.asked.clear()
    with pytest.raises(TransientError):
        api.write(api.core.patch_node, "n1", {})
    assert len(server.asked) == 1


def test_the_api_server_is_told_who_asks(canned):
    """Its audit log names us, not a generated client."""
    server = canned(lambda asked: {})
    api = api_of(server.url)
    api.read(api.core.read_node, "n1")
    assert server.asked[0].headers["User-Agent"] == "remediator"


def test_a_clear_no_is_not_asked_again(canned):
    """404 and 403 are answers."""
    server = canned(lambda asked: Answer(403, {"reason": "Forbidden", "message": "no", "details": {"kind": "nodes"}}))
    api = api_of(server.url)
    with pytest.raises(RefusedError) as refused:
        api.read(api.core.read_node, "n1")
    assert (refused.value.status, refused.value.details, len(server.asked)) == (403, {"kind": "nodes"}, 1)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b""])
def test_an_answer_nobody_can_understand_is_broken(canned, body):
    """A proxy's page with status 200 is neither a node nor worth a retry."""
    server = canned(lambda asked: Answer(body=body))
    api = api_of(server.url)
    with pytest.raises(BrokenError):
        api.read(api.core.read_node, "n1")
    assert len(server.asked) == 1


def test_a_connection_that_is_refused_was_never_sent(canned):
    """What did not reach the server took no effect there; what was cut off may have."""
    server = canned(lambda asked: Answer(hang=True))
    api = api_of(server.url, write_timeout_seconds=0.2)
    with pytest.raises(KubernetesError) as cut:
        api.write(api.core.patch_node, "n1", {})
    server.stop()
    with pytest.raises(KubernetesError) as refused:
        api.write(api.core.patch_node, "n1", {})
    assert (cut.value.sent, refused.value.sent) == (True, False)
