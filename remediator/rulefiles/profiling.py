"""What a profile and the overrides change in a rule: thresholds, how long they hold, how and with what they compare.

The shipped rules are the profile `graded`; the others are made from them here, by record name. Time and joins are
not this module's.
"""

from typing import Any

from remediator.rulefiles.options import PROFILES, Profile, RuleOptions
from remediator.rulefiles.promql import map_durations, rename

_SHIPPED = PROFILES["graded"]
_OF_THE_MEASURE = (
    "node:memory_threshold:ratio",
    "node:memory_reached:ratio",
    "node:memory_peak:ratio",
    "node:memory_level",
)
_ARC = (
    "{ratio:g} * (\n"
    "  max by (node) (last_over_time(memory_exporter_node_arc_bytes[20s]))\n"
    "  or on (node)\n"
    "  max by (node) (last_over_time(node_zfs_arc_size[20s]))\n"
    ")"
)


def profiled(rule: dict[str, Any], options: RuleOptions) -> dict[str, Any]:
    """The rule as the chosen profile, thresholds and rates have it."""
    profile, labels, expression = PROFILES[options.profile], rule.get("labels", {}), rule["expr"]
    match rule.get("record", rule.get("alert")):
        case "memory_pressure:threshold:ratio":
            expression = f"vector({options.limits()[labels['level']][labels['edge']]:g})"
        case "memory_pressure:threshold:rate":
            expression = _rate(expression, labels["signal"], options)
        case "node:memory_reached:ratio":
            expression = _reached(expression, labels["level"], profile)
    if rule.get("record") in _OF_THE_MEASURE or rule.get("alert") == "NodeMemoryExhaustionPredicted":
        expression = rename(expression, _SHIPPED.measure, profile.measure)
    return rule | {"expr": expression}


def _rate(expression: str, signal: str, options: RuleOptions) -> str:
    return f"vector({options.rates[signal]:g})" if signal in options.rates else expression


def _reached(expression: str, level: str, profile: Profile) -> str:
    """The profile's comparison, and the level's window; without one, the measure as it is now."""
    shipped, wanted = _SHIPPED.held_seconds[level] * 1000, profile.held_seconds[level] * 1000
    if wanted == 0:
        entry = f'node:memory_threshold:ratio{{level="{level}",edge="enter"}}'
        return f"{_SHIPPED.measure} {profile.compare} on (node) {entry}"
    compared = expression.replace(f"{_SHIPPED.compare} on (node) node:", f"{profile.compare} on (node) node:")
    return map_durations(compared, lambda ms: wanted if ms == shipped else ms)


def score_as_ratio() -> dict[str, Any]:
    """The measure of the profile `score`: the score on the scale that thresholds have."""
    return {"record": PROFILES["score"].measure, "expr": "node:memory_pressure:score / 100"}


def with_arc(rule: dict[str, Any], options: RuleOptions) -> dict[str, Any]:
    """The share of a ZFS ARC that counts as available, in the figure and in its slope; nothing where none does."""
    name, arc = rule.get("record"), _ARC.format(ratio=options.zfs_arc_available_ratio)
    if options.zfs_arc_available_ratio == 0 or name not in ("node:memory_available:bytes", "node:memory_used:deriv5m"):
        return rule
    base = f"(\n{rule['expr'].rstrip()}\n)"
    sign = "+"
    if name == "node:memory_used:deriv5m":
        sign, arc = "-", arc.replace("last_over_time", "deriv").replace("[20s]", "[5m]")
    return rule | {"expr": f"{base} {sign} {arc}\nor on (node)\n{base}\n"}
