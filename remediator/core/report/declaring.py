"""Rows for the policy's `business` that declare workloads, ready to be pasted. Pure text; only people can know a tier.

What is suggested goes by kind, priority and QoS alone, and errs on the side of the workload.
"""

import json
import re
from collections.abc import Iterable

from remediator.core.figures import size
from remediator.core.model import Tier
from remediator.core.report.events import Untouched
from remediator.core.report.values import UndeclaredWorkload

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9.-]*")
_NOT_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
MOST_ROWS = 30


def suggested(each: Untouched) -> tuple[Tier, str]:
    """A tier to begin the talk with the owners, and what it goes by."""
    kind = each.workload.split("/")[1] if each.workload.count("/") == 2 else ""
    if kind == "StatefulSet":
        return Tier.IMPORTANT, "a StatefulSet: it probably keeps data"
    if each.priority < 0:
        return Tier.LOW, f"priority {each.priority}"
    if each.qos == "BestEffort":
        return Tier.LOW, "QoS BestEffort: it asks for no memory"
    return Tier.STANDARD, f"QoS {each.qos or 'unknown'}, priority {each.priority}"


def business_rows(undeclared: Iterable[UndeclaredWorkload]) -> str:
    """YAML for the policy file; empty when nobody is to be declared."""
    rows = [row for row in undeclared if row.workload.count("/") == 2][:MOST_ROWS]
    if not rows:
        return ""
    head = "business:  # the first match wins; tiers: critical, important, standard, low, offline. Ask the owners."
    return "\n".join([head, *(line for row in rows for line in _row(row))]) + "\n"


def _row(row: UndeclaredWorkload) -> list[str]:
    namespace, kind, name = map(_word, row.workload.split("/"))
    times = f"{row.spells} spell{'' if row.spells == 1 else 's'}"
    return [
        f"  # up to {size(row.most_bytes)} on a node, {times}; suggested by: {row.suggested_because}",
        f"  - {{namespace: {namespace}, kind: {kind}, workload: {name}, tier: {row.suggested_tier}}}",
    ]


def _word(text: str) -> str:
    """As YAML reads it back as the same text."""
    plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _NOT_TEXT
    return text if plain else json.dumps(text)
