"""JSON API, health and page, with fakes behind them."""

from dataclasses import replace
from pathlib import Path

import pytest

from remediator.core.model import Isolation, Level, Matcher, Phase, SignalKind, Silence, SilenceFacts, Unknown
from remediator.core.state import NodeState, Outcome, OutcomeKind
from remediator.web.tokens import OperatorAuth, TokenFile
from tests.web.fakes import FakeRecord, Web

OUTCOME = Outcome(OutcomeKind.RELIEVED, "e1", 990.0, 18 * 2**30, 20 * 2**30, 0.93, 0.61, Level.RED, Level.GREEN)
ISOLATED = NodeState(
    phase=Phase.COOLING_DOWN,
    isolation=Isolation.CORDONED_BY_US,
    isolation_episode_id="e1",
    cooldown_until=1060.0,
    outcomes=(OUTCOME,),
    message="relieved",
)


def test_nodes_are_listed_worst_first() -> None:
    """Nodes of the records and nodes of the rules are one list; what is not known is null."""
    web = Web(records=[FakeRecord("a", ISOLATED), FakeRecord("gone")], levels={"a": Level.YELLOW, "b": Level.RED})
    rows = web.client().get("/api/v1/nodes").get_json()["nodes"]
    assert [(row["node"], row["level"]) for row in rows] == [("b", "RED"), ("a", "YELLOW"), ("gone", None)]
    assert rows[1]["cooldown_seconds"] == 60
    assert rows[1]["outcomes"][0]["kind"] == "relieved"


def test_what_was_only_recorded_is_not_shown_as_done() -> None:
    """In observe mode the page says that the isolation was never put on the node."""
    web = Web(records=[FakeRecord("a", replace(ISOLATED, isolation_observed=True))])
    client = web.client()
    assert client.get("/api/v1/nodes").get_json()["nodes"][0]["isolation_observed"] is True
    assert "only recorded" in client.get("/").text


def test_unknown_levels_are_null_and_not_green() -> None:
    """Without Prometheus no node is called calm."""
    web = Web(records=[FakeRecord("a", ISOLATED)], levels=Unknown("prometheus", "refused"))
    assert web.client().get("/api/v1/nodes").get_json()["nodes"][0]["level"] is None


def test_a_node_is_explained() -> None:
    """GET of one node is its decision in dry form."""
    assert Web().client().get("/api/v1/nodes/n1").get_json() == {"node": "n1"}


@pytest.mark.parametrize("name", ["UPPER", "a{}b", "-a", "x" * 300, 'a"b', "a,b"])
def test_what_is_no_node_name_is_refused(name: str) -> None:
    """A name that cannot be a node's never reaches a query."""
    client = Web().client()
    assert client.get(f"/api/v1/nodes/{name}").status_code in (400, 404)
    assert client.post(f"/api/v1/nodes/{name}/release", json={}).status_code in (400, 404)


def test_a_release_is_queued_in_the_operators_name() -> None:
    """The signal carries who asked and which episode's isolation is meant."""
    web = Web(records=[FakeRecord("a", ISOLATED)])
    answer = web.client().post("/api/v1/nodes/a/release", json={})
    assert answer.status_code == 202
    (signal,) = web.dispatcher.submitted
    assert (signal.kind, signal.node, signal.operator, signal.plan_id) == (
        SignalKind.RELEASE,
        "a",
        "local",
        "e1",
    )


def test_a_release_of_nothing_is_told() -> None:
    """A node on which we put nothing answers 409; a full queue loses no word, for it stands in the record."""
    web = Web(records=[FakeRecord("a", ISOLATED), FakeRecord("b", replace(ISOLATED, isolation=Isolation.NONE))])
    assert web.client().post("/api/v1/nodes/b/release", json={}).status_code == 409
    web.dispatcher.full = True
    assert web.client().post("/api/v1/nodes/a/release", json={}).status_code == 202
    assert web.said == [("a", {"release": "e1"}, "local")]


def test_a_release_needs_a_named_operator(tmp_path: Path) -> None:
    """Without the token 401, with it the operator's name."""
    tokens = tmp_path / "operators"
    tokens.write_text("ann: a1\n")
    web = Web(
        records=[FakeRecord("a", ISOLATED)],
        operator_auth=OperatorAuth(TokenFile(tokens), local_operator="local"),
    )
    client = web.client()
    assert client.post("/api/v1/nodes/a/release", json={}).status_code == 401
    answer = client.post("/api/v1/nodes/a/release", json={}, headers={"Authorization": "Bearer a1"})
    assert answer.get_json()["operator"] == "ann"


def test_a_browser_cannot_be_tricked_into_a_release() -> None:
    """Without tokens a form post and a foreign Host name (DNS rebinding) are refused."""
    client = Web(records=[FakeRecord("a", ISOLATED)]).client()
    assert client.post("/api/v1/nodes/a/release", data={"x": "y"}).status_code == 415
    rebound = client.post("/api/v1/nodes/a/release", json={}, headers={"Host": "evil.example"})
    assert rebound.status_code == 403


def test_health_follows_the_dispatchers_progress() -> None:
    """A stuck engine turns /healthz to 503, so that it is restarted."""
    web = Web()
    client = web.client()
    assert client.get("/healthz").status_code == 200
    web.dispatcher.stuck_seconds = 500
    assert client.get("/healthz").status_code == 503


def test_readiness_names_what_is_missing() -> None:
    """Every check is told by name; one that raises is not ready either."""

    def broken() -> str:
        raise OSError("no route")

    web = Web(ready_checks={"prometheus": lambda: "", "cluster": broken, "rules": lambda: "none loaded"})
    answer = web.client().get("/readyz")
    assert answer.status_code == 503
    assert answer.get_json()["checks"] == {
        "prometheus": "ok",
        "cluster": "OSError: no route",
        "rules": "none loaded",
        "dispatcher": "ok",
    }
    assert Web().client().get("/readyz").status_code == 200


def test_own_metrics_are_served() -> None:
    """/metrics is the Prometheus text format."""
    answer = Web().client().get("/metrics")
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain")


def test_the_page_shows_nodes_and_escapes_what_it_shows() -> None:
    """Levels, phases, outcomes are there, and a message cannot become markup."""
    state = replace(ISOLATED, message="<script>alert(1)</script>")
    answer = Web(records=[FakeRecord("a", state)], levels={"a": Level.RED}).client().get("/")
    assert (
        "RED" in answer.text
        and "COOLING_DOWN" in answer.text
        and "93\N{NO-BREAK SPACE}% → 61\N{NO-BREAK SPACE}%" in answer.text
    )
    assert "<script>" not in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_comes_up_without_the_cluster() -> None:
    """When records cannot be read the page says so instead of failing."""
    web = Web()
    web.records = None  # type: ignore[assignment]
    answer = web.client().get("/")
    assert answer.status_code == 200
    assert "cannot be read" in answer.text


def test_an_empty_cluster_says_where_to_look() -> None:
    """No node known is told with the next step."""
    assert "/readyz" in Web().client().get("/").text


def test_unknown_routes_and_methods_answer_json() -> None:
    """404 and 405 have the API's shape."""
    client = Web().client()
    assert client.get("/nothing").get_json()["path"] == "/nothing"
    assert client.get("/api/v1/alerts").status_code == 405


def test_an_outside_that_is_away_is_503_with_its_words() -> None:
    """The API says what could not be read, instead of a bare 500."""
    web = Web()
    web.records = None  # type: ignore[assignment]
    answer = web.client().get("/api/v1/nodes")
    assert answer.status_code == 503
    assert "cannot be answered now" in answer.get_json()["error"]


def test_a_node_that_nobody_knows_is_not_found() -> None:
    """Neither the cluster nor the rules have heard of it; what is known is told all the same."""
    unknown = {"cluster": {"unknown": "no such node", "reason": "node_unknown"}, "memory": {"unknown": "blind"}}
    web = Web(explain=lambda node: unknown)
    answer = web.client().get("/api/v1/nodes/nope")
    assert (answer.status_code, answer.get_json()) == (404, unknown)


def test_a_refused_policy_is_told_on_the_page_and_by_the_api() -> None:
    """Whoever looks at the nodes sees that they are decided by the last good policy, and why."""
    problem = "policy.yaml:1: mode: <b>enforse</b> is not one of"
    web = Web()
    web.config = {"valid": False, "problems": [problem], "hash": "c0ffee", "file": "policy.yaml"}
    client = web.client()
    assert client.get("/api/v1/nodes").get_json()["config"]["problems"] == [problem]
    page = client.get("/").text
    assert "c0ffee" in page and "&lt;b&gt;enforse" in page


def test_silences_are_listed_as_amtool_writes_them() -> None:
    """Matchers in Alertmanager's own notation; silences that nobody could read are told, not left out."""
    matchers = (Matcher("namespace", "pay.*", is_regex=True), Matcher("node", "n1", is_equal=False))
    web = Web(silences=SilenceFacts((Silence("s1", matchers, "upgrade", "ann", "2026-12-01T13:00:00Z"),)))
    (row,) = web.client().get("/api/v1/silences").get_json()["silences"]["active"]
    assert (row["matchers"], row["created_by"]) == (['namespace=~"pay.*"', 'node!="n1"'], "ann")
    web.silences = Unknown("alertmanager", "no peer answers")
    assert web.client().get("/api/v1/silences").get_json()["silences"]["unknown"] == "no peer answers"


def test_among_nodes_of_a_level_the_fuller_one_is_worse() -> None:
    """The water mark is the last point of the hour."""
    web = Web(levels={"a": Level.RED, "b": Level.RED}, used_ratios={"a": [(1, 0.99), (2, 0.91)], "b": [(2, 0.95)]})
    rows = web.client().get("/api/v1/nodes").get_json()["nodes"]
    assert [(row["node"], row["used_ratio"]) for row in rows] == [("b", 0.95), ("a", 0.91)]
