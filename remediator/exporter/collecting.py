"""One scrape: reads of all members, and the pages made of them.

A scrape never fails because one cgroup did: what vanished is left out whole. Pages are lists of parts: joining them
would cost their size again.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from remediator.exporter.cgroups import FIELDS, WORKING_SET, Values, layout, summed
from remediator.exporter.exposition import Column, Table, family, label_text
from remediator.exporter.files import Descriptors, Vanished
from remediator.exporter.hierarchy import Hierarchy
from remediator.exporter.membership import Member, Membership
from remediator.exporter.node import DESCRIPTIONS, Node, Sample

_ABOUT = {
    "usage_bytes": "Memory charged to the cgroup, page cache included.",
    "working_set_bytes": "Usage less inactive file cache, as the kubelet counts it.",
    "anon_bytes": "Anonymous memory (v1: total_rss).",
    "shmem_bytes": "Shared memory and tmpfs.",
    "file_bytes": "Page cache, shared memory included.",
    "swap_bytes": "Memory in swap.",
    "limit_bytes": "Memory limit; absent when unlimited.",
    "major_faults_total": "Major page faults.",
    "oom_kills_total": "Processes killed by the OOM killer; on v1 the kernel counts per container only.",
}
_STALLED = "cgroup_memory_stalled_seconds_total"
_COLUMNS = (
    *(
        Column(f"cgroup_memory_{name}", "counter" if name.endswith("_total") else "gauge", _ABOUT[name])
        for name in FIELDS
        if name in _ABOUT
    ),
    Column(_STALLED, "counter", "PSI: time in which some or all tasks waited for memory.", ',kind="some"'),
    Column(_STALLED, "counter", "", ',kind="full"'),
)
_HEALTH = "memory_exporter_"


class Collector:
    """Reads everything of one node; one scrape at a time."""

    def __init__(self, hierarchy: Hierarchy, proc_root: Path, node_name: str) -> None:
        self._node = label_text([("node", node_name)])
        self._whole_host = hierarchy.whole
        self.descriptors = Descriptors()
        self.node = Node(proc_root, self.descriptors)
        names = layout(hierarchy.version)
        self._members = Membership(hierarchy, names, self.descriptors, self.node.total_bytes(), node_name)
        self._lock = threading.Lock()
        self._pods, self._containers, self._all = Table(_COLUMNS), Table(_COLUMNS), Table(_COLUMNS)
        self._scraped_at, self._read_time = float("-inf"), 0.0
        """When pods were last scraped (monotonic), and when node and pods were last read (Unix time)."""
        self._node_samples: list[Sample] = []

    # --- pages ------------------------------------------------------------------------------------------

    def page(self) -> list[bytes]:
        """/metrics: the node, its pods, its system slices, and our own health."""
        return self._page(self._pods, with_containers=False)

    def whole_page(self) -> list[bytes]:
        """One exposition of everything, containers included (--once)."""
        return self._page(self._all, with_containers=True)

    def _page(self, table: Table, *, with_containers: bool) -> list[bytes]:
        with self._lock:
            began = time.perf_counter()
            self._members.refresh()
            wanted = [*self._members.pods, *(self._members.containers if with_containers else ())]
            cgroups = table.parts(*self._read([*wanted, *self._members.slices], whole=True))
            self._read_node()
            self._scraped_at = time.monotonic()
            node = "\n".join([*self._node_lines(), ""])
            health = "\n".join([*self._health(time.perf_counter() - began), ""])
            return [node.encode(), *cgroups, health.encode()]

    def containers_page(self) -> list[bytes]:
        """/metrics/containers: a container's memory.stat is read again only when its usage has moved."""
        with self._lock:
            self._members.refresh()
            return self._containers.parts(*self._read(self._members.containers, whole=False))

    def snapshot(self, unless_scraped_seconds: float = 0.0) -> dict[str, object]:
        """What /history keeps of a moment: its Unix time, the node's memory and each pod's working set.

        Made of what the last scrape read; only when nobody has scraped for so long is anything read for it.
        """
        with self._lock:
            self._members.refresh()
            if time.monotonic() - self._scraped_at >= unless_scraped_seconds:
                self._read(self._members.pods, whole=False)
                self._read_node()
            node = {name: value for name, labels, value in self._node_samples if not labels}
            rows = {member.found.uid: self._as_read(member) for member in self._members.pods}
            pods = {uid: row[WORKING_SET] for uid, row in rows.items() if row and row[WORKING_SET] is not None}
            return {"at": self._read_time, "node": node, "pods": pods}

    def close(self) -> None:
        """Let go of all descriptors."""
        with self._lock:
            self._members.close()
            self.node.close()

    # --- members ----------------------------------------------------------------------------------------

    def _read(self, members: Sequence[Member], *, whole: bool) -> tuple[list[str], list[Values]]:
        """Label texts of those that have values now, and their values."""
        there, rows = [], []
        for member in members:
            try:
                values = member.cgroup.read(whole=whole) if not member.parts else self._sum(member.parts, whole=whole)
            except Vanished:
                values = self._read_again(member, whole=whole)
            if values:
                there.append(member.labels)
                rows.append(values)
        return there, rows

    def _sum(self, parts: Sequence[Member], *, whole: bool) -> Values:
        _, rows = self._read(parts, whole=whole)
        return summed(rows)

    def _read_again(self, member: Member, *, whole: bool) -> Values:
        """Gone since the last scrape: empty, unless it was made again under its name, whose files open anew."""
        self._members.vanished(member)
        try:
            return member.cgroup.read(whole=whole)
        except Vanished:
            self._members.vanished(member)
            return ()

    def _as_read(self, member: Member) -> Values:
        if member.parts:
            return summed([part.cgroup.values for part in member.parts])
        return member.cgroup.values

    def _read_node(self) -> None:
        self._node_samples = list(self.node.samples())
        self._read_time = time.time()

    # --- lines ------------------------------------------------------------------------------------------

    def _node_lines(self) -> Iterator[str]:
        found: dict[str, list[tuple[str, float]]] = {}
        for name, labels, value in self._node_samples:
            found.setdefault(name, []).append((self._node + labels, value))
        for name, samples in found.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            prefix = _HEALTH if name == "psi_supported" else f"{_HEALTH}node_"
            yield from family(prefix + name, kind, DESCRIPTIONS[name], samples)

    def _health(self, seconds: float) -> Iterator[str]:
        node, members = self._node, self._members
        counts = {"pod": members.pods, "container": members.containers, "system": members.slices}
        levels = [(f'{node},level="{level}"', len(found)) for level, found in counts.items()]
        modes = {
            **self.node.modes(),
            "descriptors_exhausted": self.descriptors.exhausted,
            "inotify_unavailable": not members.watch.works,
            "cgroup_root_is_not_the_hosts": not self._whole_host,
        }
        told = [(f'{node},mode="{mode}"', int(on)) for mode, on in modes.items()]
        gauges: dict[str, tuple[str, list[tuple[str, float]]]] = {
            "scrape_duration_seconds": ("Duration of this scrape.", [(node, round(seconds, 6))]),
            "cgroups": ("Cgroups seen, by level.", [*levels]),
            "degraded": ("1 while a substitute is used or something is not as it should be.", [*told]),
            "descriptors": ("Descriptors kept open.", [(node, self.descriptors.kept)]),
        }
        for name, (text, samples) in gauges.items():
            yield from family(_HEALTH + name, "gauge", text, samples)
        unreadable = [(node, self.descriptors.unreadable)]
        yield from family(f"{_HEALTH}unreadable_files_total", "counter", "Reads that failed.", unreadable)
