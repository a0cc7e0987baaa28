"""The clients that matter, for real: the official Python client and kubectl, over HTTP."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import requests
from kubernetes import client, watch

from remediator.drill.apiserver.faults import Fault
from remediator.drill.apiserver.store import Store

POD = {
    "kind": "Pod",
    "metadata": {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {"nodeName": "n1", "containers": [{"name": "c"}], "terminationGracePeriodSeconds": 30},
}


@pytest.fixture
def cluster(serve):
    """A node, a namespace and a running pod."""
    store = Store()
    store.create("Namespace", {"metadata": {"name": "shop"}})
    store.create("Node", {"metadata": {"name": "n1", "labels": {"pool": "a"}}, "spec": {}})
    store.create("Pod", POD)
    store.update("Pod", {**POD, "status": {"phase": "Running"}}, subresource="status")
    return serve(store)


@pytest.fixture
def api(cluster):
    """The official client, pointed at it."""
    configuration = client.Configuration(host=cluster.url)
    return client.CoreV1Api(client.ApiClient(configuration))


def test_lists_select_by_node_and_label(api):
    """A field selector and a label selector narrow a list down, and others find nothing."""
    found = api.list_pod_for_all_namespaces(field_selector="spec.nodeName=n1", label_selector="app in (web)")
    assert [pod.metadata.name for pod in found.items] == ["web-1"]
    assert not api.list_pod_for_all_namespaces(field_selector="spec.nodeName=n2").items


def test_pages_of_a_list_join_to_the_whole(cluster, api):
    """Limit and continue give every object once."""
    for number in range(5):
        cluster.store.create("ConfigMap", {"metadata": {"name": f"c{number}", "namespace": "shop"}})
    names, token = [], None
    while True:
        page = api.list_namespaced_config_map("shop", limit=2, _continue=token)
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == [f"c{number}" for number in range(5)]


def test_a_watch_tells_what_comes_changes_and_goes(cluster, api):
    """A watch from a version gives every later change of the selected objects, in order."""
    since = api.list_namespaced_pod("shop").metadata.resource_version
    api.patch_namespaced_pod("web-1", "shop", {"metadata": {"labels": {"app": "other"}}})
    api.delete_namespaced_pod("web-1", "shop", grace_period_seconds=0)
    seen = watch.Watch().stream(api.list_namespaced_pod, "shop", resource_version=since, timeout_seconds=1)
    assert [event["type"] for event in seen] == ["MODIFIED", "DELETED"]


def test_an_object_that_leaves_the_selection_is_told_as_deleted(cluster, api):
    """To a watcher with a label selector a changed label looks like a deletion."""
    since = api.list_namespaced_pod("shop", label_selector="app=web").metadata.resource_version
    api.patch_namespaced_pod("web-1", "shop", {"metadata": {"labels": {"app": "other"}}})
    stream = watch.Watch().stream(
        api.list_namespaced_pod, "shop", label_selector="app=web", resource_version=since, timeout_seconds=1
    )
    assert [event["type"] for event in stream] == ["DELETED"]


def test_an_eviction_of_the_client_terminates_the_pod_gracefully(api):
    """The eviction body that the official client builds is understood."""
    body = client.V1Eviction(metadata=client.V1ObjectMeta(name="web-1", namespace="shop"))
    api.create_namespaced_pod_eviction("web-1", "shop", body)
    pod = api.read_namespaced_pod("web-1", "shop")
    assert pod.metadata.deletion_grace_period_seconds == 30


def test_a_lost_answer_has_taken_effect(cluster, api):
    """The connection breaks, and the pod terminates all the same."""
    cluster.faults.replace([Fault(method="POST", path="/eviction", lose_answer=True, times=1)])
    with pytest.raises(requests.ConnectionError):
        eviction = {"metadata": {"name": "web-1"}}
        requests.post(f"{cluster.url}/api/v1/namespaces/shop/pods/web-1/eviction", json=eviction, timeout=5)
    assert api.read_namespaced_pod("web-1", "shop").metadata.deletion_timestamp is not None


def test_throttling_is_told_apart_from_a_budget(cluster):
    """A 429 fault carries no DisruptionBudget cause."""
    cluster.faults.replace([Fault(status=429, times=1)])
    answer = requests.get(f"{cluster.url}/api/v1/nodes", timeout=5)
    assert answer.status_code == 429
    assert "causes" not in answer.json()["details"]


def test_the_request_log_says_what_was_asked(cluster, api):
    """Verb, resource and subresource of each request can be read back."""
    api.read_node("n1")
    asked = requests.get(f"{cluster.url}/drill/requests", timeout=5).json()[-1]
    assert (asked["verb"], asked["resource"], asked["name"], asked["status"]) == ("get", "nodes", "n1", 200)


kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")


@pytest.fixture
def run(cluster, tmp_path: Path):
    """Run kubectl against the server."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "drill", "cluster": {"server": cluster.url}}],
        "contexts": [{"name": "drill", "context": {"cluster": "drill", "user": "drill"}}],
        "users": [{"name": "drill", "user": {}}],
        "current-context": "drill",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))

    def call(*arguments: str) -> str:
        command = ["kubectl", "--kubeconfig", str(path), "--cache-dir", str(tmp_path / "cache"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@kubectl
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("get", "nodes"), "n1"),
        (("get", "pods", "-A", "-o", "wide"), "web-1"),
        (("get", "po", "web-1", "-n", "shop", "-o", "yaml"), "nodeName: n1"),
        (("get", "pods", "-n", "shop", "-o", "jsonpath={.items[0].metadata.name}"), "web-1"),
        (("api-resources",), "poddisruptionbudgets"),
        (("cordon", "n1"), "cordoned"),
        (("label", "node", "n1", "pool=b", "--overwrite"), "labeled"),
        (("annotate", "pod", "web-1", "-n", "shop", "a=b"), "annotated"),
        (("taint", "node", "n1", "x=y:NoSchedule"), "tainted"),
        (("patch", "node", "n1", "--type", "merge", "-p", '{"spec":{"unschedulable":true}}'), "patched"),
        (("delete", "pod", "web-1", "-n", "shop", "--wait=false"), "deleted"),
    ],
)
def test_kubectl_understands_the_server(run, arguments, shown):
    """An ordinary kubectl reads and changes the simulated cluster."""
    assert shown in run(*arguments)


@kubectl
def test_kubectl_shows_a_custom_resource_with_its_columns(cluster, run):
    """A CRD created over HTTP is served, with short name and printer columns."""
    captured = Path(__file__).parent / "captures" / "42-crd-create.json"
    asked = json.loads(captured.read_text())["request"]
    requests.post(cluster.url + asked["path"], json=asked["body"], timeout=5).raise_for_status()
    cluster.store.create("NodeRemediation", {"metadata": {"name": "n1"}, "status": {"level": "RED"}})
    assert "LEVEL" in run("get", "nrem")
    assert "RED" in run("get", "nrem")


@kubectl
def test_kubectl_watches(run):
    """`-w` first shows what is there, as a table."""
    assert "web-1" in run("get", "pods", "-n", "shop", "-w", "--request-timeout=1s")
