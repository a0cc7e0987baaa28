"""Kernel files to numbers. Pure; what is missing stays missing, never 0."""

from collections.abc import Iterable

_UNLIMITED = b"max"


def flat(data: bytes) -> dict[bytes, int]:
    """`key value` lines (memory.stat, memory.events, vmstat); lines that are not so are ignored."""
    found: dict[bytes, int] = {}
    for line in data.split(b"\n"):
        key, _, value = line.partition(b" ")
        try:
            found[key] = int(value)
        except ValueError:
            continue
    return found


class StatIndex:
    """Some keys of a `key value` file, found by their remembered places: the file's layout is the kernel's.

    Every place is checked by its key, so another layout is only slower, never wrong.
    """

    __slots__ = ("_keys", "_places")

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._keys = tuple(keys)
        self._places: list[tuple[bytes, int]] = []

    def values(self, data: bytes) -> dict[bytes, int]:
        """key -> value of those that are there."""
        words = data.split()
        try:
            found = {key: int(words[place]) for key, place in self._places if words[place - 1] == key}
            if found and len(found) == len(self._places):
                return found
        except (IndexError, ValueError):
            pass
        return self._found_anew(words)

    def _found_anew(self, words: list[bytes]) -> dict[bytes, int]:
        at = {word: place + 1 for place, word in enumerate(words[:-1]) if place % 2 == 0}
        self._places = [(key, at[key]) for key in self._keys if key in at and words[at[key]].isdigit()]
        return {key: int(words[place]) for key, place in self._places}


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
    text = data.strip()
    if text == _UNLIMITED:
        return None
    try:
        return int(text)
    except ValueError:
        return None


def stalled(data: bytes) -> dict[str, float]:
    """PSI: kind (`some`, `full`) -> total seconds stalled; totals are microseconds."""
    found: dict[str, float] = {}
    for line in data.decode("ascii", "replace").splitlines():
        words = line.split()
        if words and words[0] in ("some", "full"):
            for word in words[1:]:
                key, _, value = word.partition("=")
                if key == "total" and value.isdigit():
                    found[words[0]] = int(value) / 1_000_000
    return found


_ZONES = (b"", b"_dma", b"_dma32", b"_normal", b"_high", b"_movable")


def over_zones(vmstat: dict[bytes, int], name: bytes) -> int | None:
    """A vmstat counter that old kernels split by zone; None when the kernel has neither form.

    `pgscan_direct_throttle` is another thing and not a zone.
    """
    found = [vmstat[name + zone] for zone in _ZONES if name + zone in vmstat]
    return sum(found) if found else None
