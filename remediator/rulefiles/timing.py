"""A rule under another scrape interval and another scale of time. No profile, no join.

`time_scale` 12.5 means that the observed cluster lives 12.5 times as fast as the clock: every duration is divided by
it. Its counters run as much faster, so thresholds per second are multiplied, and a share of time (seconds stalled per
second) is divided back. Counts within a window stay.
"""

from typing import Any

from remediator.rulefiles.durations import format_ms, parse_ms
from remediator.rulefiles.options import RuleOptions
from remediator.rulefiles.promql import map_durations, scale_ages, wrap_calls

_SHIPPED_SCRAPE_MS = 5000
_SCRAPES_PER_WINDOW = 4


def interval(text: str, options: RuleOptions) -> str:
    """A group's interval: that of the scrapes where it is the shipped one, never shorter than them elsewhere."""
    shipped, scrape = parse_ms(text), options.scrape_interval_seconds * 1000
    chosen = scrape if shipped == _SHIPPED_SCRAPE_MS else max(shipped, scrape)
    return format_ms(chosen / options.time_scale)


def timed(rule: dict[str, Any], options: RuleOptions) -> dict[str, Any]:
    """The rule with its windows, offsets, `for`, `keep_firing_for` and time-dependent constants adapted."""
    changed = dict(rule)
    changed["expr"] = _constant(changed, options) or _expression(changed["expr"], options)
    for key in ("for", "keep_firing_for"):
        if key in changed:
            changed[key] = _scaled(changed[key], options)
    return changed


def _scaled(text: str, options: RuleOptions) -> str:
    return text if options.time_scale == 1 else format_ms(parse_ms(text) / options.time_scale)


def _constant(rule: dict[str, Any], options: RuleOptions) -> str | None:
    """`vector(N)` of a threshold that has time in its unit."""
    name = str(rule.get("record", ""))
    if options.time_scale == 1 or not name.startswith("memory_pressure:"):
        return None
    value = str(rule["expr"]).removeprefix("vector(").removesuffix(")")
    if name.endswith(":rate"):
        return f"vector({float(value) * options.time_scale:g})"
    if name.endswith(":seconds"):
        return f"vector({float(value) / options.time_scale:g})"
    return None


def _expression(expression: str, options: RuleOptions) -> str:
    def change(milliseconds: float) -> float:
        return _at_least_four_scrapes(milliseconds, options) / options.time_scale

    changed = map_durations(expression, change)
    if options.time_scale == 1:
        return changed

    def share(function: str, metric: str, call: str) -> str | None:
        is_share = function == "rate" and metric.endswith("_seconds_total")
        return f"({call} / {options.time_scale:g})" if is_share else None

    return scale_ages(wrap_calls(changed, share), options.time_scale)


def _at_least_four_scrapes(milliseconds: float, options: RuleOptions) -> float:
    """Shipped windows fit scrapes of 5 s; slower ones need longer windows, and offsets that go with them."""
    scrape = options.scrape_interval_seconds * 1000
    return milliseconds if scrape <= _SHIPPED_SCRAPE_MS else max(milliseconds, _SCRAPES_PER_WINDOW * scrape)
