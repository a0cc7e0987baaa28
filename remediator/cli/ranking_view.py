"""The ranking of an explanation: why this pod, why not that one, and whom the kubelet would have taken. Form only."""

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from remediator.cli.page import ABSENT, Page, size

_TABLE_COLUMNS = 140
"""Where a table has room for names and reasons; narrower terminals and pipes get a few lines a pod."""
_PARTS = ("business", "memory", "restart", "qos")
Json = Mapping[str, Any]


def add_ranking(page: Page, told: Json) -> None:
    """Every pod in the order in which they would go, with all that speaks for and against it."""
    if not told["ranking"]:
        page.heading("No pod was ranked.")
        return
    page.heading("Pods, first to go first")
    page.line(f"by tier, then score = {_weights(told)}, then lower priority, bigger overshoot over the request")
    if page.width >= _TABLE_COLUMNS:
        page.add(_table(told))
    else:
        for row in told["ranking"]:
            _in_lines(page, row)
    if told["kubelet_order"]:
        first = ", ".join(told["kubelet_order"][:3])
        page.line(
            f"the kubelet goes by: over its request, lower priority, bigger overshoot. It would begin with {first}"
        )


def _weights(told: Json) -> str:
    weights = told.get("weights", {})
    return " + ".join(f"{weights[name]:g} x {name}" if weights else name for name in _PARTS)


def _table(told: Json) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Pod", overflow="fold", min_width=20)
    table.add_column("Tier", no_wrap=True)
    for name in ("Score", "biz", "mem", "start", "qos", "Frees", "Uses", "Over request", "Priority", "Kubelet"):
        table.add_column(name, justify="right", no_wrap=" " not in name)
    table.add_column("Chosen / why not", overflow="fold", min_width=40)
    for row in told["ranking"]:
        table.add_row(*_cells(row), style="bold" if row["chosen"] else None if row["eligible"] else "dim")
    return table


def _cells(row: Json) -> list[str]:
    score = row["score"]
    parts = [ABSENT] * 5 if score is None else [f"{score[name]:.0f}" for name in ("total", *_PARTS)]
    return [
        f"{row['namespace']}/{row['pod']}",
        row["tier"] or ABSENT,
        *parts,
        size(row["releasable_bytes"]),
        size(row["usage_bytes"]),
        _overshoot(row),
        str(row["priority"]),
        _rank(row),
        _why(row),
    ]


def _in_lines(page: Page, row: Json) -> None:
    style = "bold" if row["chosen"] else "" if row["eligible"] else "dim"
    page.line(f"{row['namespace']}/{row['pod']}  {'' if row['chosen'] else 'not: '}{_why(row)}", style)
    score = row["score"]
    figures = [f"{name} {score[name]:.0f}" for name in _PARTS] if score else []
    told = f"score {score['total']:.0f} ({', '.join(figures)})" if score else "no score"
    page.line(f"{row['tier'] or 'no tier'}, frees {size(row['releasable_bytes'])}, {told}", style, indent=2)
    page.line(
        f"kubelet {_rank(row)}: uses {size(row['usage_bytes'])}, {_overshoot(row)} over its request, "
        f"priority {row['priority']}",
        style,
        indent=2,
    )


def _overshoot(row: Json) -> str:
    over = row.get("overshoot_bytes")
    return ABSENT if over is None else f"{'+' if over > 0 else ''}{size(over)}"


def _rank(row: Json) -> str:
    return f"#{row['kubelet_rank']}" if row["kubelet_rank"] is not None else ABSENT


def _why(row: Json) -> str:
    said = "CHOSEN" if row["chosen"] else row["sentence"]
    sentence = said + (f": {row['detail']}" if row["detail"] else "")
    return "; ".join([sentence, *row["notes"]])
