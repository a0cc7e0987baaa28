"""`remediator status`: what a running server sees; look, and touch nothing."""

import json
from typing import Any

import click
import requests
from rich.console import Console
from rich.table import Table

_LEVEL_STYLES = {"GREEN": "green", "YELLOW": "yellow", "ORANGE": "dark_orange", "RED": "bold red"}


@click.command()
@click.option(
    "--server",
    envvar="REMEDIATOR_SERVER",
    default="http://127.0.0.1:8080",
    show_default=True,
    help="URL of the running remediator.",
)
@click.option("--output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def status(server: str, output: str) -> None:
    """Show all nodes as a running server sees them, worst first."""
    try:
        answer = requests.get(f"{server.rstrip('/')}/api/v1/nodes", timeout=15)
        answer.raise_for_status()
        told = answer.json()
        nodes = told["nodes"]
    except (requests.RequestException, ValueError, KeyError) as error:
        raise click.ClickException(
            f"{server} does not answer ({type(error).__name__}); is `remediator serve` running there? "
            "Name it with --server or REMEDIATOR_SERVER"
        ) from error
    if output == "json":
        click.echo(json.dumps(nodes, indent=2))
        return
    for problem in told.get("config", {}).get("problems", ()):
        click.secho(f"policy refused, the last good one stays in force: {problem}", fg="red", err=True)
    Console().print(_table(nodes) if nodes else "No node is known yet: neither rules nor records name one.")


def _isolation(row: dict[str, Any]) -> str:
    """Observe mode records isolation and touches nothing: said, lest somebody looks for a cordon."""
    if row["isolation"] == "NONE":
        return "–"
    return f"{row['isolation']} (only recorded)" if row.get("isolation_observed") else str(row["isolation"])


def _table(nodes: list[dict[str, Any]]) -> Table:
    table = Table(pad_edge=False, show_edge=False)
    for name in ("Node", "Level", "Phase", "Mode", "Isolation"):
        table.add_column(name)
    for name in ("Evicted", "Freed", "Cooldown"):
        table.add_column(name, justify="right")
    table.add_column("What is going on", overflow="fold")
    for row in nodes:
        level = row["level"] or "unknown"
        freed, cooldown = row["freed_bytes"], row["cooldown_seconds"]
        table.add_row(
            row["node"],
            f"[{_LEVEL_STYLES.get(level, 'dim')}]{level}[/]",
            row["phase"],
            row["mode"] or "–",
            _isolation(row),
            str(row["evicted"]),
            "–" if freed is None else f"{freed / 2**20:,.0f}Mi",
            f"{cooldown}s" if cooldown else "–",
            row["message"],
        )
    return table
