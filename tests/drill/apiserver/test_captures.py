"""Every captured request of a real API server, asked again of the simulated one: same status, same body.

Volatile are only uids, versions, times and generated names that the server itself gives.
"""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from remediator.drill.apiserver.access import Access, Grant
from remediator.drill.apiserver.store import Store

HERE = Path(__file__).parent / "captures"
FILES = {path.name[:2]: path for path in sorted(HERE.glob("*.json"))}
Json = dict[str, Any]


def capture(number: str) -> Json:
    return json.loads(FILES[number].read_text())


def body(number: str) -> Json:
    return capture(number)["response"]["body"]


def load(store: Store, *objects: Json) -> None:
    for obj in objects:
        store.load(obj["kind"], obj)


def of_kind(kind: str, items: list[Json]) -> list[Json]:
    return [{"kind": kind, **item} for item in items]


def namespace(store: Store, **metadata: str) -> None:
    store.load("Namespace", {"kind": "Namespace", "metadata": {"name": "capture", "uid": "n", **metadata}})


def budget() -> Json:
    return of_kind("PodDisruptionBudget", body("10")["items"])[0]


def two_budgets(store: Store) -> None:
    second = copy.deepcopy(budget())
    second["metadata"]["name"] = "web-too"
    load(store, body("05"), budget(), second)


def lease(store: Store) -> None:
    load(store, body("29"))


def replaced_lease(store: Store) -> None:
    load(store, body("31"))


def definition(store: Store) -> None:
    made = requests.post(
        f"{store.url}{capture('42')['request']['path']}", json=capture("42")["request"]["body"], timeout=9
    )
    assert made.status_code == 201


def record(store: Store) -> None:
    definition(store)
    load(store, body("45"))


def changed_record(store: Store) -> None:
    definition(store)
    load(store, body("46"))


def pods(store: Store) -> None:
    load(store, *of_kind("Pod", body("04")["items"]))


# What must be there before a request makes sense; {} needs nothing.
BEFORE: dict[str, Callable[[Store], None]] = {
    "02": lambda s: load(s, body("02")),
    "04": pods,
    "05": lambda s: load(s, body("05")),
    "06": lambda s: load(s, *of_kind("ReplicaSet", body("06")["items"])),
    "07": lambda s: load(s, body("07")),
    "08": lambda s: load(s, body("08")),
    "09": lambda s: load(s, *of_kind("EndpointSlice", body("09")["items"])),
    "10": lambda s: load(s, budget()),
    "11": lambda s: load(s, body("05"), budget()),
    "12": lambda s: load(s, body("05"), budget()),
    "13": two_budgets,
    "14": lambda s: load(s, body("05")),
    "15": lambda s: load(s, body("05")),
    "16": lambda s: load(s, body("05")),
    "17": lambda s: load(s, body("05")),
    "18": lambda s: load(s, body("18")),
    "19": lambda s: load(s, body("18"), budget()),
    "22": lambda s: load(s, body("02")),
    "23": lambda s: load(s, body("23")),
    "24": lambda s: load(s, body("24")),
    "25": lambda s: load(s, body("24")),
    "26": lambda s: load(s, body("24")),
    "27": lambda s: load(s, body("26")),
    "28": lambda s: load(s, body("26")),
    "30": lease,
    "31": lease,
    "32": replaced_lease,
    "33": replaced_lease,
    "34": lambda s: load(s, {**body("34"), "metadata": _served(body("34")["metadata"])}),
    "35": lambda s: load(s, *of_kind("EndpointSlice", body("35")["items"])),
    "36": lambda s: load(s, *of_kind("Pod", body("36")["items"])),
    "37": lambda s: load(s, body("37")),
    "38": lambda s: load(s, body("37")),
    "39": lambda s: load(s, deployment(3)),
    "40": lambda s: load(s, deployment(3)),
    "43": definition,
    "44": definition,
    "45": record,
    "46": record,
    "47": changed_record,
    "48": changed_record,
    "53": lambda s: load(s, {**body("05"), "metadata": {**body("05")["metadata"], "name": "crunch-0"}}),
}
ELSEWHERE = {
    "50": "a watch is a stream of lines: test_watch.py",
    "51": "needs a user without rights: test_a_user_without_rights_is_told_what_is_missing",
    "52": "needs tokens: test_an_unknown_token_is_told_unauthorized",
}
TERMINATING = ("53", "54")


def _served(metadata: Json) -> Json:
    return {**metadata, "labels": {**metadata["labels"], "remediator.io/serving": "true"}}


def deployment(replicas: int) -> Json:
    metadata = body("39")["metadata"]
    selector = {"matchLabels": {"app": "web"}}
    status = {"replicas": 3}
    return {
        "kind": "Deployment",
        "metadata": {**metadata, "generation": 1},
        "spec": {"replicas": replicas, "selector": selector},
        "status": status,
    }


VOLATILE = ("uid", "resourceVersion", "creationTimestamp")


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


@pytest.mark.parametrize("number", [n for n in FILES if n not in ELSEWHERE])
def test_a_captured_request_is_answered_as_a_real_server_answered_it(number, serve):
    """The simulated server gives the captured status and body for the captured request."""
    store = Store()
    served = serve(store)
    store.url = served.url
    namespace(store, **({"deletionTimestamp": "2026-12-01T00:00:00Z"} if number in TERMINATING else {}))
    BEFORE.get(number, lambda s: None)(store)
    asked = capture(number)["request"]
    headers = {"Content-Type": asked.get("content_type") or "application/json"}
    if "accept" in asked:
        headers["Accept"] = asked["accept"]
    data = json.dumps(asked["body"]) if asked.get("body") is not None else None
    answer = requests.request(asked["method"], served.url + asked["path"], data=data, headers=headers, timeout=10)
    wanted = capture(number)["response"]
    assert answer.status_code == wanted["status"], answer.text
    generated = asked["method"] == "POST"
    got, want = settled(answer.json(), generated=generated), settled(wanted["body"], generated=generated)
    if number == "01":
        got.pop("gitCommit")
        want.pop("gitCommit")
    if number == "40":  # the deployment controller had already scaled down in neither
        assert got["spec"] == want["spec"]
    assert got == want


def test_an_evicted_pod_terminates_within_the_grace_period_asked_for(serve):
    """After captured eviction 17 the pod carries the deletion fields of capture 18."""
    store = Store()
    served = serve(store)
    namespace(store)
    load(store, body("05"))
    asked = capture("17")["request"]
    requests.post(served.url + asked["path"], json=asked["body"], timeout=10)
    pod = requests.get(served.url + capture("18")["request"]["path"], timeout=10).json()["metadata"]
    wanted = body("18")["metadata"]
    assert "deletionTimestamp" in pod
    assert pod["deletionGracePeriodSeconds"] == wanted["deletionGracePeriodSeconds"]
    assert pod["generation"] == wanted["generation"]


def test_a_user_without_rights_is_told_what_is_missing(serve):
    """RBAC's refusal of capture 51, word for word."""
    store = Store()
    user = "system:serviceaccount:capture:low"
    grants = [Grant(user, [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])]
    served = serve(store, Access({"t": user}, grants))
    answer = requests.post(
        f"{served.url}/api/v1/namespaces/capture/pods/web-7ff74b64f8-5646x/eviction",
        json={},
        headers={"Authorization": "Bearer t"},
        timeout=10,
    )
    assert (answer.status_code, answer.json()) == (403, body("51"))


def test_an_unknown_token_is_told_unauthorized(serve):
    """401 of capture 52, word for word."""
    served = serve(Store(), Access({"t": "somebody"}))
    answer = requests.get(f"{served.url}/api/v1/nodes", headers={"Authorization": "Bearer x"}, timeout=10)
    assert (answer.status_code, answer.json()) == (401, body("52"))
