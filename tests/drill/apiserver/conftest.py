"""Fixtures of this folder: simulated API servers over real HTTP, and the clients pointed at one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from remediator.drill.apiserver.store import Store
from tests.simulated import Serve, Served, serving


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers that are stopped after the test."""
    with serving() as start:
        yield start


def pod(name: str = "web-1", **spec: Any) -> dict[str, Any]:
    """A pod of the namespace shop, bound to node n1."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "c"}], "terminationGracePeriodSeconds": 30, **spec},
    }


RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.fixture
def cluster(serve: Serve) -> Served:
    """A node n1, the namespaces shop and default, a running and ready pod web-1."""
    store = Store()
    for name in ("default", "shop"):
        store.create("Namespace", {"metadata": {"name": name}})
    store.create("Node", {"metadata": {"name": "n1", "labels": {"pool": "a"}}, "spec": {}})
    store.create("Pod", pod())
    store.update("Pod", {**pod(), "status": RUNNING}, subresource="status")
    return serve(store)


@pytest.fixture
def api_client(cluster: Served) -> Any:
    """The official client, pointed at it."""
    return client.ApiClient(client.Configuration(host=cluster.url))


@pytest.fixture
def api(api_client: Any) -> Any:
    """Its core API."""
    return client.CoreV1Api(api_client)


@pytest.fixture
def kubeconfig(cluster: Served, tmp_path: Path) -> Path:
    """A kubeconfig file for it."""
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
    return path
