"""The simulated cluster as a process, asked over real HTTP as the drill's runner asks it."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

COMMAND = [sys.executable, "-m", "remediator.drill.simulation"]
STORY = """\
name: served
title: a story to be served
duration: 10m
focus: node-1
nodes:
  - {name: "node-{n}", count: 2, memory: 16Gi, system: 1Gi}
workloads:
  - {kind: Deployment, namespace: shop, name: api, replicas: 2, usage: 1Gi, request: 512Mi, service: true}
faults:
  - {metrics: node-exporter, node: node-2}
"""


class Served:
    """A running process and its URL."""

    def __init__(self, url: str, kubeconfig: Path) -> None:
        self.url, self.kubeconfig = url, kubeconfig

    def get(self, path: str) -> Any:
        """JSON of a path."""
        answer = requests.get(f"{self.url}{path}", timeout=10)
        answer.raise_for_status()
        return answer.json()

    def text(self, path: str) -> str:
        """A page's text."""
        return requests.get(f"{self.url}{path}", timeout=10).text

    def put(self, path: str, body: Any) -> requests.Response:
        """PUT JSON."""
        return requests.put(f"{self.url}{path}", json=body, timeout=10)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One process for all tests here; it is ended by SIGTERM and must end well."""
    directory = tmp_path_factory.mktemp("served")
    (directory / "story.yaml").write_text(STORY)
    bound, kubeconfig = directory / "bound", directory / "kubeconfig"
    options = ["--scenario", str(directory / "story.yaml"), "--speed", "20"]
    files = ["--bound-file", str(bound), "--kubeconfig-out", str(kubeconfig)]
    process = subprocess.Popen([*COMMAND, *options, *files])
    try:
        until(kubeconfig.exists, process)
        yield Served(f"http://{bound.read_text()}", kubeconfig)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def until(done: Callable[[], Any], process: "subprocess.Popen[bytes] | None" = None) -> None:
    """Ask until it is so; the test's own time-out ends a wait in vain."""
    while not done():
        assert process is None or process.poll() is None
        time.sleep(0.02)


def test_kubeconfig_leads_to_the_api(served: Served) -> None:
    """The kubeconfig names the server, and it answers as a Kubernetes API."""
    config = json.loads(served.kubeconfig.read_text())
    server = config["clusters"][0]["cluster"]["server"]
    assert server == served.url
    assert [node["metadata"]["name"] for node in served.get("/api/v1/nodes")["items"]] == ["node-1", "node-2"]


def test_time_begins_when_it_is_told_to(served: Served) -> None:
    """Scenario time stands at 0 until POST /drill/start, then runs."""
    state = served.get("/drill/state")
    assert (state["started"], state["seconds"]) == (False, 0.0)
    assert state["nodes"]["node-1"]["used_ratio"] == pytest.approx(2 / 16, abs=0.001)
    requests.post(f"{served.url}/drill/start", timeout=10).raise_for_status()
    until(lambda: served.get("/drill/state")["seconds"] > 1)


def test_eviction_over_http_runs_its_course(served: Served) -> None:
    """An evicted pod terminates, is gone, and is replaced, and the events tell it in order, by cursor."""
    pod = served.get("/api/v1/namespaces/shop/pods")["items"][0]
    name = pod["metadata"]["name"]
    requests.post(f"{served.url}/drill/start", timeout=10).raise_for_status()
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "shop"}}
    url = f"{served.url}/api/v1/namespaces/shop/pods/{name}/eviction"
    assert requests.post(url, json=body, timeout=10).status_code == 201

    def told() -> list[str]:
        events = served.get("/drill/events?since=0")
        assert [event["seq"] for event in events] == list(range(len(events)))
        return [event["what"] for event in events]

    until(lambda: {"pod_gone", "pod_ready"} <= set(told()))
    order = told()
    assert order.index("pod_terminating") < order.index("pod_gone")
    assert order.index("pod_bound") < order.index("pod_ready")
    assert served.get(f"/drill/events?since={len(order)}") == []
    assert len(served.get("/api/v1/namespaces/shop/pods")["items"]) == 2


def test_all_pages_answer_and_a_fault_is_a_fault(served: Served) -> None:
    """Every endpoint of every node is there, but the one that the scenario has broken."""
    for endpoint, metric in (
        ("exporter", "memory_exporter_node_memory_total_bytes"),
        ("node-exporter", "node_memory_MemTotal_bytes"),
        ("cadvisor", "container_memory_rss"),
    ):
        assert metric in served.text(f"/metrics/{endpoint}/node-1")
    assert "kube_pod_info" in served.text("/metrics/kube-state-metrics")
    codes = [
        requests.get(f"{served.url}/metrics/{page}", timeout=10).status_code
        for page in ("node-exporter/node-2", "exporter/node-2", "exporter/node-9", "nothing/node-1")
    ]
    assert codes == [503, 200, 404, 404]


def test_faults_by_hand(served: Served) -> None:
    """Faults are put over HTTP for the API and for metrics, bad ones are refused in words, and taken back."""
    assert served.put("/drill/metrics-faults", [{"metrics": "exporter", "drop": "anon"}]).json() == {"faults": 1}
    assert "cgroup_memory_anon_bytes{" not in served.text("/metrics/exporter/node-1")
    assert served.put("/drill/metrics-faults", []).status_code == 200
    assert "cgroup_memory_anon_bytes{" in served.text("/metrics/exporter/node-1")
    refused = served.put("/drill/metrics-faults", [{"metrics": "exporter", "drp": "anon"}])
    assert (refused.status_code, "drp" in refused.json()["error"]) == (400, True)
    assert "belong to /drill/faults" in served.put("/drill/metrics-faults", [{"api": {}}]).json()["error"]
    assert served.put("/drill/faults", [{"path": "/nodes", "status": 500, "times": 1}]).status_code == 200
    codes = [requests.get(f"{served.url}/api/v1/nodes", timeout=10).status_code for _ in range(2)]
    assert codes == [500, 200]


def test_kubelet_order_is_told_with_its_figures(served: Served) -> None:
    """Whom the kubelet would take now, of the node asked for; of no other."""
    rows = served.get("/drill/kubelet-order?node=node-1")
    assert {"namespace", "name", "workload", "priority", "usage_bytes", "request_bytes"} == set(rows[0])
    answer = requests.get(f"{served.url}/drill/kubelet-order?node=nobody", timeout=10)
    assert (answer.status_code, answer.json()) == (404, {"error": "nobody is no simulated node"})
    assert requests.get(f"{served.url}/drill/events?since=x", timeout=10).status_code == 400


def run(*options: str) -> tuple[int, str]:
    """Exit status and stderr of a process that ends by itself."""
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr.strip()


def test_port_in_use_says_what_to_do() -> None:
    """A port that somebody has is told, with the way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = run("--scenario", "storm", "--listen", f"127.0.0.1:{port}")
    assert code == 1
    assert said.startswith(f"--listen 127.0.0.1:{port}: ")
    assert said.endswith("choose another port, or 0 for a free one")


def test_unusable_address_and_unknown_story_are_told() -> None:
    """Neither starts anything."""
    assert run("--scenario", "storm", "--listen", "8080") == (
        1,
        "--listen 8080: write HOST:PORT, for example 127.0.0.1:0",
    )
    code, said = run("--scenario", "strom")
    assert code == 1
    assert said.startswith("strom: is no scenario")
