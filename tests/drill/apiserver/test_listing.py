"""Lists: selectors, pages, versions, and what they cost."""

from typing import Any

import pytest

from remediator.drill.apiserver.store import Store
from tests.drill.apiserver.conftest import pod
from tests.simulated import Serve, Served


def names(served: Served, query: str, plural: str = "pods") -> list[str]:
    answer = served.ask("GET", f"/api/v1/{plural}?{query}")
    assert answer.status_code == 200, answer.text
    return [item["metadata"]["name"] for item in answer.json()["items"]]


def config_maps(served: Served, count: int) -> None:
    for number in range(count):
        metadata = {"name": f"c{number}", "namespace": "shop"}
        served.inside(Store.create, "ConfigMap", {"metadata": metadata})


def test_lists_select_by_node_and_label(api: Any) -> None:
    """A field selector and a label selector narrow a list down, and others find nothing."""
    found = api.list_pod_for_all_namespaces(field_selector="spec.nodeName=n1", label_selector="app in (web)")
    assert [each.metadata.name for each in found.items] == ["web-1"]
    assert not api.list_pod_for_all_namespaces(field_selector="spec.nodeName=n2").items


def test_a_field_may_be_named_twice(cluster: Served) -> None:
    """kubectl describe node asks for pods that have neither succeeded nor failed."""
    for name, phase in (("done", "Succeeded"), ("failed", "Failed")):
        cluster.inside(Store.create, "Pod", pod(name))
        changed = {**pod(name), "status": {"phase": phase}}
        cluster.inside(Store.update, "Pod", changed, subresource="status")
    both = "fieldSelector=spec.nodeName%3Dn1,status.phase!%3DSucceeded,status.phase!%3DFailed"
    assert names(cluster, both) == ["web-1"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("fieldSelector=spec.colour%3Dred", "field label not supported: spec.colour"),
        ("fieldSelector=spec.nodeName", "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'"),
        ("labelSelector=a%3D%3D%3Db", "unable to parse requirement: found 'a===b'"),
        ("limit=many", "invalid limit: 'many' is not a number"),
        ("limit=1&continue=nonsense", "continue key is not valid"),
    ],
)
def test_a_list_that_cannot_be_understood_is_a_bad_request(cluster: Served, query: str, message: str) -> None:
    """400, and what was not understood."""
    answer = cluster.ask("GET", f"/api/v1/pods?{query}")
    assert (answer.status_code, answer.json()["message"]) == (400, message)


def test_pages_of_a_list_join_to_the_whole(cluster: Served, api: Any) -> None:
    """Limit and continue give every object once, even when some come and go meanwhile."""
    config_maps(cluster, 6)
    seen: list[str] = []
    token = None
    while True:
        page = api.list_namespaced_config_map("shop", limit=2, _continue=token)
        seen += [item.metadata.name for item in page.items]
        token = page.metadata._continue
        if not token:
            break
        cluster.inside(lambda store: store.find("ConfigMap", "shop", "c0") and store.delete("ConfigMap", "shop", "c0"))
    assert seen == [f"c{number}" for number in range(6)]


def test_a_page_says_how_many_remain_unless_a_selector_hides_it(cluster: Served) -> None:
    """remainingItemCount as on a real server: not with selectors; and no pages at all from its cache."""
    config_maps(cluster, 3)
    paths = ("limit=1", "limit=1&labelSelector=!x", "limit=1&resourceVersion=0")
    first, selected, cached = (cluster.ask("GET", f"/api/v1/configmaps?{query}").json() for query in paths)
    assert first["metadata"]["remainingItemCount"] == 2
    assert "continue" in selected["metadata"] and "remainingItemCount" not in selected["metadata"]
    assert len(cached["items"]) == 3


def test_a_page_of_a_forgotten_version_is_gone(serve: Serve) -> None:
    """410 Expired, so that the client lists from the start."""
    store = Store(history=5)
    for number in range(3):
        store.create("Node", {"metadata": {"name": f"n{number}"}, "spec": {}})
    served = serve(store)
    token = served.ask("GET", "/api/v1/nodes?limit=1").json()["metadata"]["continue"]
    for number in range(10):
        served.inside(Store.create, "Node", {"metadata": {"name": f"m{number}"}, "spec": {}})
    answer = served.ask("GET", f"/api/v1/nodes?limit=1&continue={token}")
    assert (answer.status_code, answer.json()["reason"]) == (410, "Expired")


def test_a_version_that_is_not_reached_yet_is_a_timeout(cluster: Served) -> None:
    """504 with the cause that clients look for, and when to come again."""
    answer = cluster.ask("GET", "/api/v1/nodes?resourceVersion=999999")
    assert (answer.status_code, answer.headers["Retry-After"]) == (504, "1")
    assert answer.json()["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_a_node_s_pods_are_found_after_every_change(cluster: Served) -> None:
    """The index of pods by node follows creation, binding, status, labels and deletion."""
    on_node = "fieldSelector=spec.nodeName%3Dn1&resourceVersion=0"
    cluster.inside(Store.create, "Pod", pod("a-1"))
    assert names(cluster, on_node) == ["a-1", "web-1"]
    cluster.patch("/api/v1/namespaces/shop/pods/a-1", {"metadata": {"labels": {"app": "x"}}})
    assert names(cluster, f"{on_node}&labelSelector=app%3Dx") == ["a-1"]
    cluster.inside(Store.delete, "Pod", "shop", "web-1")
    assert names(cluster, on_node) == ["a-1"]


def test_a_changed_object_is_never_shown_as_it_was(cluster: Served) -> None:
    """The bytes kept for an object belong to one version of it."""
    path = "/api/v1/namespaces/shop/pods/web-1"
    assert cluster.ask("GET", path).json()["metadata"]["labels"] == {"app": "web"}
    cluster.patch(path, {"metadata": {"labels": {"app": "x"}}})
    assert cluster.ask("GET", path).json()["metadata"]["labels"] == {"app": "x"}
    assert cluster.ask("GET", "/api/v1/pods").json()["items"][0]["metadata"]["labels"] == {"app": "x"}


def test_items_of_a_list_do_not_say_their_kind_unless_custom(cluster: Served) -> None:
    """As a real server writes them."""
    assert "kind" not in cluster.ask("GET", "/api/v1/pods").json()["items"][0]
