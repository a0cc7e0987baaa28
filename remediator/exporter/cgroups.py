"""One cgroup's memory, as values by name; v1 and v2 differ in a table of file names and keys.

All values of a cgroup are read or none: one that vanishes meanwhile raises `Vanished`. What has no file or no key is
left out. `memory.stat` is two thirds of the cost of a read, so where `whole` is not asked for it is read again only
when the usage has moved, or at every fourth round.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from remediator.exporter.files import Descriptors, KernelFile
from remediator.exporter.parsing import StatIndex, flat, number, stalled

Values = dict[str, float]
SKIPPED_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of one version. `keys`: value -> key in memory.stat; `inactive`: the key that working set leaves out."""

    usage: str
    limit: str
    events: str
    keys: Mapping[str, bytes]
    inactive: bytes
    swap: str = ""
    pressure: str = ""
    index: StatIndex = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", StatIndex([*self.keys.values(), self.inactive]))


def layout(version: int) -> Layout:
    """The layout of v1 or v2."""
    if version == 2:
        keys = {
            "anon_bytes": b"anon",
            "shmem_bytes": b"shmem",
            "file_bytes": b"file",
            "major_faults_total": b"pgmajfault",
        }
        names = ("memory.current", "memory.max", "memory.events")
        return Layout(*names, keys, b"inactive_file", "memory.swap.current", "memory.pressure")
    keys = {
        "anon_bytes": b"total_rss",
        "shmem_bytes": b"total_shmem",
        "file_bytes": b"total_cache",
        "swap_bytes": b"total_swap",
        "major_faults_total": b"total_pgmajfault",
    }
    names = ("memory.usage_in_bytes", "memory.limit_in_bytes", "memory.oom_control")
    return Layout(*names, keys, b"total_inactive_file")


class Cgroup:
    """Files of one cgroup directory, and what was last read of them."""

    __slots__ = (
        "_events",
        "_layout",
        "_limit",
        "_most",
        "_pressure",
        "_rounds",
        "_stat",
        "_swap",
        "_usage",
        "_usage_seen",
        "values",
    )

    def __init__(self, directory: str, names: Layout, descriptors: Descriptors, most_bytes: int) -> None:
        """`most_bytes`: what the machine has; a limit above it is v1's way to say unlimited."""
        self._layout, self._most = names, most_bytes
        self._usage = KernelFile(f"{directory}/{names.usage}", descriptors)
        self._stat = KernelFile(f"{directory}/memory.stat", descriptors)
        self._limit = KernelFile(f"{directory}/{names.limit}", descriptors)
        self._events = KernelFile(f"{directory}/{names.events}", descriptors)
        self._swap = KernelFile(f"{directory}/{names.swap}", descriptors) if names.swap else None
        self._pressure = KernelFile(f"{directory}/{names.pressure}", descriptors) if names.pressure else None
        self._rounds = SKIPPED_ROUNDS
        self._usage_seen: bytes | None = None
        self.values: Values = {}

    def read(self, *, whole: bool = True) -> Values:
        """Values by name; empty when the memory controller is not enabled here. Raises Vanished.

        The same dict object is given again when nothing was read anew.
        """
        data = self._usage.read()
        if not whole and data == self._usage_seen and self._rounds < SKIPPED_ROUNDS:
            self._rounds += 1
            return self.values
        self._rounds, self._usage_seen = 0, data
        usage = number(data) if data is not None else None
        self.values = self._read_whole(usage) if usage is not None else {}
        return self.values

    def _read_whole(self, usage: int) -> Values:
        stat = self._stat.read()
        if stat is None:
            return {}
        names = self._layout
        found = names.index.values(stat)
        values: Values = {"usage_bytes": usage}
        if (inactive := found.get(names.inactive)) is not None:
            values["working_set_bytes"] = max(0, usage - inactive)
        for name, key in names.keys.items():
            if (value := found.get(key)) is not None:
                values[name] = value
        if self._swap is not None and (data := self._swap.read()) is not None and (swap := number(data)) is not None:
            values["swap_bytes"] = swap
        self._read_limits(values)
        return values

    def _read_limits(self, values: Values) -> None:
        limit = number(self._limit.read() or b"")
        if limit is not None and 0 < limit <= self._most:
            values["limit_bytes"] = limit
        if (data := self._events.read()) is not None and (kills := flat(data).get(b"oom_kill")) is not None:
            values["oom_kills_total"] = kills
        if self._pressure is not None and (data := self._pressure.read()) is not None:
            values.update({f"stalled_{kind}": seconds for kind, seconds in stalled(data).items()})

    def close(self) -> None:
        """Let go of all descriptors."""
        for file in (self._usage, self._stat, self._limit, self._events, self._swap, self._pressure):
            if file is not None:
                file.close()


def summed(parts: list[Values]) -> Values:
    """A pod's values as the sum of its containers'; what not all containers have is left out."""
    if not parts:
        return {}
    common = set(parts[0]).intersection(*parts[1:])
    return {name: sum(part[name] for part in parts) for name in parts[0] if name in common}
