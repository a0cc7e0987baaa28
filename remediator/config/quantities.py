"""Durations (`10m`, `1h30m`, 600) and sizes (`100Mi`, 104857600) as people write them.

Notation only: Prometheus' for durations, Kubernetes' for sizes. Raises ValueError with an example of what is
accepted, so that a typo never turns into a default.
"""

import math
import re

_UNIT_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|d|h|m|s)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)?")
_UNIT_BYTES = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}


def duration_seconds(value: object) -> float:
    """Seconds of a number or of a text like `10m`, `1h30m`; ValueError otherwise or when negative."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value) or value < 0:
            raise ValueError(f"{value} is not a duration: it must be 0 or more seconds")
        return float(value)
    if isinstance(value, str):
        parts = _DURATION_PART.findall(value)
        if parts and "".join(number + unit for number, unit in parts) == value.strip():
            return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)
    raise ValueError(f"{value!r} is not a duration: write seconds as a number, or for example 30s, 10m, 1h30m")


def size_bytes(value: object) -> int:
    """Bytes of a whole number or of a text like `100Mi`; ValueError otherwise or when negative."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"{value} is not a size: it must be 0 or more bytes")
        return value
    if isinstance(value, str):
        found = _SIZE.fullmatch(value.strip())
        if found:
            return round(float(found.group(1)) * _UNIT_BYTES[found.group(2) or ""])
    raise ValueError(f"{value!r} is not a size: write bytes as a number, or for example 100Mi, 2Gi")
