"""The OpenAPI document against the routes, and every route against anything that may be sent."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from remediator.core.model import Isolation, Level, Phase, Silence, SilenceFacts
from remediator.core.state import NodeState, OperatorSpec
from tests.web.fakes import FakeRecord, Web
from tests.web.test_plans import ID, WAITS

DOCUMENT: dict[str, Any] = Web().client().get("/api/v1/openapi.json").get_json()
OPERATIONS = [(method, path) for path, item in DOCUMENT["paths"].items() for method in item]
GOOD = {"name": ["a", "b", "nobody"], "plan_id": [ID, "abcdefabcd"]}
DEEP = "[" * 5_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("mode"), inner, max_size=3),
    max_leaves=8,
)
BODY = JSON.map(json.dumps) | st.just(DEEP) | st.binary(max_size=50) | st.just('{"mode": "observe"}')
LATIN = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=30)
HEADERS = st.fixed_dictionaries(
    {"Content-Type": st.just("application/json") | st.sampled_from(["application/json; charset=utf-16", "", "x"])},
    optional={
        "Authorization": LATIN | LATIN.map("Basic {}".format) | LATIN.map("Bearer {}".format),
        "Host": st.sampled_from(["[::1", "[::1]:80", "localhost:x", "evil.example", "", "127.0.0.1:99999999"]) | LATIN,
        "Content-Length": st.sampled_from(["-1", "x", "99999999999"]),
        "Accept": LATIN,
    },
)


def a_world() -> Web:
    """Nodes in several states, a plan that waits, a silence, everything reachable."""
    isolated = NodeState(Phase.COOLING_DOWN, Isolation.CORDONED_BY_US, isolation_episode_id="e")
    return Web(
        records=[FakeRecord("a", WAITS), FakeRecord("b", isolated, OperatorSpec(paused=True, paused_by="ann"))],
        levels={"a": Level.RED, "c": Level.GREEN},
        used_ratios={"a": [(1.0, 0.9), (2.0, 0.95)]},
        silences=SilenceFacts((Silence("s", (), "", "", ""),)),
    )


def test_the_document_and_the_routes_are_the_same() -> None:
    """Every route is described, and nothing is described that is not there."""
    rules = Web().client().application.url_map.iter_rules()
    routes = {
        (method.lower(), rule.rule.replace("<", "{").replace(">", "}"))
        for rule in rules
        for method in rule.methods or ()
        if method in ("GET", "POST", "PUT", "PATCH", "DELETE") and rule.endpoint != "static"
    }
    assert routes == set(OPERATIONS)


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    """The part, or what it refers to."""
    found = DOCUMENT if "$ref" in part else part
    for step in part.get("$ref", "#").split("/")[1:]:
        found = found[step]
    return found


def check(method: str, path: str, answer: Any) -> None:
    """The status is one that the document names, below 500, and the body is of its schema."""
    described = {code: resolved(each) for code, each in DOCUMENT["paths"][path][method]["responses"].items()}
    assert answer.status_code < 500, answer.text
    assert str(answer.status_code) in described, (answer.status_code, answer.text)
    content = described[str(answer.status_code)]["content"]
    assert answer.mimetype in content
    if answer.mimetype == "application/json":
        schema = {**content["application/json"]["schema"], "components": DOCUMENT["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.get_json())


def ask(client: FlaskClient, method: str, path: str, names: dict[str, str], **options: Any) -> Any:
    """One request with these path parameters."""
    url = path
    for name, value in names.items():
        url = url.replace("{" + name + "}", quote(value, safe=""))
    return client.open(url, method=method.upper(), **options)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_a_plain_request_is_answered_as_described(method: str, path: str) -> None:
    """With good names: the first answer of the document, of its schema."""
    names = {name: values[0] for name, values in GOOD.items()}
    body = {"mode": "observe"} if path.endswith("mode") else {"version": "4", "alerts": [ALERT]}
    if path.endswith("release"):
        names["name"] = "b"
    answer = ask(a_world().client(), method, path, names, **({"json": body} if method == "post" else {}))
    assert str(answer.status_code) == next(iter(DOCUMENT["paths"][path][method]["responses"])), answer.text
    check(method, path, answer)


ALERT = {"status": "firing", "labels": {"alertname": "NodeMemoryPressure", "node": "a", "level": "red"}}


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@given(data=st.data(), headers=HEADERS, body=BODY)
def test_nothing_that_is_sent_makes_a_5xx(
    method: str, path: str, data: st.DataObject, headers: dict[str, str], body: str | bytes
) -> None:
    """Any path, headers and body: an answer that the document describes, and never the server's fault."""
    names = {name: data.draw(st.sampled_from(good) | st.text(min_size=1, max_size=20)) for name, good in GOOD.items()}
    if any(name in (".", "..") or "/" in name for name in names.values()):
        names = {name: values[0] for name, values in GOOD.items()}
    answer = ask(a_world().client(), method, path, names, headers=headers, data=body, query_string=data.draw(LATIN))
    check(method, path, answer)


@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
def test_whatever_a_record_holds_can_be_shown() -> None:
    """No record takes the pages or the lists down."""
    st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))

    @settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
    @given(state=st.from_type(NodeState), level=st.none() | st.sampled_from(Level))
    @example(state=replace(WAITS, phase=Phase.ACTING), level=Level.RED)
    def shown(state: NodeState, level: Level | None) -> None:
        web = Web(records=[FakeRecord("a", state)], levels={} if level is None else {"a": level})
        client = web.client()
        for path in ("/", "/nodes/a", "/api/v1/nodes", "/api/v1/plans"):
            answer = client.get(path)
            assert answer.status_code == 200, answer.text

    try:
        shown()
    finally:
        st.register_type_strategy(float, st.floats())
