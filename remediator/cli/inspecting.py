"""`remediator status` and `remediator plans`: what a running server sees; look, and touch nothing."""

import json
from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from remediator.cli.asking import Asked, asking
from remediator.cli.page import ABSENT, Page, size

_LEVEL_STYLES = {"GREEN": "green", "YELLOW": "yellow", "ORANGE": "dark_orange", "RED": "bold red"}
_TABLE_COLUMNS = 140
"""Where a table has room for whole figures; narrower terminals and pipes get a few lines a node."""
Json = dict[str, Any]


@click.command()
@asking
def status(server: str, output: str) -> None:
    """Show nodes, plans that wait and silences as a running server sees them, worst first."""
    asked = Asked(server)
    told = asked.get("nodes") | {name: asked.get(name)[name] for name in ("plans", "silences")}
    if output == "json":
        click.echo(json.dumps(told, indent=2))
        return
    for problem in told["config"]["problems"]:
        click.secho(f"policy refused, the last good one stays in force: {problem}", fg="red", err=True)
    console = Console()
    page = Page(console.width)
    _nodes(page, told["nodes"])
    _plans(page, [plan for plan in told["plans"] if plan["status"] == "waiting"])
    _silences(page, told["silences"])
    console.print(page.whole())


@click.command()
@asking
def plans(server: str, output: str) -> None:
    """Show plans: those that wait for approval, and those that run."""
    found = Asked(server).get("plans")["plans"]
    if output == "json":
        click.echo(json.dumps(found, indent=2))
        return
    console = Console()
    page = Page(console.width)
    _plans(page, found)
    if not found:
        page.line("No plan waits and none runs.")
    console.print(page.whole())


# --- nodes ------------------------------------------------------------------------------------------------


def _nodes(page: Page, nodes: list[Json]) -> None:
    if not nodes:
        page.line("No node is known yet: neither rules nor records name one.")
    elif page.width >= _TABLE_COLUMNS:
        page.add(_table(nodes))
    else:
        for row in nodes:
            _in_lines(page, row)


def _level(row: Json) -> str:
    return row["level"] or "unknown"


def _used(row: Json) -> str:
    ratio = row.get("used_ratio")
    return ABSENT if ratio is None else f"{100 * ratio:.0f} %"


def _isolation(row: Json) -> str:
    """Observe mode records isolation and touches nothing: said, lest somebody looks for a cordon."""
    if row["isolation"] == "NONE":
        return ABSENT
    return f"{row['isolation']} (only recorded)" if row.get("isolation_observed") else str(row["isolation"])


def _mode(row: Json) -> str:
    return f"{row['mode'] or ABSENT}{', paused' if row.get('paused') else ''}"


def _in_lines(page: Page, row: Json) -> None:
    level, isolation = _level(row), _isolation(row)
    head = Text.assemble((row["node"], "bold"), "  ", (level, _LEVEL_STYLES.get(level, "dim")))
    head.append(f"  {_used(row)} used  {row['phase']}  {_mode(row)}")
    page.add(head)
    figures = [f"evicted {row['evicted']}"] if row["evicted"] else []
    figures += [f"freed {size(row['freed_bytes'])}"] if row["freed_bytes"] is not None else []
    figures += [f"cooldown {row['cooldown_seconds']} s"] if row["cooldown_seconds"] else []
    figures += [isolation] if isolation != ABSENT else []
    if figures:
        page.line(", ".join(figures), indent=2)
    if row["message"]:
        page.line(row["message"], indent=2)


def _table(nodes: Iterable[Json]) -> Table:
    table = Table(pad_edge=False, show_edge=False)
    table.add_column("Node", overflow="fold")
    for name in ("Level", "Used", "Phase", "Mode", "Isolation"):
        table.add_column(name, no_wrap=True, justify="right" if name == "Used" else "left")
    for name in ("Evicted", "Freed", "Cooldown"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("What is going on", overflow="fold", min_width=30)
    for row in nodes:
        level, cooldown = _level(row), row["cooldown_seconds"]
        table.add_row(
            Text(row["node"]),
            Text(level, _LEVEL_STYLES.get(level, "dim")),
            _used(row),
            row["phase"],
            _mode(row),
            _isolation(row),
            str(row["evicted"]),
            size(row["freed_bytes"]),
            f"{cooldown}s" if cooldown else ABSENT,
            Text(row["message"]),
        )
    return table


# --- plans and silences -----------------------------------------------------------------------------------


def _plans(page: Page, found: list[Json]) -> None:
    for plan in found:
        until = f", expires in {plan['expires_in_seconds']} s" if plan["status"] == "waiting" else ""
        by = f" ({plan['answered_by']})" if plan["answered_by"] else ""
        page.heading(f"Plan {plan['id']} for {plan['node']}, {plan['level']}: {plan['status']}{by}{until}")
        for action in plan["actions"]:
            page.line(_step(action), indent=2)
        if plan["status"] == "waiting":
            page.line(f"remediator approve {plan['id']}   or   remediator reject {plan['id']}", "bold", indent=2)


def _step(action: Json) -> str:
    kind = action["kind"].replace("_", " ")
    if not action["pod"]:
        return f"{kind} {action['workload'] or ''}".rstrip()
    figures = [action["tier"] or "by label", size(action["expected_bytes"])]
    figures += [f"score {action['score']:.1f}"] if action["score"] is not None else []
    return f"{kind} {action['namespace']}/{action['pod']} ({', '.join(figures)})"


def _silences(page: Page, told: Json) -> None:
    if told["unknown"]:
        page.heading(f"Silences are unknown, so nothing is done: {told['unknown']}")
    for silence in told["active"]:
        page.heading(
            f"Silenced until {silence['ends_at']} by {silence['created_by'] or 'unknown'}: {silence['comment']}"
        )
        page.line("{" + ", ".join(silence["matchers"]) + "}", indent=2)
