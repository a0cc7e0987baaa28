"""Prometheus durations: text to milliseconds and back. Nothing else."""

import re

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000, "y": 31_536_000_000}
_PART = r"[0-9]+(?:ms|[smhdwy])"
DURATION = re.compile(rf"(?:{_PART})+")
"""A whole duration, such as `5m` or `1h30m`."""


def parse_ms(text: str) -> int:
    """Milliseconds of a Prometheus duration (`15s`, `1h30m`). Raises ValueError for anything else."""
    if DURATION.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a Prometheus duration such as 15s, 5m or 1h30m")
    parts = re.findall(r"([0-9]+)(ms|[smhdwy])", text)
    return sum(int(number) * _UNITS_MS[unit] for number, unit in parts)


def format_ms(milliseconds: float) -> str:
    """A Prometheus duration in the largest of h, m, s, ms that divides it; rounded, at least 1ms."""
    whole = max(1, round(milliseconds))
    for unit in ("h", "m", "s"):
        if whole % _UNITS_MS[unit] == 0:
            return f"{whole // _UNITS_MS[unit]}{unit}"
    return f"{whole}ms"
