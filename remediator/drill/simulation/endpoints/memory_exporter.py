"""A node's page of our own exporter, names as `remediator/exporter` gives them."""

from collections.abc import Iterator

from remediator.drill.simulation.endpoints.exposition import Family, render
from remediator.drill.simulation.quantities import memory_of
from remediator.drill.simulation.world import World

_NODE = "memory_exporter_node_"


def page(world: World, node: str) -> str:
    """The /metrics page."""
    return render([*_node_families(world, node), *_cgroup_families(world, node)])


def _node_families(world: World, node: str) -> Iterator[Family]:
    memory, counters = world.memory[node], world.memory[node].counters
    gauges = {
        "memory_total_bytes": memory.total_bytes,
        "memory_available_bytes": memory.available_bytes,
        "memory_free_bytes": memory.free_bytes,
        "hugepages_bytes": memory.hugepages_bytes,
        "swap_total_bytes": 0,
        "swap_free_bytes": 0,
    }
    for name, value in gauges.items():
        yield Family(_NODE + name, "gauge", f"Node {name}.").add(value, node=node)
    totals = {
        "major_faults_total": counters.major_faults,
        "direct_reclaim_pages_total": counters.direct_reclaim_pages,
        "allocation_stalls_total": counters.direct_reclaim_pages / 32,
        "swap_in_pages_total": 0,
        "swap_out_pages_total": 0,
        "oom_kills_total": counters.oom_kills,
    }
    for name, total in totals.items():
        yield Family(_NODE + name, "counter", f"Node {name}.").add(total, node=node)
    stalled = Family(_NODE + "stalled_seconds_total", "counter", "PSI: seconds stalled on memory.")
    stalled.add(counters.stalled_some_seconds, node=node, kind="some")
    yield stalled.add(counters.stalled_full_seconds, node=node, kind="full")
    yield Family("memory_exporter_psi_supported", "gauge", "1 when the kernel has PSI.").add(1, node=node)


def _cgroup_families(world: World, node: str) -> list[Family]:
    names = ("usage", "working_set", "anon", "shmem", "file", "swap", "limit")
    families = {name: Family(f"cgroup_memory_{name}_bytes", "gauge", f"cgroup memory: {name}.") for name in names}
    for pod in world.kubelets.on_node(node):
        used = world.kubelets.usage(pod)
        labels = {
            "node": node,
            "level": "pod",
            "uid": pod["metadata"]["uid"],
            "container_id": "",
            "qos": pod["status"].get("qosClass", "").lower(),
            "runtime": "containerd",
            "path": "",
        }
        cache = used // 50
        values = {"usage": used + cache, "working_set": used, "anon": used, "shmem": 0, "file": cache, "swap": 0}
        for name, value in values.items():
            families[name].add(value, **labels)
        if limit := memory_of(pod["spec"]["containers"][0], "limits"):
            families["limit"].add(limit, **labels)
    _system_slices(world, node, families)
    return list(families.values())


def _system_slices(world: World, node: str, families: dict[str, Family]) -> None:
    memory = world.memory[node]
    slices = {
        "/system.slice": memory.system_bytes + memory.host_bytes,
        "/user.slice": 0,
        "/kubepods.slice": memory.pods_bytes,
    }
    for path, used in slices.items():
        labels = {"node": node, "level": "system", "uid": "", "container_id": "", "qos": "", "runtime": ""}
        for name in ("usage", "working_set", "anon"):
            families[name].add(used, **labels, path=path)
