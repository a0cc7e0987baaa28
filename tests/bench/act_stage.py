"""The stage of `make bench-act`: a simulated cluster, a Prometheus and an Alertmanager of canned answers, and the
product as a process of its own. Everything speaks real HTTP on loopback."""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import yaml

REPO = Path(__file__).parents[2]
sys.path.insert(0, str(REPO))

from remediator.drill.processes import free_port  # noqa: E402
from tests.adapters.canned import Asked, Canned, answering  # noqa: E402

Json = dict[str, Any]
GIB, MIB = 2**30, 2**20
PODS_PER_NODE = 110
NAMESPACES = 8
POD_BYTES = 500 * MIB
NODE_BYTES = 64 * GIB


def scenario(nodes: int, pods_per_node: int = PODS_PER_NODE) -> Json:
    """Nodes full of pods of several namespaces; one batch Job has its pods on all of them."""
    online, each = pods_per_node - 10, {}
    for node in range(1, nodes + 1):
        each[f"node-{node}"] = online // NAMESPACES
    workloads = [
        {"kind": "Deployment", "namespace": f"shop-{n}", "name": "api", "replicas": sum(each.values())}
        | {"usage": POD_BYTES, "request": "256Mi", "service": True, "placement": dict(each)}
        for n in range(NAMESPACES)
    ]
    batch = {f"node-{node}": pods_per_node - NAMESPACES * (online // NAMESPACES) for node in range(1, nodes + 1)}
    workloads.append(
        {"kind": "Job", "namespace": "batch", "name": "crunch", "replicas": sum(batch.values())}
        | {"usage": POD_BYTES, "request": "256Mi", "placement": batch}
    )
    return {
        "name": "bench-act",
        "title": "full nodes",
        "duration": "60m",
        "focus": "node-1",
        "nodes": [{"name": "node-{n}", "count": nodes, "memory": NODE_BYTES, "system": "1Gi"}],
        "workloads": workloads,
    }


POLICY: Json = {
    "mode": "enforce",
    "business": [{"namespace": "batch", "tier": "offline"}, {"namespace": "shop-*", "tier": "important"}],
    "caps": {"nodes_acting": 100, "evictions_per_hour": 1000, "evictions_per_namespace_per_hour": 1000}
    | {"nodes_cordoned_ratio": 1.0, "storm_red_ratio": 1.0},
}


class Prometheus:
    """Answers the product's own questions from the cluster's pods: nodes named in `red` are RED, the others GREEN."""

    def __init__(self, pods: list[Json], nodes: list[str]) -> None:
        self.red: set[str] = set()
        self._nodes = nodes
        self._uids: dict[str, list[str]] = {node: [] for node in nodes}
        for pod in (pod for pod in pods if "nodeName" in pod["spec"]):
            self._uids[pod["spec"]["nodeName"]].append(pod["metadata"]["uid"])

    def answer(self, asked: Asked) -> Json:
        """Of /api/v1/query."""
        query = (asked.query.get("query") or [""])[0]
        if query == "time()":
            return _data("scalar", [time.time(), str(time.time())])
        if query == "node:memory_level":
            return _vector([({"node": node}, 3 if node in self.red else 0) for node in self._nodes])
        node = next((name for name in self._nodes if f'node="{name}"' in query), None)
        if node is None:
            return _vector([])
        return _vector(self._memory(node) if "__name__" in query else self._pods(node))

    def _memory(self, node: str) -> list[tuple[Json, float]]:
        level, used = (3, 0.95) if node in self.red else (0, 0.4)
        recorded = {
            "node:memory_level": level,
            "node:memory_total:bytes": NODE_BYTES,
            "node:memory_available:bytes": round((1 - used) * NODE_BYTES),
        }
        found: list[tuple[Json, float]] = [({"__name__": name}, value) for name, value in recorded.items()]
        return [*found, ({"what": "sampled_at"}, time.time())]

    def _pods(self, node: str) -> list[tuple[Json, float]]:
        values = {"working_set": POD_BYTES, "anon": POD_BYTES, "sampled_at": time.time(), "previous": POD_BYTES}
        return [({"what": what, "uid": uid}, value) for what, value in values.items() for uid in self._uids[node]]


def _data(kind: str, result: Any) -> Json:
    return {"status": "success", "data": {"resultType": kind, "result": result}}


def _vector(samples: list[tuple[Json, float]]) -> Json:
    return _data("vector", [{"metric": labels, "value": [time.time(), str(value)]} for labels, value in samples])


@dataclass(slots=True)
class Stage:
    """What runs, and where."""

    cluster: str
    product: str
    prometheus: Prometheus
    prometheus_url: str
    alertmanager: Canned
    process: subprocess.Popen[bytes]
    nodes: list[str]

    def alert(self, node: str) -> Json:
        """One alert as Alertmanager sends it."""
        labels = {"alertname": "NodeMemoryPressure", "node": node, "level": "red", "severity": "critical"}
        times = {"startsAt": "2026-12-01T00:00:00Z", "endsAt": "0001-01-01T00:00:00Z"}
        return {"status": "firing", "labels": labels, "annotations": {}, "fingerprint": f"f-{node}", **times}

    def webhook(self, nodes: list[str]) -> Json:
        """One body with an alert for each of these nodes."""
        head = {"version": "4", "groupKey": "{}", "truncatedAlerts": 0, "status": "firing", "receiver": "remediator"}
        return {**head, "groupLabels": {}, "commonLabels": {}, "commonAnnotations": {}, "externalURL": ""} | {
            "alerts": [self.alert(node) for node in nodes]
        }

    def requests(self) -> list[Json]:
        """What the API server was asked so far."""
        found: list[Json] = requests.get(f"{self.cluster}/drill/requests", timeout=10).json()
        return found


def wait_for(ready: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Until it is so. RuntimeError when it does not come."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(requests.RequestException, OSError):
            if ready():
                return
        time.sleep(0.02)
    raise RuntimeError(f"{what} did not come within {seconds:g} s")


@contextlib.contextmanager
def _running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=REPO)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


@contextlib.contextmanager
def stage(nodes: int, pods_per_node: int = PODS_PER_NODE, policy: Json | None = None) -> Iterator[Stage]:
    """Everything started and ready; ended afterwards."""
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kubeconfig, bound, port = home / "kubeconfig", home / "bound", free_port()
        (home / "scenario.yaml").write_text(json.dumps(scenario(nodes, pods_per_node)))
        (home / "policy.yaml").write_text(yaml.safe_dump(POLICY | (policy or {})))
        simulation = [sys.executable, "-m", "remediator.drill.simulation", "--scenario", str(home / "scenario.yaml")]
        simulation += ["--kubeconfig-out", str(kubeconfig), "--bound-file", str(bound)]
        stack.enter_context(_running(simulation, home / "simulation.log"))
        wait_for(kubeconfig.exists, "the cluster", 60)
        cluster, product = f"http://{bound.read_text()}", f"http://127.0.0.1:{port}"
        for crd in sorted((REPO / "helm" / "remediator" / "crds").glob("*.yaml")):
            path = f"{cluster}/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            requests.post(path, json=yaml.safe_load(crd.read_text()), timeout=10).raise_for_status()
        start = stack.enter_context(answering())
        pods = requests.get(f"{cluster}/api/v1/pods", timeout=30).json()["items"]
        names = [
            node["metadata"]["name"] for node in requests.get(f"{cluster}/api/v1/nodes", timeout=30).json()["items"]
        ]
        prometheus = Prometheus(pods, names)
        prometheus_server, alertmanager = start(prometheus.answer), start(lambda asked: [])
        serve = [sys.executable, "-m", "remediator.cli", "serve", "--listen", f"127.0.0.1:{port}"]
        serve += ["--prometheus", prometheus_server.url, "--alertmanager", alertmanager.url]
        serve += [
            "--kubeconfig",
            str(kubeconfig),
            "--config",
            str(home / "policy.yaml"),
            "--audit-dir",
            str(home / "audit"),
        ]
        process = stack.enter_context(_running(serve, home / "serve.log"))
        try:
            wait_for(lambda: requests.get(f"{product}/readyz", timeout=5).status_code == 200, "the remediator", 40)
        except RuntimeError:
            sys.stderr.write((home / "serve.log").read_text()[-3000:])
            with contextlib.suppress(requests.RequestException):
                sys.stderr.write(requests.get(f"{product}/readyz", timeout=5).text)
            raise
        yield Stage(cluster, product, prometheus, prometheus_server.url, alertmanager, process, names)
