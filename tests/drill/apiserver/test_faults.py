"""Faults on purpose, and the request log: what tests of the product lean on."""

from typing import Any

import pytest
import requests

from remediator.drill.apiserver.faults import Fault, Faults
from tests.simulated import Served

EVICTION = "/api/v1/namespaces/shop/pods/web-1/eviction"


def test_a_lost_answer_has_taken_effect(cluster: Served, api: Any) -> None:
    """The connection breaks, and the pod terminates all the same."""
    cluster.faults.replace([Fault(method="POST", path="/eviction", lose_answer=True, times=1)])
    with pytest.raises(requests.ConnectionError):
        cluster.ask("POST", EVICTION, {"metadata": {"name": "web-1"}})
    assert api.read_namespaced_pod("web-1", "shop").metadata.deletion_timestamp is not None


@pytest.mark.parametrize(("lost", "terminates"), [(False, False), (True, True)])
def test_silence_comes_with_or_without_effect(cluster: Served, lost: bool, terminates: bool) -> None:
    """A client's time-out says nothing about what has happened: both happen here."""
    cluster.faults.replace([Fault(verb="create", resource="pods/eviction", never_answer=True, lose_answer=lost)])
    with pytest.raises(requests.ReadTimeout):
        requests.post(cluster.url + EVICTION, json={"metadata": {"name": "web-1"}}, timeout=0.3)
    metadata = cluster.ask("GET", "/api/v1/namespaces/shop/pods/web-1").json()["metadata"]
    assert ("deletionTimestamp" in metadata) is terminates
    assert cluster.ask("GET", "/drill/requests").json()[0]["verb"] == "create"


def test_throttling_is_told_apart_from_a_budget(cluster: Served) -> None:
    """A 429 fault carries no DisruptionBudget cause, and Retry-After when asked for."""
    cluster.faults.replace([Fault(status=429, retry_after_seconds=2, times=1)])
    answer = cluster.ask("GET", "/api/v1/nodes")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "2")
    assert "causes" not in answer.json()["details"]
    assert cluster.ask("GET", "/api/v1/nodes").status_code == 200


def test_faults_are_chosen_by_what_is_asked() -> None:
    """Verb and resource, whole words; the first rule that matches applies."""
    watches, rest = Fault(verb="watch|list", resource="pods"), Fault(status=503)
    faults = Faults(rules=[watches, rest])
    assert faults.hit("GET", "/api/v1/pods", "list", "pods") is watches
    assert faults.hit("POST", "/x/pods/p/eviction", "create", "pods/eviction") is rest


def test_probable_faults_come_alike_from_one_seed() -> None:
    """A story with chances can be told again."""

    def story(seed: int) -> list[bool]:
        faults = Faults(seed, [Fault(probability=0.5)])
        return [faults.hit("GET", "/") is not None for _ in range(50)]

    assert story(7) == story(7)
    assert len(set(story(7))) == 2


def test_faults_are_set_over_http(cluster: Served) -> None:
    """PUT puts rules in force, GET shows them and how often they may still come."""
    rule = {"path": "/nodes", "status": 503, "times": 2}
    assert cluster.ask("PUT", "/drill/faults", [rule]).json() == {"faults": 1}
    assert cluster.ask("GET", "/api/v1/nodes").status_code == 503
    assert cluster.ask("GET", "/drill/faults").json()[0]["times"] == 1
    cluster.ask("PUT", "/drill/faults", [])
    assert cluster.ask("GET", "/api/v1/nodes").status_code == 200


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ([{"statu": 500}], "unknown key 'statu'"),
        ([{"status": "500"}], "status must be a whole number, not '500'"),
        ([{"status": 200}], "status must be between 400 and 599"),
        ([{"path": "("}], "path is no regular expression"),
        ([{"probability": 2}], "probability must be between 0 and 1"),
        ([{"never_answer": 1}], "never_answer must be true or false"),
        ({"status": 500}, "a list of objects is wanted"),
    ],
)
def test_a_wrong_fault_is_told_by_its_key(cluster: Served, raw: Any, told: str) -> None:
    """400, and the rules in force stay."""
    answer = cluster.ask("PUT", "/drill/faults", raw)
    assert (answer.status_code, told in answer.json()["error"]) == (400, True), answer.text
    assert cluster.faults.rules == []


def test_the_request_log_says_what_was_asked(cluster: Served, api: Any) -> None:
    """Verb, resource, subresource, user agent and status of each request can be read back."""
    api.read_node("n1")
    cluster.ask("POST", EVICTION, {"metadata": {"name": "web-1"}})
    cluster.ask("DELETE", "/api/v1/namespaces/shop/pods")
    read, evicted, deleted = cluster.ask("GET", "/drill/requests").json()
    assert (read["verb"], read["resource"], read["name"], read["status"]) == ("get", "nodes", "n1", 200)
    assert "python" in read["user_agent"]
    assert (evicted["verb"], evicted["resource"], evicted["subresource"]) == ("create", "pods", "eviction")
    assert (deleted["verb"], deleted["resource"]) == ("deletecollection", "pods")
