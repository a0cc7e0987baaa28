"""Fixtures of the adapters: a populated simulated cluster over real HTTP, and the wrapped official client."""

import pytest
from kubernetes import client

from remediator.adapters.kubernetes_api import KubernetesApi
from remediator.drill.apiserver.store import Store
from tests.adapters.canned import answering
from tests.adapters.world import a_store
from tests.simulated import Served, serving

NODES = {"n1": "10.0.0.1", "n2": "10.0.0.2", "n3": "fd00::3"}


@pytest.fixture
def serve():
    """Start servers that are stopped after the test."""
    with serving() as start:
        yield start


@pytest.fixture
def cluster(serve) -> Served:
    """Three nodes, a namespace, a Deployment's ready pod `web-1` on n1 behind a Service."""
    store = Store()
    for name in ("shop", "remediator", "default"):
        store.create("Namespace", {"metadata": {"name": name}})
    for name, address in NODES.items():
        store.create("Node", {"metadata": {"name": name, "labels": {}}, "spec": {}})
        addresses = [{"type": "InternalIP", "address": address}]
        status = {"addresses": addresses, "allocatable": {"memory": "16Gi"}}
        store.update("Node", {**store.get("Node", None, name), "status": status}, subresource="status")
    pod(store, "web-1")
    return serve(store)


def pod(store: Store, name: str, node: str = "n1", **metadata: object) -> dict:
    """A ready pod."""
    labels = {"app": "web", "remediator.io/serving": "true"}
    body = {
        "metadata": {"name": name, "namespace": "shop", "labels": labels, **metadata},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {"memory": "1Gi"}}}],
            "terminationGracePeriodSeconds": 30,
        },
    }
    made = store.create("Pod", body)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-12-01T00:01:00Z"}
    running = {"running": {"startedAt": "2026-12-01T00:00:00Z"}}
    statuses = [{"name": "c", "state": running, "ready": True, "restartCount": 0}]
    status = {"phase": "Running", "qosClass": "Burstable", "conditions": [ready], "containerStatuses": statuses}
    return store.update("Pod", {**made, "status": status}, subresource="status")


@pytest.fixture
def api(cluster) -> KubernetesApi:
    """The wrapped client, pointed at the cluster."""
    return KubernetesApi(client.Configuration(host=cluster.url))


@pytest.fixture
def canned():
    """Start servers that give canned answers."""
    with answering() as start:
        yield start


@pytest.fixture
def simulated(serve) -> Served:
    """A fuller cluster: workloads over two nodes, a Job, a DaemonSet."""
    return serve(a_store())
