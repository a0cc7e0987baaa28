"""Watches over real HTTP: what they tell, once and in order, and how they end."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import requests
from kubernetes import watch

from remediator.drill.apiserver.store import Store
from tests.drill.apiserver.captured import capture, load
from tests.drill.apiserver.conftest import RUNNING, pod
from tests.simulated import Serve, Served

Json = dict[str, Any]


def lines(served: Served, path: str, **headers: str) -> Iterator[Json]:
    """Events of a watch, as they come."""
    answer = requests.get(served.url + path, headers=headers, stream=True, timeout=10)
    assert answer.status_code == 200, answer.text
    return (json.loads(line) for line in answer.iter_lines())


def test_a_watch_from_nothing_begins_as_captured(serve: Serve) -> None:
    """Capture 50: from resourceVersion 0 every node comes as ADDED, whole, as the real server sent it."""
    store, wanted = Store(), capture("50")
    load(store, *(line["object"] for line in wanted["response"]["lines"]))
    served = serve(store)
    assert list(lines(served, wanted["request"]["path"])) == wanted["response"]["lines"]


def test_a_watch_tells_what_comes_changes_and_goes(cluster: Served, api: Any) -> None:
    """A watch from a version gives every later change of the selected objects, in order, to the official client."""
    since = api.list_namespaced_pod("shop").metadata.resource_version
    api.create_namespaced_pod("shop", {"metadata": {"name": "new"}, "spec": {"containers": [{"name": "c"}]}})
    api.patch_namespaced_pod("web-1", "shop", {"metadata": {"labels": {"app": "other"}}})
    api.delete_namespaced_pod("web-1", "shop", grace_period_seconds=0)
    stream = watch.Watch().stream(api.list_namespaced_pod, "shop", resource_version=since, timeout_seconds=1)
    seen = [(event["type"], event["object"].metadata.name) for event in stream]
    assert seen == [("ADDED", "new"), ("MODIFIED", "web-1"), ("DELETED", "web-1")]


def test_changes_during_a_watch_are_told_once(cluster: Served) -> None:
    """What is there comes once, then each change once, in the order of their versions."""
    stream = lines(cluster, "/api/v1/namespaces/shop/pods?watch=1&timeoutSeconds=2")
    assert next(stream)["type"] == "ADDED"

    def change(store: Store) -> None:
        for number in range(20):
            store.create("Pod", pod(f"p{number}"))

    cluster.inside(change)
    told = list(stream)
    assert [event["object"]["metadata"]["name"] for event in told] == [f"p{number}" for number in range(20)]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in told]
    assert versions == sorted(versions)


def test_entering_a_selection_looks_like_added_and_leaving_it_like_deleted(cluster: Served) -> None:
    """To a watcher with a label selector a changed label is a coming or a going; others' changes are silent."""
    since = cluster.ask("GET", "/api/v1/pods").json()["metadata"]["resourceVersion"]
    cluster.inside(Store.create, "Pod", {**pod("other"), "metadata": {"name": "o", "namespace": "shop"}})
    for value in ("db", "db2", "web"):
        cluster.patch("/api/v1/namespaces/shop/pods/web-1", {"metadata": {"labels": {"app": value}}})
    path = f"/api/v1/namespaces/shop/pods?watch=1&labelSelector=app%3Dweb&timeoutSeconds=1&resourceVersion={since}"
    told = list(lines(cluster, path))
    assert [event["type"] for event in told] == ["DELETED", "ADDED"]
    assert told[0]["object"]["metadata"]["labels"] == {"app": "web"}, "the last state that was selected"


def test_a_field_selector_follows_pods_onto_their_node(cluster: Served) -> None:
    """A pod that is bound to the node enters the node's watch."""
    since = cluster.ask("GET", "/api/v1/pods").json()["metadata"]["resourceVersion"]
    unbound = pod("late")
    del unbound["spec"]["nodeName"]
    cluster.inside(Store.create, "Pod", unbound)
    binding = {"metadata": {"name": "late"}, "target": {"kind": "Node", "name": "n1"}}
    assert cluster.ask("POST", "/api/v1/namespaces/shop/pods/late/binding", binding).status_code == 201
    path = f"/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1&timeoutSeconds=1&resourceVersion={since}"
    assert [event["type"] for event in lines(cluster, path)] == ["ADDED", "MODIFIED"]


def test_a_version_that_is_forgotten_is_gone(serve: Serve) -> None:
    """A watch from before what is remembered gets one ERROR event of 410 Expired, and its stream ends."""
    store = Store(history=5)
    first = store.create("Node", {"metadata": {"name": "n0"}, "spec": {}})["metadata"]["resourceVersion"]
    for number in range(1, 10):
        store.create("Node", {"metadata": {"name": f"n{number}"}, "spec": {}})
    served = serve(store)
    told = list(lines(served, f"/api/v1/nodes?watch=1&resourceVersion={first}"))
    assert [(event["type"], event["object"]["code"], event["object"]["reason"]) for event in told] == [
        ("ERROR", 410, "Expired")
    ]


def test_bookmarks_carry_the_version_only(cluster: Served) -> None:
    """A client that allows bookmarks is told, before the time is up, how far it has got."""
    path = "/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=0"
    *_, last = lines(cluster, path)
    assert last["type"] == "BOOKMARK"
    assert last["object"]["metadata"]["resourceVersion"] == str(cluster.store.version)
    assert "spec" not in last["object"]


def test_initial_events_end_with_their_bookmark(cluster: Served) -> None:
    """`sendInitialEvents`: all there is, then the bookmark that says so."""
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    first, second = itertools.islice(lines(cluster, f"/api/v1/nodes?{query}&timeoutSeconds=1"), 2)
    assert (first["type"], second["type"]) == ("ADDED", "BOOKMARK")
    assert second["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_table_watch_says_its_columns_once(cluster: Served) -> None:
    """kubectl's `-w`: rows one by one, columns with the first only."""
    stream = lines(
        cluster, "/api/v1/pods?watch=1&timeoutSeconds=1", Accept="application/json;as=Table;v=v1;g=meta.k8s.io"
    )
    first = next(stream)["object"]
    cluster.inside(Store.update, "Pod", {**pod(), "status": {**RUNNING, "phase": "Failed"}}, subresource="status")
    second = next(stream)["object"]
    assert [column["name"] for column in first["columnDefinitions"]][:3] == ["Name", "Ready", "Status"]
    assert second["columnDefinitions"] is None
    assert second["rows"][0]["cells"][2] == "Failed"


def test_streams_end_when_the_server_goes_down(cluster: Served) -> None:
    """A watcher's stream ends properly instead of hanging or breaking."""
    stream = lines(cluster, "/api/v1/nodes?watch=1")
    next(stream)
    cluster.stop_streams()
    assert list(stream) == []


def test_a_watch_is_in_the_request_log_while_it_runs(cluster: Served) -> None:
    """Verb watch, noted when it begins."""
    stream = lines(cluster, "/api/v1/nodes?watch=1&timeoutSeconds=5")
    next(stream)
    asked = cluster.ask("GET", "/drill/requests").json()[-1]
    assert (asked["verb"], asked["resource"], asked["status"]) == ("watch", "nodes", None)
