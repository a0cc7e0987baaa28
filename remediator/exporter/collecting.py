"""One scrape: membership, reads, and the pages made of them.

Membership is scanned at each scrape; a cgroup that is gone is closed and forgotten, so that no stale series and no
descriptor stays. A scrape never fails because one cgroup did.
"""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

from remediator.exporter.cgroups import CgroupV1, CgroupV2, Values, summed
from remediator.exporter.exposition import escaped, family
from remediator.exporter.files import Descriptors, Vanished
from remediator.exporter.hierarchy import Hierarchy, find_pods, system_slices
from remediator.exporter.node import Node
from remediator.exporter.paths import CgroupPath

_FAMILIES = {
    "usage_bytes": ("gauge", "Memory charged to the cgroup, page cache included."),
    "working_set_bytes": ("gauge", "Usage less inactive file cache, as the kubelet counts it."),
    "anon_bytes": ("gauge", "Anonymous memory (v1: total_rss)."),
    "shmem_bytes": ("gauge", "Shared memory and tmpfs."),
    "file_bytes": ("gauge", "Page cache, shared memory included."),
    "swap_bytes": ("gauge", "Memory in swap."),
    "limit_bytes": ("gauge", "Memory limit; absent when unlimited."),
    "major_faults_total": ("counter", "Major page faults."),
    "oom_kills_total": ("counter", "Processes killed by the OOM killer."),
}
_NODE_HELP = "Node memory: "
Reading = tuple[str, Values]
"""(label text, values)."""


class Collector:
    """Reads everything of one node; one scrape at a time."""

    def __init__(self, hierarchy: Hierarchy, proc_root: Path, node_name: str) -> None:
        self.hierarchy, self._node_name = hierarchy, node_name
        self.descriptors = Descriptors()
        self.node = Node(proc_root, self.descriptors)
        self._memory_total_bytes = self.node.total_bytes()
        self._cgroups: dict[str, CgroupV1 | CgroupV2] = {}
        self._lock = threading.Lock()

    # --- pages ------------------------------------------------------------------------------------------

    def page(self) -> str:
        """/metrics: the node, its pods, its system slices, and our own health."""
        with self._lock:
            began = time.perf_counter()
            pods = self._pods()
            readings = [self._labelled(found, values) for found, values, _ in pods if found.level == "pod"]
            readings += self._slices()
            lines = [*self._node_lines(), *_cgroup_lines(readings)]
            lines += self._health([found for found, _, _ in pods], time.perf_counter() - began)
            return "\n".join(lines) + "\n"

    def containers_page(self) -> str:
        """/metrics/containers."""
        with self._lock:
            pods = self._pods()
            readings = [self._labelled(found, values) for found, values, _ in pods if found.level == "container"]
            return "\n".join(_cgroup_lines(readings)) + "\n"

    def snapshot(self) -> dict[str, object]:
        """What /history keeps of a moment: the node's memory and each pod's working set."""
        with self._lock:
            node = {name: value for name, labels, value in self.node.samples() if not labels}
            pods = {
                found.uid: values["working_set_bytes"]
                for found, values, _ in self._pods()
                if found.level == "pod" and "working_set_bytes" in values
            }
            return {"at": time.time(), "node": node, "pods": pods}

    def close(self) -> None:
        """Let go of all descriptors."""
        with self._lock:
            for cgroup in self._cgroups.values():
                cgroup.close()
            self._cgroups.clear()
            self.node.close()

    # --- cgroups ----------------------------------------------------------------------------------------

    def _pods(self) -> list[tuple[CgroupPath, Values, str]]:
        """(what it is, values, directory) of every pod and container that could be read whole."""
        found = find_pods(self.hierarchy.root)
        slices = system_slices(self.hierarchy.root)
        self._forget({directory for directory, _ in found} | set(slices))
        read = [(path, values, directory) for directory, path in found if (values := self._read(directory))]
        return list(self._with_sums(read))

    def _with_sums(self, read: list[tuple[CgroupPath, Values, str]]) -> Iterator[tuple[CgroupPath, Values, str]]:
        """Pods whose own cgroup does not hold their containers' memory get the containers' sum.

        So it is with the driver mismatch (the slice stays empty) and with v1's use_hierarchy=0.
        """
        containers: dict[str, list[tuple[CgroupPath, Values, str]]] = {}
        for each in read:
            if each[0].level == "container":
                containers.setdefault(each[0].uid, []).append(each)
        seen = set()
        for path, values, directory in read:
            if path.level != "pod":
                yield path, values, directory
                continue
            seen.add(path.uid)
            parts = summed([part for _, part, _ in containers.get(path.uid, [])])
            bigger = parts.get("usage_bytes", 0) > 1.05 * values["usage_bytes"]
            yield path, parts if bigger else values, directory
        for uid in containers.keys() - seen:
            first, _, directory = containers[uid][0]
            pod = CgroupPath("pod", uid, first.qos, runtime=first.runtime)
            yield pod, summed([part for _, part, _ in containers[uid]]), directory

    def _slices(self) -> list[Reading]:
        readings = []
        for directory in system_slices(self.hierarchy.root):
            if values := self._read(directory):
                path = directory[len(self.hierarchy.root.rstrip("/")) :]
                readings.append(self._labelled(CgroupPath("system"), values, path))
        return readings

    def _labelled(self, found: CgroupPath, values: Values, path: str = "") -> Reading:
        labels = {
            "node": self._node_name,
            "level": found.level,
            "uid": found.uid,
            "container_id": found.container_id,
            "qos": found.qos,
            "runtime": found.runtime,
            "path": path,
        }
        return ",".join(f'{key}="{escaped(value)}"' for key, value in labels.items()), values

    def _read(self, directory: str) -> Values:
        cgroup = self._cgroups.get(directory)
        if cgroup is None:
            cgroup = self._cgroups[directory] = self._opened(directory)
        try:
            return cgroup.read()
        except Vanished:
            self._cgroups.pop(directory).close()
            return {}

    def _opened(self, directory: str) -> CgroupV1 | CgroupV2:
        if self.hierarchy.version == 2:
            return CgroupV2(directory, self.descriptors)
        return CgroupV1(directory, self.descriptors, self._memory_total_bytes)

    def _forget(self, present: set[str]) -> None:
        for directory in self._cgroups.keys() - present:
            self._cgroups.pop(directory).close()

    # --- lines ------------------------------------------------------------------------------------------

    def _node_lines(self) -> Iterator[str]:
        node = f'node="{escaped(self._node_name)}"'
        found: dict[str, list[tuple[str, float]]] = {}
        for name, labels, value in self.node.samples():
            found.setdefault(name, []).append((node + labels, value))
        for name, samples in found.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            prefix = "memory_exporter_" if name == "psi_supported" else "memory_exporter_node_"
            yield from family(prefix + name, kind, _NODE_HELP + name.replace("_", " ") + ".", samples)

    def _health(self, found: list[CgroupPath], seconds: float) -> Iterator[str]:
        node = f'node="{escaped(self._node_name)}"'
        counts = {level: sum(path.level == level for path in found) for level in ("pod", "container")}
        levels = [(f'{node},level="{level}"', float(count)) for level, count in counts.items()]
        prefix = "memory_exporter_"
        unreadable = [(node, float(self.descriptors.unreadable))]
        degraded = {"descriptors_exhausted": self.descriptors.exhausted}
        modes = {**dict.fromkeys(sorted(self.node.degraded), True), **degraded}
        told = [(f'{node},mode="{mode}"', float(on)) for mode, on in modes.items()]
        text = "Duration of this scrape."
        yield from family(prefix + "scrape_duration_seconds", "gauge", text, [(node, round(seconds, 6))])
        yield from family(prefix + "cgroups", "gauge", "Cgroups seen, by level.", levels)
        yield from family(prefix + "unreadable_files_total", "counter", "Reads that failed.", unreadable)
        yield from family(prefix + "degraded", "gauge", "1 while a substitute is used.", told)
        yield from family(prefix + "descriptors", "gauge", "Descriptors kept open.", [(node, self.descriptors.kept)])


def _cgroup_lines(readings: list[Reading]) -> Iterator[str]:
    for name, (kind, text) in _FAMILIES.items():
        samples = [(labels, values[name]) for labels, values in readings if name in values]
        yield from family(f"cgroup_memory_{name}", kind, text, samples)
    stalls = [
        (f'{labels},kind="{kind}"', values[f"stalled_{kind}"])
        for labels, values in readings
        for kind in ("some", "full")
        if f"stalled_{kind}" in values
    ]
    yield from family("cgroup_memory_stalled_seconds_total", "counter", "PSI: seconds stalled on memory.", stalls)
