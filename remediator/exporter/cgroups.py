"""One cgroup's memory, as values by name; v1 and v2 each by their own files.

All samples of a cgroup are read or none: one that vanishes meanwhile raises `Vanished`. A value whose file or key is
missing is left out.
"""

from remediator.exporter.files import Descriptors, KernelFile
from remediator.exporter.parsing import flat, number, stalled

Values = dict[str, float]


class CgroupV2:
    """Files of a cgroup v2 directory."""

    __slots__ = ("_events", "_files", "_pressure", "_stat", "_usage")

    def __init__(self, directory: str, descriptors: Descriptors) -> None:
        self._usage = KernelFile(f"{directory}/memory.current", descriptors)
        self._stat = KernelFile(f"{directory}/memory.stat", descriptors)
        self._events = KernelFile(f"{directory}/memory.events", descriptors)
        self._pressure = KernelFile(f"{directory}/memory.pressure", descriptors)
        self._files = {
            "swap_bytes": KernelFile(f"{directory}/memory.swap.current", descriptors),
            "limit_bytes": KernelFile(f"{directory}/memory.max", descriptors),
        }

    def read(self) -> Values:
        """Values by name; empty when the memory controller is not enabled here."""
        usage = self._usage.read()
        stat = self._stat.read()
        if usage is None or stat is None or (used := number(usage)) is None:
            return {}
        values = _from_stat(flat(stat), used, _V2_KEYS, b"inactive_file")
        for name, file in self._files.items():
            if (data := file.read()) is not None and (value := number(data)) is not None:
                values[name] = value
        if (data := self._events.read()) is not None and (kills := flat(data).get(b"oom_kill")) is not None:
            values["oom_kills_total"] = kills
        if (data := self._pressure.read()) is not None:
            values.update({f"stalled_{kind}": seconds for kind, seconds in stalled(data).items()})
        return values

    def close(self) -> None:
        """Let go of all descriptors."""
        for file in (self._usage, self._stat, self._events, self._pressure, *self._files.values()):
            file.close()


class CgroupV1:
    """Files of a cgroup v1 memory directory; `memory_total_bytes` tells what unlimited looks like."""

    __slots__ = ("_limit", "_memory_total_bytes", "_oom", "_stat", "_usage")

    def __init__(self, directory: str, descriptors: Descriptors, memory_total_bytes: int) -> None:
        self._usage = KernelFile(f"{directory}/memory.usage_in_bytes", descriptors)
        self._stat = KernelFile(f"{directory}/memory.stat", descriptors)
        self._limit = KernelFile(f"{directory}/memory.limit_in_bytes", descriptors)
        self._oom = KernelFile(f"{directory}/memory.oom_control", descriptors)
        self._memory_total_bytes = memory_total_bytes

    def read(self) -> Values:
        """Values by name."""
        usage = self._usage.read()
        stat = self._stat.read()
        if usage is None or stat is None or (used := number(usage)) is None:
            return {}
        values = _from_stat(flat(stat), used, _V1_KEYS, b"total_inactive_file")
        # Unlimited is a sentinel that differs between kernels; no limit that matters is above what the machine has.
        limit = number(self._limit.read() or b"")
        if limit is not None and 0 < limit <= self._memory_total_bytes:
            values["limit_bytes"] = limit
        if (data := self._oom.read()) is not None and (kills := flat(data).get(b"oom_kill")) is not None:
            values["oom_kills_total"] = kills
        return values

    def close(self) -> None:
        """Let go of all descriptors."""
        for file in (self._usage, self._stat, self._limit, self._oom):
            file.close()


_V2_KEYS = {
    "anon_bytes": b"anon",
    "shmem_bytes": b"shmem",
    "file_bytes": b"file",
    "major_faults_total": b"pgmajfault",
}
_V1_KEYS = {
    "anon_bytes": b"total_rss",
    "shmem_bytes": b"total_shmem",
    "file_bytes": b"total_cache",
    "swap_bytes": b"total_swap",
    "major_faults_total": b"total_pgmajfault",
}


def _from_stat(stat: dict[bytes, int], used: int, keys: dict[str, bytes], inactive: bytes) -> Values:
    values: Values = {"usage_bytes": used}
    if inactive in stat:
        values["working_set_bytes"] = max(0, used - stat[inactive])
    for name, key in keys.items():
        if key in stat:
            values[name] = stat[key]
    return values


def summed(parts: list[Values]) -> Values:
    """A pod's values as the sum of its containers'; what not all containers have is left out."""
    if not parts:
        return {}
    common = set(parts[0]).intersection(*parts[1:])
    return {name: sum(part[name] for part in parts) for name in common}
