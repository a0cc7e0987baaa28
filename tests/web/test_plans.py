"""Plans over the API: listed, approved, rejected, each through the node's record."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from remediator.core.model import Level, Phase, SignalKind
from remediator.core.state import Action, ActionKind, NodeState, OperatorSpec, Plan, RejectedPlan
from remediator.web.tokens import OperatorAuth, TokenFile, WebhookAuth
from tests.web.fakes import FakeRecord, Web

ID, OTHER = "0123456789", "abcdefabcd"
PLAN = Plan(ID, "a", "e1", Level.RED, 900.0, 1500.0, 2**30, (Action(ActionKind.CORDON, "a", "e1"),))
WAITS = NodeState(phase=Phase.AWAITING_APPROVAL, plan=PLAN)
YES, NO = OperatorSpec(approved_plan=ID, approved_by="ann"), OperatorSpec(rejected_plan=ID, rejected_by="ann")


def answered(record: FakeRecord, verdict: str, plan: str = ID) -> tuple[int, dict[str, Any], Web]:
    """What the API says to a word on a plan, and the world behind it."""
    web = Web(records=[record])
    answer = web.client().post(f"/api/v1/plans/{plan}/{verdict}", json={})
    return answer.status_code, answer.get_json(), web


def test_plans_are_listed_with_where_they_stand() -> None:
    """Node, status, steps and what is left of the expiry; waiting ones first."""
    running = replace(PLAN, id=OTHER, approved_by="bob", created_at=1.0)
    records = [FakeRecord("b", NodeState(phase=Phase.ACTING, plan=running)), FakeRecord("a", WAITS), FakeRecord("c")]
    rows = Web(records=records).client().get("/api/v1/plans").get_json()["plans"]
    told = [(r["id"], r["node"], r["status"], r["answered_by"], r["expires_in_seconds"]) for r in rows]
    assert told == [(ID, "a", "waiting", None, 500), (OTHER, "b", "running", "bob", 500)]
    assert rows[0]["actions"][0]["kind"] == "cordon"


def test_an_approval_goes_into_the_record_the_audit_and_a_pass() -> None:
    """The record's spec is what every replica reads; the signal only saves waiting for it."""
    code, told, web = answered(FakeRecord("a", WAITS), "approve")
    assert (code, told["operator"], told["verdict"]) == (202, "local", "approved")
    assert web.said == [("a", {"approvedPlan": ID}, "local")]
    assert web.audited == [("a", "local", {"plan": ID, "verdict": "approved"})]
    assert REGISTRY.get_sample_value("remediator_operator_words_total", {"word": "approvedPlan"})
    (signal,) = web.dispatcher.submitted
    assert (signal.kind, signal.node, signal.plan_id, signal.operator) == (SignalKind.APPROVAL, "a", ID, "local")


def test_a_rejection_goes_into_the_record_and_approves_nothing() -> None:
    """No signal that could be read as a yes."""
    code, _, web = answered(FakeRecord("a", WAITS), "reject")
    assert (code, web.said, web.dispatcher.submitted) == (202, [("a", {"rejectedPlan": ID}, "local")], [])


def test_a_full_queue_does_not_lose_an_approval() -> None:
    """It stands in the record: the answer is yes, and a resync brings it."""
    web = Web(records=[FakeRecord("a", WAITS)])
    web.dispatcher.full = True
    assert web.client().post(f"/api/v1/plans/{ID}/approve", json={}).status_code == 202


ACTING = NodeState(phase=Phase.ACTING, plan=replace(PLAN, approved_by="bob"))
FORMER = NodeState(rejected=(RejectedPlan(ID, Level.RED, ("u",), "ann", 1.0, 2.0),))


@pytest.mark.parametrize(
    ("record", "verdict", "code", "words"),
    [
        (FakeRecord("a", WAITS, YES), "approve", 202, ""),
        (FakeRecord("a", WAITS, NO), "reject", 202, ""),
        (FakeRecord("a", WAITS, YES), "reject", 409, "approved by ann"),
        (FakeRecord("a", WAITS, NO), "approve", 409, "rejected by ann"),
        (FakeRecord("a", replace(WAITS, plan=replace(PLAN, expires_at=999.0))), "approve", 409, "expired"),
        (FakeRecord("a", ACTING), "approve", 409, "runs already, approved by bob"),
        (FakeRecord("a", replace(ACTING, phase=Phase.SETTLING)), "reject", 409, "has run"),
        (FakeRecord("a", FORMER), "approve", 409, "rejected by ann"),
        (FakeRecord("a", NodeState(), YES), "approve", 409, "is over; ann"),
        (FakeRecord("a"), "approve", 404, "no plan"),
    ],
)
def test_a_word_on_a_plan_that_does_not_wait_is_answered_in_words(
    record: FakeRecord, verdict: str, code: int, words: str
) -> None:
    """The same word twice is fine; another one, a late one and one for an unknown plan say why not."""
    got, told, web = answered(record, verdict)
    assert got == code and words in told.get("error", "")
    assert bool(web.said) is (code == 202)


def test_what_is_no_plan_id_is_refused() -> None:
    """A malformed id is told apart from an unknown one."""
    assert answered(FakeRecord("a", WAITS), "approve", "P1")[0] == 400


def test_only_a_named_operator_may_answer(tmp_path: Path) -> None:
    """Neither nobody nor the webhook's token approves; a form post from elsewhere never does."""
    operators, webhook = tmp_path / "operators", tmp_path / "webhook"
    operators.write_text("ann: a1\n")
    webhook.write_text("hook\n")
    auth = OperatorAuth(TokenFile(operators), local_operator="local")
    web = Web(records=[FakeRecord("a", WAITS)], operator_auth=auth, webhook_auth=WebhookAuth(TokenFile(webhook)))
    client, url = web.client(), f"/api/v1/plans/{ID}/approve"
    bearer = {token: {"Authorization": f"Bearer {token}"} for token in ("hook", "a1")}
    assert client.post(url, json={}).status_code == 401
    assert client.post(url, json={}, headers=bearer["hook"]).status_code == 401
    assert client.post(url, data={"x": "y"}, headers=bearer["a1"]).status_code == 415
    assert web.said == []
    assert client.post(url, json={}, headers=bearer["a1"]).get_json()["operator"] == "ann"


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("pause", {}, {"paused": True}),
        ("resume", {}, {"paused": False}),
        ("mode", {"mode": "observe"}, {"mode": "observe"}),
        ("mode", {"mode": None}, {"mode": None}),
    ],
)
def test_a_node_is_paused_resumed_and_given_a_mode(path: str, body: object, words: dict[str, Any]) -> None:
    """Each is a word in the record's spec, kept in the audit; null hands the mode back."""
    web = Web(records=[FakeRecord("a")])
    assert web.client().post(f"/api/v1/nodes/a/{path}", json=body).status_code == 202
    assert web.said == [("a", words, "local")]
    assert web.audited == [("a", "local", words)]


@pytest.mark.parametrize("body", [{"mode": "enforced"}, {}, [], {"mode": 1}, {"mode": {}}])
def test_a_mode_that_is_none_is_refused(body: object) -> None:
    """The answer lists what may be said; a missing mode is no null."""
    answer = Web(records=[FakeRecord("a")]).client().post("/api/v1/nodes/a/mode", json=body)
    assert answer.status_code == 400 and "enforce" in answer.get_json()["error"]


@pytest.mark.parametrize("path", ["pause", "resume", "mode"])
def test_nobody_speaks_of_a_node_that_nobody_knows(path: str) -> None:
    """A typo never becomes a record."""
    web = Web(records=[FakeRecord("a")])
    assert web.client().post(f"/api/v1/nodes/b/{path}", json={"mode": "off"}).status_code == 404
    assert web.said == []
