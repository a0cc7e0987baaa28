"""The webhook receiver, with Alertmanager's own words (captures in webhooks/)."""

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from remediator.core.model import Level, Rejection
from remediator.web.tokens import TokenFile, WebhookAuth
from tests.web.fakes import Web, by_node_label

CAPTURES = sorted((Path(__file__).parent / "webhooks").glob("*.json"))
A1 = {
    "status": "firing",
    "labels": {"alertname": "NodeMemoryPressure", "node": "n1", "level": "orange"},
    "startsAt": "2026-12-01T00:11:05.805Z",
    "endsAt": "0001-01-01T00:00:00Z",
    "fingerprint": "f1",
}


def body(*alerts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A version 4 body of these alerts."""
    return {"version": "4", "status": "firing", "alerts": list(alerts), "truncatedAlerts": 0, **more}


def labelled(alert: Mapping[str, Any], **labels: str) -> dict[str, Any]:
    """The alert with other labels."""
    return {**alert, "labels": {**alert["labels"], **labels}}


def count(name: str, **labels: str) -> float:
    """Current value of a metric of ours."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_what_alertmanager_really_sends_is_understood(capture: Path) -> None:
    """Every capture is answered 202 or 400 (nothing of ours in it), each alert by its own labels and status."""
    web = Web()
    payload = json.loads(capture.read_text())
    answer = web.client().post("/api/v1/alerts", json=payload)
    usable = [each for each in payload["alerts"] if each["labels"].get("alertname") == "NodeMemoryPressure"]
    assert answer.status_code == (202 if usable else 400)
    assert [(s.node, s.firing) for s in web.dispatcher.submitted] == [
        (each["labels"]["node"], each["status"] == "firing") for each in usable
    ]


def test_a09_every_alert_stands_by_its_own_status() -> None:
    """A09: in one firing group n1 is resolved and n2 is firing."""
    web = Web()
    client = web.client()
    client.post("/api/v1/alerts", json=body({**A1, "status": "resolved"}, labelled(A1, node="n2")))
    assert [(signal.node, signal.firing) for signal in web.dispatcher.submitted] == [
        ("n1", False),
        ("n2", True),
    ]


def test_a08_truncated_alerts_are_counted_and_looked_up() -> None:
    """A08: those present are taken, the number of the missing is counted, and a resync is asked for at once."""
    web = Web()
    asked: list[bool] = []
    web.dispatcher.resync_soon = lambda: asked.append(True)  # type: ignore[method-assign]
    before = count("remediator_alerts_truncated_total")
    answer = web.client().post("/api/v1/alerts", json=body(A1, truncatedAlerts=7))
    assert answer.status_code == 202
    assert answer.get_json()["truncated"] == 7
    assert count("remediator_alerts_truncated_total") == before + 7
    assert asked == [True]


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"{}", "version"),
        (b'{"version": "5", "alerts": []}', "version"),
        (b"not json", "body"),
        (b"", "body"),
        (b"\xff\xfe", "body"),
        (b"[" * 200_000, "body"),
        (b"[]", "body"),
        (b'{"version": "4", "alerts": {}}', "alerts"),
        (b'{"version": "4", "alerts": [], "truncatedAlerts": -1}', "truncatedAlerts"),
    ],
)
def test_a21_a_malformed_body_is_answered_400_with_its_field(content: bytes, field: str) -> None:
    """A21: never a 5xx, which would be sent again for ever.

    The field and the fix are named, and it is counted.
    """
    before = count("remediator_webhooks_received_total", outcome="malformed")
    answer = Web().client().post("/api/v1/alerts", data=content, content_type="application/json")
    assert answer.status_code == 400
    assert answer.get_json()["field"] == field
    assert answer.get_json()["fix"]
    assert count("remediator_webhooks_received_total", outcome="malformed") == before + 1


@pytest.mark.parametrize(
    ("alert", "reason"),
    [
        ({**A1, "labels": {"node": "n1"}}, "alert_without_name"),
        (labelled(A1, alertname="Other"), "unknown_alert"),
        (labelled(A1, node=""), "alert_without_node"),
        (labelled(A1, node="", instance="10.9.9.9:9100"), "alert_without_node"),
        ("text", "alert_malformed"),
        ({**A1, "status": "pending"}, "alert_malformed"),
        ({**A1, "labels": {"node": 7}}, "alert_malformed"),
    ],
)
def test_a21_without_a_usable_alert_the_answer_is_400(alert: Any, reason: str) -> None:
    """A21: an alert that cannot be used is told with its reason and counted."""
    before = count("remediator_alerts_rejected_total", reason=reason)
    answer = Web().client().post("/api/v1/alerts", json=body(alert))
    assert answer.status_code == 400
    assert [each["reason"] for each in answer.get_json()["rejections"]] == [reason]
    assert count("remediator_alerts_rejected_total", reason=reason) == before + 1


def test_some_usable_is_202_with_the_rejects_listed() -> None:
    """One good alert is enough; the others are named."""
    web = Web()
    answer = web.client().post("/api/v1/alerts", json=body(A1, labelled(A1, alertname="Other")))
    assert (answer.status_code, answer.get_json()["accepted"], answer.get_json()["rejected"]) == (202, 1, 1)


def test_a21_a_body_over_the_cap_is_413() -> None:
    """A21: 20 MB are refused before they are read."""
    answer = Web().client().post("/api/v1/alerts", data=b"x" * 20_000_000, content_type="application/json")
    assert answer.status_code == 413
    assert "max_alerts" in answer.get_json()["error"]


def test_a02_a17_a_full_queue_is_503_and_a_repeat_is_taken() -> None:
    """A02, A17: a refused alert leaves no mark, so that the same body is accepted when there is room."""
    web = Web()
    client = web.client()
    web.dispatcher.full = True
    assert client.post("/api/v1/alerts", json=body(A1)).status_code == 503
    web.dispatcher.full = False
    assert client.post("/api/v1/alerts", json=body(A1)).status_code == 202
    assert len(web.dispatcher.submitted) == 1


def test_a18_labels_of_pods_choose_nobody() -> None:
    """A18: a pod label in an alert is carried along and means nothing; only the node is looked at."""
    web = Web()
    web.client().post("/api/v1/alerts", json=body(labelled(A1, pod="web")))
    (signal,) = web.dispatcher.submitted
    assert (signal.node, signal.level) == ("n1", Level.ORANGE)


def test_b13_a_node_is_found_by_its_instance() -> None:
    """B13: an alert with only instance= is resolved by the cluster, or refused."""
    web = Web()
    alert = {**A1, "labels": {"alertname": "NodeMemoryPressure", "instance": "10.0.0.1:9100"}}
    web.client().post("/api/v1/alerts", json=body(alert))
    assert [signal.node for signal in web.dispatcher.submitted] == ["n1"]


def test_a04_a_silent_cluster_does_not_hold_the_answer_up() -> None:
    """A04: an alert that names its node is taken at its word when the API server does not answer in time."""
    never = threading.Event()

    def silent(labels: Mapping[str, str]) -> str | Rejection:
        never.wait(30)
        return by_node_label(labels)

    web = Web(node_for=silent)
    client = web.client()
    try:
        answer = client.post("/api/v1/alerts", json=body(A1, labelled(A1, node="n2")))
        assert answer.status_code == 202
        assert [signal.node for signal in web.dispatcher.submitted] == ["n1", "n2"]
        alert = {**A1, "labels": {"alertname": "NodeMemoryPressure", "instance": "10.0.0.1:9100"}}
        assert client.post("/api/v1/alerts", json=body(alert)).status_code == 503
    finally:
        never.set()


def test_a_lookup_that_fails_is_like_one_that_is_late() -> None:
    """An exception of the cluster adapter becomes neither a 500 nor a wrong node."""

    def broken(labels: Mapping[str, str]) -> str | Rejection:
        raise OSError("connection refused")

    web = Web(node_for=broken)
    assert web.client().post("/api/v1/alerts", json=body(A1)).status_code == 202


def test_known_nodes_are_not_asked_for_again() -> None:
    """A thousand alerts of a few nodes cost a few lookups."""
    asked: list[str] = []

    def counting(labels: Mapping[str, str]) -> str | Rejection:
        asked.append(labels["node"])
        return labels["node"]

    web = Web(node_for=counting)
    alerts = [labelled(A1, node=f"n{number % 5}", pod=str(number)) for number in range(1000)]
    assert web.client().post("/api/v1/alerts", json=body(*alerts)).get_json()["accepted"] == 1000
    assert len(asked) == 5


def test_the_webhooks_token_is_asked_for(tmp_path: Path) -> None:
    """Without it 401 and nothing is queued; the operators' token is no substitute."""
    token = tmp_path / "token"
    token.write_text("secret\n")
    web = replace(Web(), webhook_auth=WebhookAuth(TokenFile(token)))
    client = web.client()
    refused = client.post("/api/v1/alerts", json=body(A1))
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    good = client.post("/api/v1/alerts", json=body(A1), headers={"Authorization": "Bearer secret"})
    assert good.status_code == 202
    assert len(web.dispatcher.submitted) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ALERT = st.fixed_dictionaries({"status": JSON, "labels": st.dictionaries(st.sampled_from(["alertname", "node"]), JSON)})


@given(payload=JSON | st.fixed_dictionaries({"version": st.just("4"), "alerts": st.lists(ALERT | JSON, max_size=3)}))
def test_a21_no_body_makes_a_5xx(payload: Any) -> None:
    """A21: whatever JSON comes, the answer is 202 or 400."""
    assert Web().client().post("/api/v1/alerts", json=payload).status_code in (202, 400)
