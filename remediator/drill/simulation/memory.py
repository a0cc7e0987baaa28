"""A node's memory at a moment: who holds what, what is left, and what the kernel's counters make of it. Pure.

Parts add up: used = system + host processes + pods (anon), available = total - hugepages - used. Page cache is
beside it, as in a real kernel: reclaimable, so counted as available.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from remediator.drill.scenario import Point

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
    oom_kills: int = 0

    def advance(self, pressure: Pressure, scenario_seconds: float, wall_seconds: float) -> None:
        """Events run in scenario time; stalled time is a share of real time, whatever the speed."""
        self.major_faults += pressure.major_faults * scenario_seconds
        self.direct_reclaim_pages += pressure.direct_reclaim_pages * scenario_seconds
        self.stalled_some_seconds += pressure.stall_some_ratio * wall_seconds
        self.stalled_full_seconds += pressure.stall_full_ratio * wall_seconds


@dataclass(slots=True)
class NodeMemory:
    """Memory of one node."""

    total_bytes: int
    system_bytes: int
    hugepages_bytes: int = 0
    page_cache_bytes: int = 0
    host_bytes: int = 0
    pods_bytes: int = 0
    counters: Counters = field(default_factory=Counters)

    @property
    def usable_bytes(self) -> int:
        """Total without what is reserved for hugepages."""
        return self.total_bytes - self.hugepages_bytes

    @property
    def used_bytes(self) -> int:
        """What cannot be reclaimed."""
        return min(self.usable_bytes, self.system_bytes + self.host_bytes + self.pods_bytes)

    @property
    def available_bytes(self) -> int:
        """MemAvailable."""
        return self.usable_bytes - self.used_bytes

    @property
    def cached_bytes(self) -> int:
        """Page cache: as much as there is room for."""
        return min(self.page_cache_bytes, int(self.available_bytes * 0.9))

    @property
    def free_bytes(self) -> int:
        """MemFree."""
        return self.available_bytes - self.cached_bytes

    @property
    def used_ratio(self) -> float:
        """used / usable."""
        return self.used_bytes / self.usable_bytes

    def advance(self, scenario_seconds: float, wall_seconds: float) -> None:
        """Let the counters run."""
        pressure = pressure_at(self.available_bytes / self.usable_bytes)
        self.counters.advance(pressure, scenario_seconds, wall_seconds)
