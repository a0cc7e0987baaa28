"""A node's page of our own exporter, names as `remediator/exporter` gives them on a host with cgroup v2."""

from collections.abc import Iterator, Mapping

from remediator.drill.apiserver.resources import Json
from remediator.drill.simulation.endpoints.exposition import Family, extended, label_text
from remediator.drill.simulation.memory import NodeMemory, PodMemory
from remediator.drill.simulation.world import World

_NODE = "memory_exporter_node_"
_PAUSE_BYTES = 500 * 1024
_BYTES = {
    "usage": "Memory charged to the cgroup, page cache included.",
    "working_set": "Usage less inactive file cache, as the kubelet counts it.",
    "anon": "Anonymous memory (v1: total_rss).",
    "shmem": "Shared memory and tmpfs.",
    "file": "Page cache, shared memory included.",
    "swap": "Memory in swap.",
    "limit": "Memory limit; absent when unlimited.",
}
_TOTALS = {
    "major_faults_total": "Major page faults.",
    "oom_kills_total": "Processes killed by the OOM killer.",
    "stalled_seconds_total": "PSI: seconds stalled on memory.",
}


def families(world: World, node: str) -> list[Family]:
    """All metrics of the page."""
    return [*_node_families(world, node), *_Cgroups(world, node).families(), *_own_families(world, node)]


def _node_families(world: World, node: str) -> Iterator[Family]:
    memory, counters = world.memory[node], world.memory[node].counters
    gauges = {
        "memory_total_bytes": memory.total_bytes,
        "memory_available_bytes": memory.available_bytes,
        "memory_free_bytes": memory.free_bytes,
        "hugepages_bytes": memory.hugepages_bytes,
        "swap_total_bytes": memory.swap_bytes,
        "swap_free_bytes": memory.swap_bytes - memory.swapped_bytes,
    }
    for name, value in gauges.items():
        yield Family(_NODE + name, "gauge", f"Node memory: {name.replace('_', ' ')}.").add(value, node=node)
    totals = {
        "major_faults_total": int(counters.major_faults),
        "swap_in_pages_total": int(counters.swapped_in_pages),
        "swap_out_pages_total": int(counters.swapped_out_pages),
        "oom_kills_total": counters.oom_kills,
        "direct_reclaim_pages_total": int(counters.direct_reclaim_pages),
        "allocation_stalls_total": counters.allocation_stalls,
    }
    for name, value in totals.items():
        yield Family(_NODE + name, "counter", f"Node memory: {name.replace('_', ' ')}.").add(value, node=node)
    yield Family("memory_exporter_psi_supported", "gauge", "Node memory: psi supported.").add(1, node=node)
    stalled = Family(_NODE + "stalled_seconds_total", "counter", "Node memory: stalled seconds total.")
    stalled.add(counters.stalled_some_seconds, node=node, kind="some")
    yield stalled.add(counters.stalled_full_seconds, node=node, kind="full")


class _Cgroups:
    """The cgroup series of one node: system slices, pods, containers."""

    def __init__(self, world: World, node: str) -> None:
        self._world, self._node = world, node
        self._bytes = {name: Family(f"cgroup_memory_{name}_bytes", "gauge", text) for name, text in _BYTES.items()}
        self._totals = {name: Family(f"cgroup_memory_{name}", "counter", text) for name, text in _TOTALS.items()}

    def families(self) -> list[Family]:
        memory = self._world.memory[self._node]
        for path, values in _slices(self._world, self._node, memory).items():
            self._add(self._labels("system", path=path), values)
        for pod in self._world.kubelets.on_node(self._node):
            self._pod(pod)
        return [*self._bytes.values(), *self._totals.values()]

    def _labels(self, level: str, **given: str) -> str:
        """Labels that mean nothing at a level are not written."""
        order = ("uid", "container_id", "qos", "runtime", "path")
        return label_text(node=self._node, level=level, **{name: given[name] for name in order if given.get(name)})

    def _add(self, labels: str, values: Mapping[str, int], faults: float = 0.0, kills: int = 0) -> None:
        for name, value in values.items():
            self._bytes[name].put(labels, value)
        self._totals["major_faults_total"].put(labels, int(faults))
        self._totals["oom_kills_total"].put(labels, kills)
        for kind in ("some", "full"):
            self._totals["stalled_seconds_total"].put(extended(labels, f'kind="{kind}"'), 0)

    def _pod(self, pod: Json) -> None:
        uid, life = pod["metadata"]["uid"], self._world.kubelets.lives[pod["metadata"]["uid"]]
        held = self._world.pod_memory(self._node, pod)
        common = {"uid": uid, "qos": pod["status"].get("qosClass", "").lower()}
        limit = {"limit": life.limit_bytes} if life.limit_bytes else {}
        values = _values(held)
        whole = {name: value + _PAUSE_BYTES * (name in _WITH_PAUSE) for name, value in values.items()}
        self._add(self._labels("pod", **common), whole | limit, life.major_faults, life.restarts)
        for status in pod["status"].get("containerStatuses") or []:
            runtime, _, container_id = status["containerID"].partition("://")
            labels = self._labels("container", **common, container_id=container_id, runtime=runtime)
            self._add(labels, values | limit, life.major_faults, life.restarts)


_SLICES = 3
_DEGRADED_MODES = (
    "memory_available_estimated",
    "memory_available_implausible",
    "descriptors_exhausted",
    "inotify_unavailable",
    "cgroup_root_is_not_the_hosts",
)
_WITH_PAUSE = ("usage", "working_set", "anon")


def _values(held: PodMemory) -> dict[str, int]:
    return {
        "usage": held.usage,
        "working_set": held.working_set,
        "anon": held.anon,
        "shmem": held.shmem,
        "file": held.file,
        "swap": held.swap,
    }


def _slices(world: World, node: str, memory: NodeMemory) -> dict[str, dict[str, int]]:
    """The kernel's own memory is in none of them."""
    pods = [_values(world.pod_memory(node, pod)) for pod in world.kubelets.on_node(node)]
    together = {name: sum(pod[name] for pod in pods) for name in _BYTES if name != "limit"}
    found = {"/kubepods.slice": together}
    held = {"/system.slice": memory.system_bytes + memory.host_system_bytes, "/user.slice": memory.host_user_bytes}
    for path, size in held.items():
        movable = size - (memory.system_bytes if path == "/system.slice" else 0)
        swapped = int(movable * memory.swapped_ratio)
        cache = memory.cached_bytes // 2
        kept = size - swapped
        found[path] = _values(PodMemory(anon=kept, shmem=0, swap=swapped, active_file=0, inactive_file=cache))
    return found


def _own_families(world: World, node: str) -> Iterator[Family]:
    pods = world.kubelets.on_node(node)
    yield Family("memory_exporter_scrape_duration_seconds", "gauge", "Duration of this scrape.").add(0.004, node=node)
    seen = Family("memory_exporter_cgroups", "gauge", "Cgroups seen, by level.").add(len(pods), node=node, level="pod")
    yield seen.add(len(pods), node=node, level="container").add(_SLICES, node=node, level="system")
    unreadable = Family("memory_exporter_unreadable_files_total", "counter", "Reads that failed.")
    yield unreadable.add(0, node=node)
    degraded = Family("memory_exporter_degraded", "gauge", "1 while a substitute is used.")
    for mode in _DEGRADED_MODES:
        degraded.add(0, node=node, mode=mode)
    yield degraded
