"""Every captured request of a real API server, asked again of the simulated one: same status, same body.

Volatile are only uids, versions, times and generated names that the server itself gives.
"""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
import requests

from remediator.drill.apiserver.access import Access, Grant
from remediator.drill.apiserver.store import Store
from tests.drill.apiserver.captured import FILES, Json, body, budget, capture, load, namespace, of_kind
from tests.simulated import Serve, Served

Before = Callable[[Served], None]


def nothing(served: Served) -> None:
    """The request makes sense in an empty namespace."""


def stored(*objects: Callable[[], Json] | str) -> Before:
    """Load bodies of captures (by number), or made objects."""

    def before(served: Served) -> None:
        load(served.store, *(body(each) if isinstance(each, str) else each() for each in objects))

    return before


def listed(number: str, kind: str) -> Before:
    """Load the items of a captured list."""
    return lambda served: load(served.store, *of_kind(kind, body(number)["items"]))


def second_budget() -> Json:
    second = copy.deepcopy(budget())
    second["metadata"]["name"] = "web-too"
    return second


def definition(served: Served) -> None:
    asked = capture("42")["request"]
    assert requests.post(served.url + asked["path"], json=asked["body"], timeout=9).status_code == 201


def defined(number: str) -> Before:
    def before(served: Served) -> None:
        definition(served)
        load(served.store, body(number))

    return before


def serving_pod() -> Json:
    pod = body("34")
    labels = {**pod["metadata"]["labels"], "remediator.io/serving": "true"}
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}


def deployment() -> Json:
    return {
        "kind": "Deployment",
        "metadata": {**body("39")["metadata"], "generation": 1},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": 3},
    }


def pod_of_the_job() -> Json:
    pod = body("05")
    return {**pod, "metadata": {**pod["metadata"], "name": "crunch-0"}}


# What must be there before a request makes sense; numbers without an entry need nothing.
BEFORE: dict[str, Before] = {
    "02": stored("02"),
    "04": listed("04", "Pod"),
    "05": stored("05"),
    "06": listed("06", "ReplicaSet"),
    "07": stored("07"),
    "08": stored("08"),
    "09": listed("09", "EndpointSlice"),
    "10": stored(budget),
    "11": stored("05", budget),
    "12": stored("05", budget),
    "13": stored("05", budget, second_budget),
    "14": stored("05"),
    "15": stored("05"),
    "16": stored("05"),
    "17": stored("05"),
    "18": stored("18"),
    "19": stored("18", budget),
    "22": stored("02"),
    "23": stored("23"),
    "24": stored("24"),
    "25": stored("24"),
    "26": stored("24"),
    "27": stored("26"),
    "28": stored("26"),
    "30": stored("29"),
    "31": stored("29"),
    "32": stored("31"),
    "33": stored("31"),
    "34": stored(serving_pod),
    "35": listed("35", "EndpointSlice"),
    "36": listed("36", "Pod"),
    "37": stored("37"),
    "38": stored("37"),
    "39": stored(deployment),
    "40": stored(deployment),
    "43": definition,
    "44": definition,
    "45": defined("45"),
    "46": defined("45"),
    "47": defined("46"),
    "48": defined("46"),
    "53": stored(pod_of_the_job),
}
ELSEWHERE = {
    "50": "a watch is a stream of lines: test_watches.py",
    "51": "needs a user without rights, and names no path: test_a_user_without_rights_is_told_what_is_missing",
    "52": "needs tokens, and names no path: test_an_unknown_token_is_told_unauthorized",
}
TERMINATING = ("53", "54")
VOLATILE = ("uid", "resourceVersion", "creationTimestamp")
NOT_OURS = {
    "01": ("gitCommit",),  # whose build it is
}


def settled(value: Any, *, generated: bool) -> Any:
    """The body without what differs from run to run."""
    if isinstance(value, list):
        return [settled(item, generated=generated) for item in value]
    if not isinstance(value, dict):
        return value
    left = {key: settled(item, generated=generated) for key, item in value.items() if key not in VOLATILE}
    if generated and "generateName" in left:
        left.pop("name")
    return left


def ask(served: Served, number: str) -> requests.Response:
    """Send a captured request."""
    asked = capture(number)["request"]
    headers = {"Content-Type": asked.get("content_type") or "application/json"}
    if "accept" in asked:
        headers["Accept"] = asked["accept"]
    data = json.dumps(asked["body"]) if asked.get("body") is not None else None
    return requests.request(asked["method"], served.url + asked["path"], data=data, headers=headers, timeout=10)


@pytest.mark.parametrize("number", [n for n in FILES if n not in ELSEWHERE])
def test_a_captured_request_is_answered_as_a_real_server_answered_it(number: str, serve: Serve) -> None:
    """The simulated server gives the captured status, headers and body for the captured request."""
    served = serve(Store())
    namespace(served.store, **({"deletionTimestamp": "2026-12-01T00:00:00Z"} if number in TERMINATING else {}))
    BEFORE.get(number, nothing)(served)
    answer, wanted = ask(served, number), capture(number)["response"]
    assert answer.status_code == wanted["status"], answer.text
    assert wanted.get("headers", {}).items() <= dict(answer.headers).items()
    generated = capture(number)["request"]["method"] == "POST"
    got, want = settled(answer.json(), generated=generated), settled(wanted["body"], generated=generated)
    for key in NOT_OURS.get(number, ()):
        assert bool(got.pop(key)) is bool(want.pop(key))
    assert got == want


def test_every_capture_is_replayed_or_says_where() -> None:
    """No capture is left out silently, and none is excused that is replayed."""
    assert set(ELSEWHERE) | set(BEFORE) <= set(FILES)
    assert not set(ELSEWHERE) & set(BEFORE)


def test_an_evicted_pod_terminates_and_is_marked_as_captured(serve: Serve) -> None:
    """After the eviction of 17 the pod is that of 18: deletion fields, generation, DisruptionTarget."""
    served = serve(Store())
    namespace(served.store)
    load(served.store, body("05"))
    ask(served, "17")
    pod, wanted = ask(served, "18").json(), body("18")
    for key in ("deletionGracePeriodSeconds", "generation"):
        assert pod["metadata"][key] == wanted["metadata"][key]
    assert "deletionTimestamp" in pod["metadata"]
    told, want = pod["status"]["conditions"][-1], wanted["status"]["conditions"][-1]
    assert {**told, "lastTransitionTime": ""} == {**want, "lastTransitionTime": ""}


def test_the_lease_story_of_the_captures_is_told_in_one_go(serve: Serve) -> None:
    """Create, create again, replace, replace with the old version, on one server: as captured 29 to 33."""
    served = serve(Store())
    namespace(served.store)
    made = ask(served, "29").json()
    assert ask(served, "30").status_code == 409
    path = f"{served.url}{capture('31')['request']['path']}"
    replaced = requests.put(path, json={**made, "spec": capture("31")["request"]["body"]["spec"]}, timeout=9)
    assert replaced.status_code == 200
    assert replaced.json()["spec"] == body("31")["spec"]
    assert requests.put(path, json=made, timeout=9).status_code == 409


def test_a_user_without_rights_is_told_what_is_missing(serve: Serve) -> None:
    """RBAC's refusal of capture 51, word for word."""
    user = "system:serviceaccount:capture:low"
    grants = [Grant(user, [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])]
    served = serve(Store(), Access({"t": user}, grants))
    path = "/api/v1/namespaces/capture/pods/web-7ff74b64f8-5646x/eviction"
    answer = requests.post(served.url + path, json={}, headers={"Authorization": "Bearer t"}, timeout=10)
    assert (answer.status_code, answer.json()) == (403, body("51"))


def test_an_unknown_token_is_told_unauthorized(serve: Serve) -> None:
    """401 of capture 52, word for word."""
    served = serve(Store(), Access({"t": "somebody"}))
    answer = requests.get(f"{served.url}/api/v1/nodes", headers={"Authorization": "Bearer x"}, timeout=10)
    assert (answer.status_code, answer.json()) == (401, body("52"))
