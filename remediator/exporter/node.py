"""The node's own numbers: /proc/meminfo, /proc/vmstat, PSI; or those of one cgroup that stands for the node."""

import os
from collections.abc import Iterator
from pathlib import Path

from remediator.exporter.cgroups import (
    FILE,
    LIMIT,
    MAJOR_FAULTS,
    OOM_KILLS,
    SHMEM,
    STALLED_FULL,
    STALLED_SOME,
    USAGE,
    Cgroup,
    layout,
)
from remediator.exporter.files import Descriptors, KernelFile, Vanished
from remediator.exporter.hierarchy import Hierarchy
from remediator.exporter.parsing import flat, meminfo, over_zones, stalled

Sample = tuple[str, str, float]
"""(metric without prefix, extra labels as text, value)."""
DESCRIPTIONS = {
    "memory_total_bytes": "MemTotal, or the limit of the cgroup that stands for the node.",
    "memory_available_bytes": "MemAvailable; estimated on kernels that do not tell it.",
    "memory_free_bytes": "MemFree.",
    "hugepages_bytes": "Memory reserved for hugepages, used or not.",
    "swap_total_bytes": "SwapTotal.",
    "swap_free_bytes": "SwapFree.",
    "arc_bytes": "Size of the ZFS ARC, which gives way under pressure but counts as used.",
    "major_faults_total": "Major page faults.",
    "swap_in_pages_total": "Pages swapped in.",
    "swap_out_pages_total": "Pages swapped out.",
    "oom_kills_total": "Processes killed by the OOM killer, at a limit or for the whole node.",
    "direct_reclaim_pages_total": "Pages scanned by tasks that had to reclaim memory themselves, all zones.",
    "allocation_stalls_total": "Allocations that had to wait for direct reclaim, all zones.",
    "psi_supported": "1 when the kernel tells memory pressure (PSI).",
    "stalled_seconds_total": "PSI: time in which some or all tasks waited for memory.",
}
_LOW_WATERMARK_RATIO = 0.01
_DEFAULT_HUGEPAGE_BYTES = 2 * 1024**2
_UNKNOWN_TOTAL_BYTES = 2**60
"""Stands in for MemTotal where v1's sentinel for unlimited is told apart from limits: it is well above this."""
_VMSTAT = {
    b"pgmajfault": "major_faults_total",
    b"pswpin": "swap_in_pages_total",
    b"pswpout": "swap_out_pages_total",
    b"oom_kill": "oom_kills_total",
}
_ZONED = ((b"pgscan_direct", "direct_reclaim_pages_total"), (b"allocstall", "allocation_stalls_total"))
_ESTIMATED, _IMPLAUSIBLE, _UNLIMITED = (
    "memory_available_estimated",
    "memory_available_implausible",
    "node_cgroup_unlimited",
)


class ProcUnreadableError(Exception):
    """The given proc root is none."""


class Node:
    """Reads of one node."""

    def __init__(self, proc_root: Path, descriptors: Descriptors) -> None:
        if not _is_file(proc_root / "meminfo"):
            raise ProcUnreadableError(f"{proc_root} has no meminfo that can be read; give the host's /proc")

        def file(name: str) -> KernelFile:
            return KernelFile(str(proc_root), name, descriptors, vanishes=False)

        self._meminfo, self._vmstat = file("meminfo"), file("vmstat")
        self._pressure, self._arc = file("pressure/memory"), file("spl/kstat/zfs/arcstats")
        self._cgroup: Cgroup | None = None
        self._cgroup_stat: KernelFile | None = None
        self._descriptors = descriptors
        self._modes: dict[str, bool] = dict.fromkeys((_ESTIMATED, _IMPLAUSIBLE), False)

    def stand_in(self, hierarchy: Hierarchy, directory: str) -> None:
        """Take the node's numbers from a cgroup, as a kubelet that enforces allocatable sees its node."""
        names = layout(hierarchy.version)
        self._cgroup = Cgroup(directory, names, self._descriptors, self.total_bytes(), leaf=False)
        self._cgroup_stat = KernelFile(directory, "memory.stat", self._descriptors)
        self._modes = {_UNLIMITED: False}

    def total_bytes(self) -> int:
        """MemTotal."""
        return meminfo(self._meminfo.read() or b"").get(b"MemTotal", _UNKNOWN_TOTAL_BYTES)

    def modes(self) -> dict[str, bool]:
        """Which substitutes the last samples needed."""
        return self._modes

    def samples(self) -> Iterator[Sample]:
        """All node samples; what the kernel does not tell is left out."""
        own = {name + labels: (name, labels, value) for name, labels, value in self._from_proc()}
        if self._cgroup is not None:
            own = {**own, **{name + labels: (name, labels, value) for name, labels, value in self._from_cgroup()}}
        yield from own.values()

    def _from_proc(self) -> Iterator[Sample]:
        if self._cgroup is None:
            yield from self._from_meminfo()
        yield from self._from_vmstat()
        kinds = stalled(self._pressure.read() or b"")
        yield "psi_supported", "", int(bool(kinds))
        for kind, seconds in kinds.items():
            yield "stalled_seconds_total", f',kind="{kind}"', seconds

    def _from_meminfo(self) -> Iterator[Sample]:
        info = meminfo(self._meminfo.read() or b"")
        total, free = info.get(b"MemTotal"), info.get(b"MemFree")
        if total is None:
            return
        yield "memory_total_bytes", "", total
        available = info.get(b"MemAvailable")
        self._modes[_ESTIMATED] = available is None and free is not None
        if available is None and free is not None:
            available = _estimated_available(info, total, free)
        self._modes[_IMPLAUSIBLE] = available is None or available > total
        if available is not None and available <= total:
            yield "memory_available_bytes", "", available
        if free is not None:
            yield "memory_free_bytes", "", free
        pages = info.get(b"HugePages_Total", 0)
        yield "hugepages_bytes", "", pages * info.get(b"Hugepagesize", _DEFAULT_HUGEPAGE_BYTES)
        for key, name in ((b"SwapTotal", "swap_total_bytes"), (b"SwapFree", "swap_free_bytes")):
            if key in info:
                yield name, "", info[key]
        size = _arc_size(self._arc.read() or b"")
        if size is not None:
            yield "arc_bytes", "", size

    def _from_cgroup(self) -> Iterator[Sample]:
        """Limit as total; what is neither anonymous nor kernel memory counts as available."""
        assert self._cgroup is not None  # noqa: S101 - only called then
        try:
            row = self._cgroup.read()
        except Vanished:
            self._cgroup.close()
            return
        limit, usage = (row[LIMIT], row[USAGE]) if row else (None, None)
        self._modes[_UNLIMITED] = limit is None
        if limit is None or usage is None:
            return
        cache = max(0, (row[FILE] or 0) - (row[SHMEM] or 0))
        yield "memory_total_bytes", "", limit
        yield "memory_available_bytes", "", min(limit, max(0, limit - usage + cache))
        yield "memory_free_bytes", "", max(0, limit - usage)
        yield "hugepages_bytes", "", 0
        counters = {
            ("major_faults_total", ""): row[MAJOR_FAULTS],
            ("oom_kills_total", ""): row[OOM_KILLS],
            ("stalled_seconds_total", ',kind="some"'): row[STALLED_SOME],
            ("stalled_seconds_total", ',kind="full"'): row[STALLED_FULL],
            # vmstat leaves out what is reclaimed at a cgroup's limit; v1 counts it nowhere.
            ("direct_reclaim_pages_total", ""): self._reclaimed_at_limit(),
        }
        for (name, labels), value in counters.items():
            if value is not None:
                yield name, labels, value

    def _reclaimed_at_limit(self) -> int | None:
        assert self._cgroup_stat is not None  # noqa: S101 - only called then
        try:
            return flat(self._cgroup_stat.read() or b"").get(b"pgscan_direct")
        except Vanished:
            self._cgroup_stat.close()
            return None

    def _from_vmstat(self) -> Iterator[Sample]:
        vmstat = flat(self._vmstat.read() or b"")
        for key, name in _VMSTAT.items():
            if key in vmstat:
                yield name, "", vmstat[key]
        for key, name in _ZONED:
            if (value := over_zones(vmstat, key)) is not None:
                yield name, "", value

    def close(self) -> None:
        """Let go of all descriptors."""
        for file in (self._meminfo, self._vmstat, self._pressure, self._arc, self._cgroup, self._cgroup_stat):
            if file is not None:
                file.close()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file() and os.access(path, os.R_OK)
    except OSError:
        return False


def _estimated_available(info: dict[bytes, int], total: int, free: int) -> int:
    """Kernels before 3.14 tell no MemAvailable: free, page cache without shmem, reclaimable slab, less a reserve."""
    cache = info.get(b"Cached", 0) + info.get(b"Buffers", 0) - info.get(b"Shmem", 0)
    reclaimable = info.get(b"SReclaimable", 0) // 2
    reserve = int(total * _LOW_WATERMARK_RATIO)
    return min(total, max(0, free + max(0, cache) + reclaimable - reserve))


def _arc_size(data: bytes) -> int | None:
    for line in data.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == b"size" and words[2].isdigit():
            return int(words[2])
    return None
