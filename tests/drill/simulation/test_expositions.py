"""The metrics endpoints: valid to promtool, named as the real programs name things, and true to the world."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from remediator.config.quantities import size_bytes
from remediator.drill import tools
from remediator.drill.processes import DrillError
from remediator.drill.simulation.endpoints import cadvisor, kube_state_metrics, memory_exporter, node_exporter
from remediator.drill.simulation.endpoints.exposition import Family, label_text, render
from tests.drill.worlds import GI, MI, Small, workload

GOLDEN = Path(__file__).parents[2] / "exporter" / "golden"
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)")
Samples = list[tuple[str, dict[str, str], float]]


def parsed(page: str) -> Samples:
    """(name, labels, value) of every sample."""
    found = []
    for line in page.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match, line
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2] or ""))
            found.append((match[1], labels, float(match[3])))
    return found


def values(samples: Samples, name: str, **labels: str) -> list[float]:
    """Values of a metric whose labels include these."""
    return [value for n, have, value in samples if n == name and labels.items() <= have.items()]


@pytest.fixture(scope="module")
def small() -> Small:
    """A node with all sorts of pods, swap, hugepages, a budget and somebody who was OOM-killed."""
    return Small(
        nodes=[
            {
                "name": "node-{n}",
                "count": 2,
                "memory": "16Gi",
                "system": "1Gi",
                "kernel": "256Mi",
                "swap": "2Gi",
                "hugepages": "1Gi",
                "extended": {"kubernetes.io/batch-memory": "4Gi"},
            }
        ],
        workloads=[
            workload(replicas=2, limit="2Gi", service=True, shmem="128Mi", page_cache="256Mi"),
            workload("StatefulSet", "db", replicas=1, usage="2Gi", request="3Gi", limit="3Gi"),
            workload("Job", "etl", request=0, usage="512Mi", placement={"node-1": 1}),
            workload(name="leaky", usage=0, usage_points=[{"at": 0, "bytes": "1Gi"}, {"at": 20, "bytes": "3Gi"}])
            | {"limit": "2Gi"},
        ],
        budgets=[{"namespace": "shop", "workload": "api", "max_unavailable": 1}],
        host_processes=[{"node": "node-1", "slice": "user", "points": [{"at": 0, "bytes": "2Gi"}]}],
    ).pass_seconds(30)


PAGES: dict[str, Callable[[Small], list[Family]]] = {
    "exporter": lambda small: memory_exporter.families(small.world, "node-1"),
    "node-exporter": lambda small: node_exporter.families(small.world, "node-1"),
    "cadvisor": lambda small: cadvisor.families(small.world, "node-1"),
    "kube-state-metrics": lambda small: kube_state_metrics.families(small.world),
}
# Real programs' own sins against the naming rules, kept because rules and queries must live with them.
KNOWN = ("container_memory_", "kube_", "machine_", "node_", "no help text", "counter metrics should have")


@pytest.mark.parametrize("name", PAGES)
def test_promtool_accepts_the_page(small: Small, name: str) -> None:
    """`promtool check metrics` parses every page; what it lints is what it lints of the real programs too."""
    try:
        promtool = tools.find("promtool")
    except DrillError as error:
        pytest.skip(f"promtool cannot check the page: {error}")
    page = render(PAGES[name](small))
    done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if line and not any(known in line for known in KNOWN)]
    assert complaints == []
    assert "error while linting" not in done.stderr
    if name == "exporter":
        assert done.returncode == 0


@pytest.mark.parametrize("name", PAGES)
def test_no_series_stands_twice(small: Small, name: str) -> None:
    """Within one page every series is there once: doubles come from several scrapes or on purpose."""
    samples = [(n, *sorted(labels.items())) for n, labels, _ in parsed(render(PAGES[name](small)))]
    assert len(samples) == len(set(samples))


def test_exporter_speaks_as_the_real_one(small: Small) -> None:
    """Names, types and label names are those of the real exporter's golden page on a kernel with cgroup v2."""

    def shape(page: str) -> dict[tuple[str, str], tuple[str, frozenset[str]]]:
        """Type and label names, by metric and level."""
        types = dict(re.findall(r"# TYPE (\S+) (\S+)", page))
        return {(n, labels.get("level", "")): (types[n], frozenset(labels)) for n, labels, _ in parsed(page)}

    ours, real = shape(render(PAGES["exporter"](small))), shape((GOLDEN / "v2-linux-6.1.prom").read_text())
    assert {name: real.get(name) for name in ours} == ours
    missing = [key for key in real if key not in ours and key[0] != "memory_exporter_descriptors"]
    assert missing == []


def test_exporter_parts_make_up_the_node(small: Small) -> None:
    """Slices, swap and the kernel's own memory add up to what is not available; pods add up to their slice."""
    samples, memory = parsed(render(PAGES["exporter"](small))), small.world.memory["node-1"]
    (total,) = values(samples, "memory_exporter_node_memory_total_bytes", node="node-1")
    (available,) = values(samples, "memory_exporter_node_memory_available_bytes")
    (hugepages,) = values(samples, "memory_exporter_node_hugepages_bytes")
    slices = sum(values(samples, "cgroup_memory_anon_bytes", level="system"))
    shared = sum(values(samples, "cgroup_memory_shmem_bytes", level="system"))
    assert total - hugepages - available == slices + shared + memory.kernel_bytes
    assert values(samples, "cgroup_memory_anon_bytes", path="/user.slice") == [2 * GI]
    pause = 500 * 1024 * len(small.world.kubelets.on_node("node-1"))
    pods = sum(values(samples, "cgroup_memory_anon_bytes", level="pod"))
    assert pods - pause == values(samples, "cgroup_memory_anon_bytes", path="/kubepods.slice")[0]


def test_exporter_and_node_exporter_agree(small: Small) -> None:
    """Both tell the same total, available, swap and faults of a node."""
    ours, theirs = parsed(render(PAGES["exporter"](small))), parsed(render(PAGES["node-exporter"](small)))
    pairs = {
        "memory_exporter_node_memory_total_bytes": "node_memory_MemTotal_bytes",
        "memory_exporter_node_memory_available_bytes": "node_memory_MemAvailable_bytes",
        "memory_exporter_node_swap_free_bytes": "node_memory_SwapFree_bytes",
        "memory_exporter_node_major_faults_total": "node_vmstat_pgmajfault",
    }
    for own, other in pairs.items():
        assert values(ours, own) == values(theirs, other)
    count, size = values(theirs, "node_memory_HugePages_Total")[0], values(theirs, "node_memory_Hugepagesize_bytes")[0]
    assert values(ours, "memory_exporter_node_hugepages_bytes") == [count * size]


def test_cadvisor_has_the_real_ones_duplicates(small: Small) -> None:
    """Root, slices, pod cgroups and pause containers are there; only named containers may be summed."""
    samples = parsed(render(PAGES["cadvisor"](small)))
    working_set = [(labels, v) for name, labels, v in samples if name == "container_memory_working_set_bytes"]
    ids = {labels["id"] for labels, _ in working_set}
    assert {"/", "/system.slice", "/user.slice", "/kubepods.slice"} <= ids
    pods = {labels["pod"] for labels, _ in working_set if labels["pod"]}
    for pod in pods:
        kinds = sorted((bool(have["container"]), bool(have["image"])) for have, _ in working_set if have["pod"] == pod)
        assert kinds == [(False, False), (False, True), (True, True)]
    naive = sum(value for labels, value in working_set)
    right = sum(value for labels, value in working_set if labels["container"])
    held = sum(small.world.pod_memory("node-1", pod).working_set for pod in small.world.kubelets.on_node("node-1"))
    assert right == held
    assert naive > 3 * right
    api = [value for labels, value in working_set if labels["container"] and labels["pod"].startswith("api")]
    assert api[0] == GI + 256 * MI


def test_cadvisor_tells_when_it_looked() -> None:
    """A scrape gets what was seen at the last housekeeping, with its time; after 10 s it looks again."""
    small = Small(workloads=[workload(usage=0, usage_points=[{"at": 0, "bytes": 0}, {"at": 60, "bytes": "6Gi"}])])
    housekeeping = cadvisor.Housekeeping()

    def seen() -> set[tuple[str, str]]:
        page = housekeeping.page(small.world, "node-1", small.store.clock())
        lines = [line.split(" ") for line in page.splitlines() if line.startswith("container_memory_rss{")]
        return {(value, stamp) for _, value, stamp in lines if int(value) > GI}

    first = small.pass_seconds(30) and seen()
    assert {stamp for _, stamp in first} == {str(int(small.store.clock().timestamp() * 1000))}
    assert small.pass_seconds(9) and seen() == first
    assert small.pass_seconds(1) and seen().isdisjoint(first)


def test_kube_state_metrics_tells_the_objects(small: Small) -> None:
    """Nodes, pods, owners, requests, phases, OOM kills and budgets are told under kube-state-metrics' names."""
    samples = parsed(render(PAGES["kube-state-metrics"](small)))
    assert len(values(samples, "kube_node_info", node="node-1", internal_ip="10.0.0.1")) == 1
    assert len(values(samples, "kube_pod_info", created_by_kind="ReplicaSet", node="node-1")) >= 1
    assert values(samples, "kube_pod_container_resource_limits", container="main", resource="memory", unit="byte")
    phases = values(samples, "kube_pod_status_phase")
    assert sum(phases) == len(phases) / 5 == len(small.pods())
    assert values(samples, "kube_pod_container_status_last_terminated_reason", reason="OOMKilled") == [1]
    assert values(samples, "kube_poddisruptionbudget_status_desired_healthy", poddisruptionbudget="api") == [1]
    batch = values(samples, "kube_node_status_allocatable", node="node-1", resource="kubernetes_io_batch_memory")
    assert batch == [4 * GI]
    node = small.store.get("Node", None, "node-1")
    allocatable = values(samples, "kube_node_status_allocatable", node="node-1", resource="memory", unit="byte")
    assert allocatable == [size_bytes(node["status"]["allocatable"]["memory"])]


def test_label_values_are_escaped() -> None:
    """Quotes, backslashes and line ends cannot break a page."""
    assert label_text(a='x"y\\z\n') == r'{a="x\"y\\z\n"}'
