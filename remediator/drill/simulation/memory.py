"""A node's memory at a moment: who holds what, what is left, and what the kernel's counters make of it. Pure.

Parts add up: used + swapped = kernel + system + host processes + pods, and used + available = total - hugepages.
Page cache is beside it, as in a real kernel: reclaimable, so counted as available.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from remediator.drill.scenario import Point

PAGE_BYTES = 4096
RESERVE_BYTES = 32 * 1024**2
"""What the kernel keeps for itself (its lowest watermark)."""
_SWAP_FROM_RATIO = 0.9
_PAGES_A_STALL = 32
_SWAP_CHURN_PAGES = 2000.0
"""Pages a second that go in and out of a full swap."""

# Kernel behaviour by share of memory left (per second of scenario time), in straight lines between the points:
# (available ratio, major faults, direct reclaim pages, stall some ratio, stall full ratio)
_PRESSURE = (
    (0.00, 4000.0, 60000.0, 0.95, 0.80),
    (0.02, 1500.0, 20000.0, 0.60, 0.35),
    (0.05, 150.0, 900.0, 0.12, 0.04),
    (0.10, 30.0, 60.0, 0.02, 0.005),
    (0.20, 4.0, 0.0, 0.0, 0.0),
    (1.00, 1.0, 0.0, 0.0, 0.0),
)


def interpolate(points: Sequence[Point], seconds: float) -> int:
    """Bytes at a moment on the line through the points; flat before the first and after the last."""
    before = points[0]
    for point in points:
        if point.at > seconds:
            span = point.at - before.at
            share = (seconds - before.at) / span if span > 0 else 1.0
            return round(before.bytes + (point.bytes - before.bytes) * max(0.0, share))
        before = point
    return before.bytes


@dataclass(frozen=True, slots=True)
class PodMemory:
    """Where the memory of one pod is, in bytes."""

    anon: int
    shmem: int
    swap: int
    active_file: int
    inactive_file: int

    @property
    def held(self) -> int:
        """What the kernel gets back only when the pod goes."""
        return self.anon + self.shmem

    @property
    def working_set(self) -> int:
        """As the kubelet counts it: all but inactive files."""
        return self.held + self.active_file

    @property
    def usage(self) -> int:
        """All that is charged to the cgroup."""
        return self.working_set + self.inactive_file

    @property
    def file(self) -> int:
        """Page cache as memory.stat counts it: shared memory included."""
        return self.active_file + self.inactive_file + self.shmem


@dataclass(frozen=True, slots=True)
class Pressure:
    """What the kernel does per second at some share of memory left."""

    major_faults: float
    direct_reclaim_pages: float
    stall_some_ratio: float
    stall_full_ratio: float


def pressure_at(available_ratio: float) -> Pressure:
    """Interpolated from the table above."""
    ratio = min(1.0, max(0.0, available_ratio))
    for low, high in pairwise(_PRESSURE):
        if ratio <= high[0]:
            share = (ratio - low[0]) / (high[0] - low[0])
            faults, pages, some, full = (a + (b - a) * share for a, b in zip(low[1:], high[1:], strict=True))
            return Pressure(faults, pages, some, full)
    return Pressure(*_PRESSURE[-1][1:])


@dataclass(slots=True)
class Counters:
    """The node's growing counters."""

    major_faults: float = 1000.0
    direct_reclaim_pages: float = 0.0
    stalled_some_seconds: float = 0.0
    stalled_full_seconds: float = 0.0
    swapped_in_pages: float = 0.0
    swapped_out_pages: float = 0.0
    oom_kills: int = 0

    @property
    def allocation_stalls(self) -> int:
        """How often somebody had to reclaim himself before he got a page."""
        return int(self.direct_reclaim_pages / _PAGES_A_STALL)

    def advance(self, pressure: Pressure, scenario_seconds: float, wall_seconds: float) -> None:
        """Events run in scenario time; stalled time is a share of real time, whatever the speed."""
        self.major_faults += pressure.major_faults * scenario_seconds
        self.direct_reclaim_pages += pressure.direct_reclaim_pages * scenario_seconds
        self.stalled_some_seconds += pressure.stall_some_ratio * wall_seconds
        self.stalled_full_seconds += pressure.stall_full_ratio * wall_seconds

    def swap(self, before_bytes: int, after_bytes: int, busy_ratio: float, scenario_seconds: float) -> None:
        """Pages that moved between two amounts in swap; a full swap is also read from and written to all the time."""
        moved = (after_bytes - before_bytes) / PAGE_BYTES
        churn = _SWAP_CHURN_PAGES * busy_ratio * scenario_seconds
        self.swapped_out_pages += max(0.0, moved) + churn
        self.swapped_in_pages += max(0.0, -moved) + churn


@dataclass(slots=True)
class NodeMemory:
    """Memory of one node: what its parts ask for, and where that is."""

    total_bytes: int
    system_bytes: int
    hugepages_bytes: int = 0
    page_cache_bytes: int = 0
    kernel_bytes: int = 0
    swap_bytes: int = 0
    host_system_bytes: int = 0
    """Host processes in /system.slice."""
    host_user_bytes: int = 0
    """Host processes in /user.slice."""
    pods_bytes: int = 0
    pods_cache_bytes: int = 0
    """Files that pods would like to keep cached."""
    counters: Counters = field(default_factory=Counters)
    _swapped_before: int = 0

    @property
    def usable_bytes(self) -> int:
        """Total without what is reserved for hugepages."""
        return self.total_bytes - self.hugepages_bytes

    @property
    def demand_bytes(self) -> int:
        """The sum of all parts, in memory or in swap."""
        own = self.system_bytes + self.kernel_bytes
        return own + self.host_system_bytes + self.host_user_bytes + self.pods_bytes

    @property
    def excess_bytes(self) -> int:
        """What is asked for and is not there: the kernel must kill. Its own reserve is given to nobody."""
        return max(0, self.demand_bytes - self.swap_bytes - self.usable_bytes + RESERVE_BYTES)

    @property
    def swapped_bytes(self) -> int:
        """The part of the demand that is in swap: what goes beyond the ratio at which the kernel begins to swap."""
        return min(self.swap_bytes, max(0, self.demand_bytes - int(self.usable_bytes * _SWAP_FROM_RATIO)))

    @property
    def used_bytes(self) -> int:
        """What is in memory and cannot be reclaimed."""
        return self.demand_bytes - self.swapped_bytes

    @property
    def available_bytes(self) -> int:
        """MemAvailable."""
        return max(0, self.usable_bytes - self.used_bytes)

    @property
    def cached_bytes(self) -> int:
        """Page cache: as much as there is room for."""
        return min(self.page_cache_bytes + self.pods_cache_bytes, int(self.available_bytes * 0.9))

    @property
    def cached_ratio(self) -> float:
        """How much of the cache that everybody wants there is."""
        wanted = self.page_cache_bytes + self.pods_cache_bytes
        return self.cached_bytes / wanted if wanted else 0.0

    @property
    def swapped_ratio(self) -> float:
        """How much of what pods hold is in swap: the kernel and the system keep theirs in memory."""
        movable = self.pods_bytes + self.host_system_bytes + self.host_user_bytes
        return min(1.0, self.swapped_bytes / movable) if movable else 0.0

    @property
    def free_bytes(self) -> int:
        """MemFree."""
        return self.available_bytes - self.cached_bytes

    @property
    def used_ratio(self) -> float:
        """used / usable."""
        return self.used_bytes / self.usable_bytes

    def advance(self, scenario_seconds: float, wall_seconds: float) -> Pressure:
        """Let the counters run; what the kernel does now."""
        pressure = pressure_at(self.available_bytes / self.usable_bytes)
        self.counters.advance(pressure, scenario_seconds, wall_seconds)
        if self.swap_bytes:
            busy = self.swapped_bytes / self.swap_bytes
            self.counters.swap(self._swapped_before, self.swapped_bytes, busy, scenario_seconds)
            self._swapped_before = self.swapped_bytes
        return pressure
