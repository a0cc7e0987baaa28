"""One scrape: reads of all members, and the pages made of them.

A scrape never fails because one cgroup did: what vanished is left out whole. Lines of members whose values were not
read anew are used again as they are.
"""

import operator
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from remediator.exporter.cgroups import Values, layout, summed
from remediator.exporter.exposition import escaped, family, formatted
from remediator.exporter.files import Descriptors, Vanished
from remediator.exporter.hierarchy import Hierarchy
from remediator.exporter.membership import Member, Membership
from remediator.exporter.node import Node

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
    "stalled_some": ("counter", "PSI: seconds stalled on memory, by kind."),
    "stalled_full": ("counter", ""),
}
_STALLED = "cgroup_memory_stalled_seconds_total"
_NODE_HELP = "Node memory: "


class Collector:
    """Reads everything of one node; one scrape at a time."""

    def __init__(self, hierarchy: Hierarchy, proc_root: Path, node_name: str) -> None:
        self.hierarchy, self._node_name = hierarchy, node_name
        self.descriptors = Descriptors()
        self.node = Node(proc_root, self.descriptors)
        names = layout(hierarchy.version)
        self._members = Membership(hierarchy, names, self.descriptors, self.node.total_bytes(), node_name)
        self._lock = threading.Lock()
        self._containers_text = "\n"
        self._containers_of: list[object] = []

    # --- pages ------------------------------------------------------------------------------------------

    def page(self) -> str:
        """/metrics: the node, its pods, its system slices, and our own health."""
        with self._lock:
            began = time.perf_counter()
            self._members.refresh()
            shown = [member for member in (*self._members.pods, *self._members.slices) if self._show(member)]
            lines = [*self._node_lines(), *_cgroup_lines(shown)]
            lines += self._health(time.perf_counter() - began)
            return "\n".join(lines) + "\n"

    def containers_page(self) -> str:
        """/metrics/containers: a small container's memory.stat is read again only when its usage has moved."""
        with self._lock:
            self._members.refresh()
            shown = [member for member in tuple(self._members.containers) if self._show(member, whole=False)]
            made_of = [member.shown for member in shown]
            if not _same(made_of, self._containers_of):
                self._containers_of = made_of
                self._containers_text = "\n".join(_cgroup_lines(shown)) + "\n"
            return self._containers_text

    def snapshot(self) -> dict[str, object]:
        """What /history keeps of a moment: the node's memory and each pod's working set."""
        with self._lock:
            self._members.refresh()
            node = {name: value for name, labels, value in self.node.samples() if not labels}
            pods = {
                pod.found.uid: values["working_set_bytes"]
                for pod in tuple(self._members.pods)
                if "working_set_bytes" in (values := self._values(pod, whole=False))
            }
            return {"at": time.time(), "node": node, "pods": pods}

    def close(self) -> None:
        """Let go of all descriptors."""
        with self._lock:
            self._members.close()
            self.node.close()

    # --- members ----------------------------------------------------------------------------------------

    def _values(self, member: Member, *, whole: bool) -> Values:
        """What the member holds now; empty when it is gone or has no memory controller."""
        try:
            if member.parts:
                return summed([part.cgroup.read(whole=whole) for part in member.parts])
            return member.cgroup.read(whole=whole)
        except Vanished:
            self._members.dropped(member)
            return {}

    def _show(self, member: Member, *, whole: bool = True) -> bool:
        """Bring the member's lines up to date; False when there is nothing to show."""
        values = self._values(member, whole=whole)
        if values is not member.shown:
            member.shown = values
            member.lines = {name: _line(name, member.labels, value) for name, value in values.items()}
        return bool(values)

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

    def _health(self, seconds: float) -> Iterator[str]:
        node = f'node="{escaped(self._node_name)}"'
        counts = {"pod": len(self._members.pods), "container": len(self._members.containers)}
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


def _same(made_of: list[object], before: list[object]) -> bool:
    """The very same values, one by one: nothing was read anew, nobody came or went."""
    return len(made_of) == len(before) and all(map(operator.is_, made_of, before))


def _line(name: str, labels: str, value: float) -> str:
    if name.startswith("stalled_"):
        return f'{_STALLED}{{{labels},kind="{name.removeprefix("stalled_")}"}} {formatted(value)}'
    return f"cgroup_memory_{name}{{{labels}}} {formatted(value)}"


def _cgroup_lines(shown: list[Member]) -> Iterator[str]:
    for name, (kind, text) in _FAMILIES.items():
        lines = [member.lines[name] for member in shown if name in member.lines]
        if lines and text:
            metric = _STALLED if name.startswith("stalled_") else f"cgroup_memory_{name}"
            yield f"# HELP {metric} {text}"
            yield f"# TYPE {metric} {kind}"
        yield from lines
