"""Durations in rules, divided by a factor: windows, offsets, `for`, intervals; and limits that go with them. Pure.

PromQL is scanned, not parsed: durations stand only in brackets and after `offset`, and strings are left alone.
"""

import re
from typing import Any

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"(\d+)(ms|s|m|h|d|w)")
_DURATION = r"(?:\d+(?:ms|[smhdw]))+"
_TOKENS = re.compile(
    rf"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    rf"""|\[\s*(?P<range>{_DURATION})\s*(?::\s*(?P<step>{_DURATION})?\s*)?\]"""
    rf"""|\boffset\s+(?P<offset>{_DURATION})"""
)


def milliseconds(duration: str) -> int:
    """`1m30s` -> 90000."""
    return sum(int(number) * _UNITS_MS[unit] for number, unit in _PART.findall(duration))


def scaled_duration(duration: str, scale: float) -> str:
    """A duration divided by `scale`, in whole milliseconds and at least one; unchanged at scale 1."""
    if scale == 1:
        return duration
    shorter = max(1, round(milliseconds(duration) / scale))
    return f"{shorter // 1000}s" if shorter % 1000 == 0 else f"{shorter}ms"


def scaled_expression(expression: str, scale: float) -> str:
    """PromQL with every duration divided by `scale`."""

    def replace(found: re.Match[str]) -> str:
        if found["string"] is not None:
            return found[0]
        if found["offset"] is not None:
            return f"offset {scaled_duration(found['offset'], scale)}"
        window = scaled_duration(found["range"], scale)
        if ":" not in found[0]:
            return f"[{window}]"
        return f"[{window}:{scaled_duration(found['step'], scale) if found['step'] else ''}]"

    return expression if scale == 1 else _TOKENS.sub(replace, expression)


def scaled_rule(rule: dict[str, Any], scale: float) -> dict[str, Any]:
    """A rule at another pace; limits per second grow with it, limits in seconds shrink."""
    if scale == 1:
        return rule
    changed = {**rule, "expr": scaled_expression(rule["expr"], scale)}
    for key in ("for", "keep_firing_for"):
        if key in rule:
            changed[key] = scaled_duration(rule[key], scale)
    name = str(rule.get("record", ""))
    if name.endswith(":rate_limit"):
        changed["expr"] = _scaled_vector(rule["expr"], scale)
    if name.endswith(":seconds_limit"):
        changed["expr"] = _scaled_vector(rule["expr"], 1 / scale)
    return changed


def _scaled_vector(expression: str, factor: float) -> str:
    return re.sub(r"vector\(([\d.]+)\)", lambda found: f"vector({float(found[1]) * factor:g})", expression)
