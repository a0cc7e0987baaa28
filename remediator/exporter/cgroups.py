"""One cgroup's memory, as a row of values; v1 and v2 differ in a table of file names and keys.

All values of a cgroup are read or none: one that vanishes meanwhile raises `Vanished`. What has no file or no key is
None. `memory.stat` is two thirds of the cost of a read, so where `whole` is not asked for it is read again only when
the usage has moved, or at every fourth round.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from remediator.exporter.files import Descriptors, KernelFile
from remediator.exporter.parsing import StatIndex, number, oom_kills, stalled

FIELDS = (
    "usage_bytes",
    "working_set_bytes",
    "anon_bytes",
    "shmem_bytes",
    "file_bytes",
    "swap_bytes",
    "limit_bytes",
    "major_faults_total",
    "oom_kills_total",
    "stalled_some",
    "stalled_full",
)
USAGE, WORKING_SET, ANON, SHMEM, FILE, SWAP, LIMIT, MAJOR_FAULTS, OOM_KILLS, STALLED_SOME, STALLED_FULL = range(11)
Values = Sequence[int | float | None]
"""A value per field; empty when the memory controller is not enabled in the cgroup."""
SKIPPED_ROUNDS = 3
_SHORT = 256
"""Bytes that all but memory.stat fit into."""
_TURNS = itertools.count()


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of one version. `keys`: field -> key in memory.stat (for WORKING_SET the key that it leaves out)."""

    usage: str
    limit: str
    events: str
    keys: Mapping[int, bytes]
    swap: str = ""
    pressure: str = ""
    events_hierarchical: bool = True
    """Whether a cgroup's counter of OOM kills holds those of its children."""
    index: StatIndex = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", StatIndex([self.keys.get(slot, b"") for slot in range(len(FIELDS))]))


def layout(version: int) -> Layout:
    """The layout of v1 or v2."""
    if version == 2:
        keys = {
            WORKING_SET: b"inactive_file",
            ANON: b"anon",
            SHMEM: b"shmem",
            FILE: b"file",
            MAJOR_FAULTS: b"pgmajfault",
        }
        names = ("memory.current", "memory.max", "memory.events")
        return Layout(*names, keys, "memory.swap.current", "memory.pressure")
    keys = {
        WORKING_SET: b"total_inactive_file",
        ANON: b"total_rss",
        SHMEM: b"total_shmem",
        FILE: b"total_cache",
        SWAP: b"total_swap",
        MAJOR_FAULTS: b"total_pgmajfault",
    }
    names = ("memory.usage_in_bytes", "memory.limit_in_bytes", "memory.oom_control")
    return Layout(*names, keys, events_hierarchical=False)


class Cgroup:
    """Files of one cgroup directory, and what was last read of them."""

    __slots__ = (
        "_events",
        "_layout",
        "_limit",
        "_most",
        "_pressure",
        "_rounds",
        "_seen",
        "_stat",
        "_stat_seen",
        "_swap",
        "_usage",
        "values",
    )

    def __init__(
        self, directory: str, names: Layout, descriptors: Descriptors, most_bytes: int, *, leaf: bool = True
    ) -> None:
        """`most_bytes`: what the machine has; a limit above it is v1's way to say unlimited.

        `leaf`: holds processes itself; elsewhere v1's count of OOM kills would be a 0 that means nothing.
        """
        self._layout, self._most = names, most_bytes

        def file(name: str, wanted: bool = True) -> KernelFile | None:
            return KernelFile(directory, name, descriptors, expected=_SHORT) if name and wanted else None

        self._usage = KernelFile(directory, names.usage, descriptors, expected=_SHORT)
        self._stat = KernelFile(directory, "memory.stat", descriptors)
        self._limit = KernelFile(directory, names.limit, descriptors, expected=_SHORT)
        self._events = file(names.events, leaf or names.events_hierarchical)
        self._swap, self._pressure = file(names.swap), file(names.pressure)
        # Cgroups take turns, so that one round costs what another does; pods and their containers do not in step.
        turn = next(_TURNS)
        self._rounds = (turn + turn // (SKIPPED_ROUNDS + 1)) % (SKIPPED_ROUNDS + 1)
        self._seen: bytes | None = None
        self._stat_seen: tuple[bytes, int, list[int | float | None]] = (b"", 0, [])
        """memory.stat as last read, the usage beside it, and the values found there: most cgroups stand still."""
        self.values: Values = ()

    def read(self, *, whole: bool = True) -> Values:
        """The row of values. Raises Vanished. The same object is given again when nothing was read anew."""
        data = self._usage.read()
        if not whole and data == self._seen and self._rounds < SKIPPED_ROUNDS:
            self._rounds += 1
            return self.values
        if self._seen is not None:
            self._rounds = 0
        self._seen = data
        usage = number(data) if data is not None else None
        self.values = self._read_whole(usage) if usage is not None else ()
        return self.values

    def _read_whole(self, usage: int) -> Values:
        stat = self._stat.read()
        if stat is None:
            return ()
        values = self._of_stat(stat, usage)
        limit = self._limit.read()
        if limit is not None and (most := number(limit)) is not None and 0 < most <= self._most:
            values[LIMIT] = most
        if self._events is not None and (data := self._events.read()) is not None:
            values[OOM_KILLS] = oom_kills(data)
        if self._swap is not None and (data := self._swap.read()) is not None:
            values[SWAP] = number(data)
        if self._pressure is not None and (data := self._pressure.read()) is not None:
            kinds = stalled(data)
            values[STALLED_SOME], values[STALLED_FULL] = kinds.get("some"), kinds.get("full")
        return values

    def _of_stat(self, stat: bytes, usage: int) -> list[int | float | None]:
        """A fresh row with what usage and memory.stat say."""
        seen, seen_usage, found = self._stat_seen
        if seen == stat and seen_usage == usage:
            return found.copy()
        values = self._layout.index.values(stat)
        values[USAGE] = usage
        inactive = values[WORKING_SET]
        if inactive is not None:
            values[WORKING_SET] = usage - inactive if usage > inactive else 0
        self._stat_seen = stat, usage, values.copy()
        return values

    def close(self) -> None:
        """Let go of all descriptors."""
        for file in (self._usage, self._stat, self._limit, self._events, self._swap, self._pressure):
            if file is not None:
                file.close()
        self._rounds, self._seen, self._stat_seen, self.values = 0, None, (b"", 0, []), ()


def summed(parts: Sequence[Values]) -> Values:
    """A pod's values as the sum of its containers'; what not all containers have is left out."""
    rows = [part for part in parts if part]
    if not rows:
        return ()
    total: list[int | float | None] = []
    for column in zip(*rows, strict=True):
        known = [value for value in column if value is not None]
        total.append(sum(known) if len(known) == len(column) else None)
    return total
