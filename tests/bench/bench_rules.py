"""`make bench-rules`: what the rules cost on a real Prometheus, at 200 and at 1,000 nodes of 30 pods each.

A synthetic target serves both exporters, cAdvisor and kube-state-metrics. Nodes are scraped and evaluated 2.5 times as
fast as in production (every 2 s, windows as much shorter), so that each window holds as many samples as there and full
ones come sooner; pods and their rules keep production's pace, or this bench would measure its own load.

Figures are seconds of one evaluation of the group, and milliseconds of the product's own pod query over HTTP; ratios
come from the quiet quarter of the measurements, since others use the machine too.
Writes build/bench/rules.json and ends with status 1 when a bound is missed.
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml
from verdict import conclude

from remediator.adapters.promql import pod_query
from remediator.drill import tools
from remediator.rulefiles import render

ROOT = Path(__file__).parents[2]
SPEED = 2.5
SIZES = (200, 1000)
PODS = 30
WARM_UP_SECONDS = 300 / SPEED + 15
MEASURED_EVALUATIONS = 30
# These nodes' pods are scraped as often as in production; the others a third as often, to leave the machine some air.
QUERIED_NODES = 10
GROUP = "node-memory"
FASTER = ("node-memory.recording.yaml", "koordinator.alerts.yaml")
MUST = {
    "group_seconds_1000_to_interval": 0.1,
    "cost_per_node_1000_to_200": 1.2,
    "pod_query_30000_pods_to_10ms": 1.0,
    "pod_query_30000_to_6000_pods": 1.3,
}
_GIB = 2**30
# MemAvailable in GiB of 64: of 200 nodes one each at YELLOW, ORANGE and RED, the others calm.
_AVAILABLE = (*(20 + i % 30 for i in range(98)), 15, 9, *(20 + i % 30 for i in range(99)), 4)


def node_page(nodes: int) -> Iterator[str]:
    """Our exporter's and node-exporter's node series."""
    ours = {
        "memory_total_bytes": 64 * _GIB,
        "memory_free_bytes": _GIB,
        "hugepages_bytes": 0,
        "swap_total_bytes": _GIB,
        "swap_free_bytes": _GIB // 2,
        "major_faults_total": 5000,
        "direct_reclaim_pages_total": 900,
        "allocation_stalls_total": 7,
        "swap_in_pages_total": 70,
        "swap_out_pages_total": 90,
        "oom_kills_total": 1,
    }
    theirs = {
        "memory_MemTotal_bytes": 64 * _GIB,
        "memory_HugePages_Total": 0,
        "memory_Hugepagesize_bytes": 2 * 2**20,
        "memory_SwapTotal_bytes": _GIB,
        "memory_SwapFree_bytes": _GIB // 2,
        "vmstat_pgmajfault": 5000,
        "vmstat_pswpin": 70,
        "vmstat_pswpout": 90,
        "vmstat_oom_kill": 1,
        "pressure_memory_waiting_seconds_total": 12.5,
        "pressure_memory_stalled_seconds_total": 2.5,
    }
    for i in range(nodes):
        node, available = f'node="node-{i}"', _AVAILABLE[i % len(_AVAILABLE)] * _GIB
        yield f"memory_exporter_node_memory_available_bytes{{{node}}} {available}"
        yield f'node_memory_MemAvailable_bytes{{{node},instance="10.0.0.{i}:9100"}} {available}'
        yield from (f"memory_exporter_node_{name}{{{node}}} {value}" for name, value in ours.items())
        for kind in ("some", "full"):
            yield f'memory_exporter_node_stalled_seconds_total{{{node},kind="{kind}"}} 2.5'
        yield from (f'node_{name}{{{node},instance="10.0.0.{i}:9100"}} {value}' for name, value in theirs.items())


def pod_page(first: int, last: int) -> Iterator[str]:
    """Our exporter's pod series and cAdvisor's container series, of nodes `first` to `last` - 1."""
    for i in range(first, last):
        for j in range(PODS):
            labels = f'node="node-{i}",level="pod",uid="{i:08x}-{j:04x}",container_id="",qos="burstable",runtime="crio"'
            for name in ("working_set", "anon", "shmem"):
                yield f"cgroup_memory_{name}_bytes{{{labels}}} {(j + 1) * 2**26}"
            where = f'node="node-{i}",namespace="ns-{j}",pod="pod-{i}-{j}"'
            path = f"/kubepods.slice/kubepods-pod{i:08x}_{j:04x}.slice"
            for container, scope in (("main", "/c.scope"), ("", "")):
                labels = f'{where},container="{container}",id="{path}{scope}"'
                yield f"container_memory_working_set_bytes{{{labels}}} {(j + 1) * 2**26}"


def state_page(nodes: int) -> Iterator[str]:
    """kube-state-metrics."""
    for i in range(nodes):
        yield f'kube_node_info{{node="node-{i}"}} 1'
        yield f'kube_node_status_condition{{node="node-{i}",condition="MemoryPressure",status="true"}} 0'
        for j in range(PODS):
            pod = f'namespace="ns-{j}",pod="pod-{i}-{j}",uid="{i:08x}-{j:04x}"'
            owner = f'created_by_kind="ReplicaSet",created_by_name="app-{j}-7f"'
            yield f'kube_pod_info{{{pod},node="node-{i}",{owner}}} 1'
            yield f'kube_pod_status_phase{{{pod},phase="Running"}} 1'
            yield f'kube_pod_status_reason{{{pod},reason="Evicted"}} 0'
            yield f'kube_pod_container_status_restarts_total{{{pod},container="main"}} 0'
            yield f'kube_pod_container_resource_limits{{{pod},container="main",resource="memory"}} {2**31}'


class Target:
    """The pages over HTTP; their text is made once, for it is Prometheus that is measured."""

    def __init__(self, nodes: int) -> None:
        pages = {
            "/nodes": node_page(nodes),
            "/pods-queried": pod_page(0, QUERIED_NODES),
            "/pods": pod_page(QUERIED_NODES, nodes),
            "/state": state_page(nodes),
        }
        bodies = {path: ("\n".join(lines) + "\n").encode() for path, lines in pages.items()}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = bodies[self.path]
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def configuration(address: str, rule_files: list[str]) -> str:
    """Prometheus' configuration."""
    seconds = {"/nodes": 5 / SPEED, "/pods-queried": 5 / SPEED, "/pods": 15, "/state": 30}
    jobs = [
        {
            "job_name": path[1:],
            "metrics_path": path,
            "honor_labels": True,
            "scrape_interval": f"{round(every * 1000)}ms",
            "scrape_timeout": f"{round(every * 1000)}ms",
            "static_configs": [{"targets": [address]}],
        }
        for path, every in seconds.items()
    ]
    return yaml.safe_dump({"rule_files": rule_files, "scrape_configs": jobs})


class Prometheus:
    """A real one, on a free port."""

    def __init__(self, directory: Path, target: Target) -> None:
        names = []
        faster = {name: text for name, text in render(time_scale=SPEED).items() if name in FASTER}
        for name, text in {**render(), **faster}.items():
            (directory / name).write_text(text, encoding="utf-8")
            names.append(str(directory / name))
        config = directory / "prometheus.yml"
        config.write_text(configuration(target.address, names), encoding="utf-8")
        self.port = _free_port()
        command = [tools.find("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={directory / 'data'}"]
        command += [f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=error"]
        self.process = subprocess.Popen(command)

    def get(self, path: str, **query: str) -> Any:
        """`data` of one answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", f"{path}?{urlencode(query)}")
        document = json.loads(connection.getresponse().read())
        connection.close()
        if document["status"] != "success":
            raise RuntimeError(f"{path} {query}: {document}")
        return document["data"]

    def groups(self) -> dict[str, dict[str, Any]]:
        """Rule groups by name."""
        return {group["name"]: group for group in self.get("/api/v1/rules")["groups"]}

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(timeout=60)


def _free_port() -> int:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    port = int(server.server_address[1])
    server.server_close()
    return port


def quiet(values: list[float]) -> float:
    """The lower quartile."""
    return statistics.quantiles(values, n=4)[0]


def evaluations(prometheus: Prometheus) -> dict[str, list[float]]:
    """Group -> seconds of its last evaluations, each counted once."""
    found: dict[str, dict[str, float]] = {}
    while len(found.get(GROUP, {})) < MEASURED_EVALUATIONS:
        for name, group in prometheus.groups().items():
            found.setdefault(name, {})[group["lastEvaluation"]] = group["evaluationTime"]
        time.sleep(0.5)
    return {name: list(times.values()) for name, times in found.items()}


def pod_queries(prometheus: Prometheus) -> list[float]:
    """Milliseconds of the product's pod query, over the nodes that are scraped as in production."""
    connection = http.client.HTTPConnection("127.0.0.1", prometheus.port, timeout=30)
    taken = []
    for number in range(20 * QUERIED_NODES):
        query = urlencode({"query": pod_query(f"node-{number % QUERIED_NODES}", SPEED)})
        started = time.perf_counter()
        connection.request("POST", "/api/v1/query", query, {"Content-Type": "application/x-www-form-urlencoded"})
        answer = connection.getresponse().read()
        taken.append((time.perf_counter() - started) * 1000)
        samples = len(json.loads(answer)["data"]["result"])
        if samples < 9 * PODS:
            raise RuntimeError(f"the pod query found {samples} values, expected {9 * PODS}: {answer[:300]!r}")
    return taken


def measure(nodes: int) -> dict[str, Any]:
    """All figures at one size."""
    with tempfile.TemporaryDirectory() as directory:
        target = Target(nodes)
        prometheus = Prometheus(Path(directory), target)
        try:
            print(f"{nodes} nodes, {nodes * PODS} pods: warming up for {WARM_UP_SECONDS:.0f} s", flush=True)  # noqa: T201
            time.sleep(WARM_UP_SECONDS)
            groups, queries = evaluations(prometheus), pod_queries(prometheus)
            levels = prometheus.get("/api/v1/query", query="count(node:memory_level)")["result"]
            slowest = sorted(prometheus.groups()[GROUP]["rules"], key=lambda rule: -rule["evaluationTime"])[:5]
        finally:
            prometheus.stop()
            target.server.shutdown()
    if not levels or int(levels[0]["value"][1]) != nodes:
        raise RuntimeError(f"levels of {levels}, not of {nodes} nodes: nothing was measured")
    return {
        "load_average": os.getloadavg()[0],
        "group_seconds_median": statistics.median(groups[GROUP]),
        "group_seconds_quiet": quiet(groups[GROUP]),
        "pod_query_ms_median": statistics.median(queries),
        "pod_query_ms_quiet": quiet(queries),
        "other_groups_seconds_median": {n: statistics.median(t) for n, t in groups.items() if n != GROUP},
        "slowest_rules_seconds": {
            f"{rule['name']} {rule.get('labels', '')}": rule["evaluationTime"] for rule in slowest
        },
    }


def main() -> int:
    """Measure, write, judge."""
    figures = {str(nodes): measure(nodes) for nodes in SIZES}
    few, many = (figures[str(nodes)] for nodes in SIZES)
    per_node = [figure["group_seconds_quiet"] / nodes for figure, nodes in ((few, SIZES[0]), (many, SIZES[1]))]
    ratios = {
        "group_seconds_1000_to_interval": many["group_seconds_quiet"] / 5,
        "cost_per_node_1000_to_200": per_node[1] / per_node[0],
        "pod_query_30000_pods_to_10ms": many["pod_query_ms_quiet"] / 10,
        "pod_query_30000_to_6000_pods": many["pod_query_ms_quiet"] / few["pod_query_ms_quiet"],
    }
    return conclude("rules", figures, ratios, MUST)


if __name__ == "__main__":
    sys.exit(main())
