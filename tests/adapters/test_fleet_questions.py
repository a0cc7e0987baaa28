"""What Prometheus is asked about the whole fleet: levels, firing alerts, its clock, its readiness."""

import pytest

from remediator.adapters.prometheus import PrometheusMetrics
from remediator.core.model import Level, Signal, SignalKind, Unknown
from remediator.core.reason import Reason
from tests.adapters.canned import Answer

ALERT = {"alertname": "NodeMemoryPressure", "node": "n1", "level": "red", "alertstate": "firing", "cluster": "lab"}


def vector(*samples, **more) -> dict:
    """An instant query's answer of (labels, value)."""
    result = [{"metric": labels, "value": [1000, str(value)]} for labels, value in samples]
    return {"status": "success", "data": {"resultType": "vector", "result": result}, **more}


@pytest.fixture
def asking(canned):
    """Prometheus that gives one answer, asked; (adapter, server)."""

    def ask(answer):
        server = canned(lambda asked: answer)
        return PrometheusMetrics(server.url, deadline_seconds=2.0), server

    return ask


def test_every_node_s_level_is_read_and_the_higher_of_two_counts(asking):
    """Two replicas of the rules that differ for a moment: the node is as bad as the worse one says."""
    levels = [({"node": "n1"}, 3), ({"node": "n1", "replica": "b"}, 2), ({"node": "n2"}, 0)]
    metrics, _ = asking(vector(*levels))
    assert metrics.levels() == {"n1": Level.RED, "n2": Level.GREEN}


@pytest.mark.parametrize("sample", [({"node": "n1"}, 7), ({}, 1)], ids=["level-7", "no-node"])
def test_levels_that_make_no_sense_are_unknown(asking, sample):
    """A level nobody knows, or of nobody, spoils the answer: the fleet's brakes must not count on half of it."""
    metrics, _ = asking(vector(sample))
    found = metrics.levels()
    assert isinstance(found, Unknown)
    assert found.reason is Reason.DATA_UNKNOWN


def test_b21_partial_levels_are_no_levels(asking):
    """A storm must not look like calm because a store did not answer."""
    metrics, _ = asking(vector(({"node": "n1"}, 0), warnings=["partial response"]))
    found = metrics.levels()
    assert isinstance(found, Unknown)
    assert found.reason is Reason.DATA_PARTIAL


def test_levels_of_the_past_are_asked_by_moment(asking):
    """Each kill's moment has its own level, in one question; a moment before the rules knew the node has none."""
    metrics, server = asking(vector(({"node": "n1", "at": "1000.5"}, 2)))
    assert metrics.levels_at("n1", [1000.5, 20.0]) == {1000.5: Level.ORANGE}
    (asked,) = server.asked
    assert "[60000ms] @ 1000.500))" in asked.query["query"][0]
    assert "[60000ms] @ 20.000))" in asked.query["query"][0]


def test_firing_alerts_come_as_resync_signals(asking):
    """With level and labels but Prometheus' own; an alert without a node is left to its webhook."""
    anonymous = {key: value for key, value in ALERT.items() if key != "node"}
    odd = {**ALERT, "node": "n2", "level": "purple"}
    metrics, server = asking(vector(({"__name__": "ALERTS", **ALERT}, 1), (anonymous, 1), (odd, 1)))
    first, second = metrics.firing(["NodeMemoryPressure", "Node.OOM"])
    labels = {key: value for key, value in ALERT.items() if key != "alertstate"}
    assert first == Signal(SignalKind.RESYNC, "n1", "NodeMemoryPressure", Level.RED, labels=labels)
    assert (second.node, second.level) == ("n2", None)
    (asked,) = server.asked
    assert asked.query["query"] == [r'ALERTS{alertstate="firing",alertname=~"NodeMemoryPressure|Node\\.OOM"}']


def test_no_alert_names_are_no_question(asking):
    """An empty list would match every alert of the cluster."""
    metrics, server = asking(vector(({"__name__": "ALERTS", **ALERT}, 1)))
    assert metrics.firing([]) == []
    assert not server.asked


def test_the_clock_is_prometheus_own(asking):
    """time() as it says; what is no time is unknown."""
    metrics, _ = asking({"status": "success", "data": {"resultType": "scalar", "result": [1000, "1000.25"]}})
    assert metrics.now() == 1000.25
    empty, _ = asking({"status": "success", "data": {"resultType": "scalar", "result": []}})
    assert isinstance(empty.now(), Unknown)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (vector(({"node": "n1"}, 0)), ""),
        (vector(), "are the rules loaded?"),
        (Answer(503), "does not answer as it should"),
        (vector(({"node": "n1"}, 0), warnings=["partial response"]), "partial"),
    ],
    ids=["rules", "no-rules", "down", "partial"],
)
def test_readiness_needs_an_answer_and_the_rules(asking, answer, said):
    """What is wrong is said in words, nothing when nothing is."""
    found = asking(answer)[0].ready()
    assert said in found if said else not found


def test_a_tenant_s_headers_go_along(canned):
    """Mimir and Thanos want a tenant or a token with every question."""
    server = canned(lambda asked: vector())
    PrometheusMetrics(server.url + "/", headers={"X-Scope-OrgID": "lab"}).levels()
    (asked,) = server.asked
    assert (asked.path, asked.headers["X-Scope-OrgID"]) == ("/api/v1/query", "lab")
