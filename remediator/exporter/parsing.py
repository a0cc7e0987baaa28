"""Kernel files to numbers. Pure; what is missing stays missing, never 0."""

from collections.abc import Sequence

_UNLIMITED = b"max"


def flat(data: bytes) -> dict[bytes, int]:
    """`key value` lines (memory.stat, memory.events, vmstat); lines that are not so are ignored."""
    found: dict[bytes, int] = {}
    for line in data.split(b"\n"):
        key, _, value = line.partition(b" ")
        if value.isdigit():
            found[key] = int(value)
    return found


class StatIndex:
    """Some keys of a `key value` file, found by their remembered lines: the file's layout is the kernel's.

    Every line is checked by its key, and what was missing is looked for again, so another layout is only slower, never
    wrong.
    """

    __slots__ = ("_keys", "_missing", "_places")

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Empty keys are slots that stay None."""
        self._keys = tuple(keys)
        self._places: list[tuple[int, int, bytes, int]] = []
        self._missing = [key + b" " for key in self._keys if key]

    def values(self, data: bytes) -> list[int | float | None]:
        """A value per key, in their order; None for what is not there."""
        lines = data.split(b"\n")
        found: list[int | float | None] = [None] * len(self._keys)
        try:
            for slot, place, prefix, length in self._places:
                line = lines[place]
                if not line.startswith(prefix):
                    return self._found_anew(lines)
                found[slot] = int(line[length:])
        except (IndexError, ValueError):
            return self._found_anew(lines)
        for prefix in self._missing:
            if b"\n" + prefix in data or data.startswith(prefix):
                return self._found_anew(lines)
        return found

    def _found_anew(self, lines: list[bytes]) -> list[int | float | None]:
        self._places = []
        found: list[int | float | None] = [None] * len(self._keys)
        slots = {key: slot for slot, key in enumerate(self._keys) if key}
        for place, line in enumerate(lines):
            key, _, value = line.partition(b" ")
            slot = slots.get(key)
            if slot is not None and value.isdigit():
                self._places.append((slot, place, key + b" ", len(key) + 1))
                found[slot] = int(value)
        known = {place[2] for place in self._places}
        self._missing = [prefix for key in slots if (prefix := key + b" ") not in known]
        return found


def meminfo(data: bytes) -> dict[bytes, int]:
    """/proc/meminfo -> bytes (kB are 1024; counts such as HugePages_Total stay counts)."""
    found: dict[bytes, int] = {}
    for line in data.split(b"\n"):
        key, _, rest = line.partition(b":")
        words = rest.split()
        if words and words[0].isdigit():
            found[key] = int(words[0]) * (1024 if len(words) > 1 and words[1] == b"kB" else 1)
    return found


def number(data: bytes) -> int | None:
    """A file that holds one number; None for `max` and for what is no number."""
    if data.startswith(_UNLIMITED):
        return None
    try:
        value = int(data)
    except ValueError:
        return None
    return value if value >= 0 else None


def oom_kills(data: bytes) -> int | None:
    """`oom_kill` of memory.events (v2) or memory.oom_control (v1); None on kernels that do not count."""
    _, found, rest = data.partition(b"oom_kill ")
    value = rest.partition(b"\n")[0]
    return int(value) if found and value.isdigit() else None


def stalled(data: bytes) -> dict[str, float]:
    """PSI: kind (`some`, `full`) -> total seconds stalled; totals are microseconds."""
    found: dict[str, float] = {}
    for line in data.split(b"\n"):
        kind, _, rest = line.partition(b" ")
        _, told, total = rest.partition(b"total=")
        if kind in (b"some", b"full") and told and total.isdigit():
            found[kind.decode()] = int(total) / 1_000_000
    return found


_ZONES = (b"", b"_dma", b"_dma32", b"_normal", b"_high", b"_movable")


def over_zones(vmstat: dict[bytes, int], name: bytes) -> int | None:
    """A vmstat counter that old kernels split by zone; None when the kernel has neither form.

    `pgscan_direct_throttle` is another thing and not a zone.
    """
    found = [vmstat[name + zone] for zone in _ZONES if name + zone in vmstat]
    return sum(found) if found else None
