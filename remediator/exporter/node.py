"""The node's own numbers: /proc/meminfo, /proc/vmstat, PSI; or those of one cgroup that stands for the node."""

from collections.abc import Iterator
from pathlib import Path

from remediator.exporter.cgroups import Cgroup, layout
from remediator.exporter.files import Descriptors, KernelFile, Vanished
from remediator.exporter.hierarchy import Hierarchy
from remediator.exporter.parsing import flat, meminfo, over_zones, stalled

Sample = tuple[str, str, float]
"""(metric without prefix, extra labels as text, value)."""
_LOW_WATERMARK_RATIO = 0.01
_DEFAULT_HUGEPAGE_BYTES = 2 * 1024**2


class ProcUnreadableError(Exception):
    """The given proc root is none."""


class Node:
    """Reads of one node."""

    def __init__(self, proc_root: Path, descriptors: Descriptors) -> None:
        if not (proc_root / "meminfo").is_file():
            raise ProcUnreadableError(f"{proc_root} has no meminfo; give the host's /proc")
        self._meminfo = KernelFile(str(proc_root / "meminfo"), descriptors, vanishes=False)
        self._vmstat = KernelFile(str(proc_root / "vmstat"), descriptors, vanishes=False)
        self._pressure = KernelFile(str(proc_root / "pressure" / "memory"), descriptors, vanishes=False)
        self._arc = KernelFile(str(proc_root / "spl" / "kstat" / "zfs" / "arcstats"), descriptors, vanishes=False)
        self._cgroup: Cgroup | None = None
        self.degraded: set[str] = set()
        self._descriptors = descriptors

    def stand_in(self, hierarchy: Hierarchy, directory: str) -> None:
        """Take totals from a cgroup, as a kubelet that enforces allocatable sees its node."""
        names = layout(hierarchy.version)
        self._cgroup = Cgroup(directory, names, self._descriptors, self.total_bytes())

    def total_bytes(self) -> int:
        """MemTotal."""
        return meminfo(self._meminfo.read() or b"").get(b"MemTotal", 0)

    def samples(self) -> Iterator[Sample]:
        """All node samples; what the kernel does not tell is left out."""
        yield from self._from_cgroup() if self._cgroup is not None else self._from_meminfo()
        yield from self._from_vmstat()
        kinds = stalled(self._pressure.read() or b"")
        yield "psi_supported", "", float(bool(kinds))
        for kind, seconds in kinds.items():
            yield "stalled_seconds_total", f',kind="{kind}"', seconds

    def _from_meminfo(self) -> Iterator[Sample]:
        info = meminfo(self._meminfo.read() or b"")
        total, free = info.get(b"MemTotal"), info.get(b"MemFree")
        if total is None:
            return
        yield "memory_total_bytes", "", total
        available = info.get(b"MemAvailable")
        if available is None and free is not None:
            self.degraded.add("memory_available_estimated")
            available = _estimated_available(info, total, free)
        if available is not None and available <= total:
            yield "memory_available_bytes", "", available
        else:
            self.degraded.add("memory_available_implausible")
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
            values = self._cgroup.read()
        except Vanished:
            return
        limit, usage = values.get("limit_bytes"), values.get("usage_bytes")
        if limit is None or usage is None:
            self.degraded.add("node_cgroup_unlimited")
            return
        cache = max(0.0, values.get("file_bytes", 0) - values.get("shmem_bytes", 0))
        available = min(limit, max(0.0, limit - usage + cache))
        yield "memory_total_bytes", "", limit
        yield "memory_available_bytes", "", available
        yield "memory_free_bytes", "", max(0.0, limit - usage)
        yield "hugepages_bytes", "", 0

    def _from_vmstat(self) -> Iterator[Sample]:
        vmstat = flat(self._vmstat.read() or b"")
        plain = {
            b"pgmajfault": "major_faults_total",
            b"pswpin": "swap_in_pages_total",
            b"pswpout": "swap_out_pages_total",
            b"oom_kill": "oom_kills_total",
        }
        for key, name in plain.items():
            if key in vmstat:
                yield name, "", vmstat[key]
        zoned = ((b"pgscan_direct", "direct_reclaim_pages_total"), (b"allocstall", "allocation_stalls_total"))
        for key, name in zoned:
            if (value := over_zones(vmstat, key)) is not None:
                yield name, "", value

    def close(self) -> None:
        """Let go of all descriptors."""
        for file in (self._meminfo, self._vmstat, self._pressure, self._arc):
            file.close()
        if self._cgroup is not None:
            self._cgroup.close()


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
