"""The end of a drill on the terminal: timeline, wants, verdict."""

import re
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from remediator.drill.story import Chronicle
from remediator.drill.timeline import timeline
from remediator.drill.wants import clock, seen_text

_ERROR = re.compile(r"\bERROR\b|level=error")
_WIDTH = 150
"""Of output that goes into a file."""


def print_verdict(report: dict[str, Any], chronicle: Chronicle, directory: Path) -> None:
    """Timeline, the table of wants, and one sentence."""
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    console.print(report["title"], style="bold", highlight=False)
    console.print(_timeline(report, chronicle))
    console.print(_wants(report))
    machine = report["this_machine"]
    if machine["used_ratio"] is not None:
        level, used, score = machine["level"], machine["used_ratio"], machine["score"] or 0
        console.print(f"this machine, watched for real: {level}, {used:.0%} used, score {score:.0f}", highlight=False)
    failed = sum(not want["ok"] for want in report["wants"])
    wanted = len(report["wants"])
    verdict = "[bold green]PASSED" if report["passed"] else "[bold red]FAILED"
    console.print(f"{verdict}[/] {report['scenario']}: {wanted - failed} of {wanted} wants hold", highlight=False)
    for line in _complaints(directory / "logs") if failed else ():
        console.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    console.print(f"report: {directory / 'report.html'}, logs: {directory / 'logs'}", highlight=False, soft_wrap=True)


def _complaints(logs: Path) -> list[str]:
    """What the programs called an error: how often, and the first one of each log."""
    found = []
    for log in sorted(logs.glob("*.log")):
        errors = [line for line in log.read_text(errors="replace").splitlines() if _ERROR.search(line)]
        if errors:
            found.append(f"{log.stem}: {len(errors)} errors, the first: {errors[0][:250]}")
    return found


def _timeline(report: dict[str, Any], chronicle: Chronicle) -> Table:
    table = Table(show_header=False, box=None)
    table.add_column(justify="right", style="cyan")
    table.add_column()
    for at, text in timeline(report, chronicle):
        table.add_row(clock(at), text)
    return table


def _wants(report: dict[str, Any]) -> Table:
    table = Table(title="wanted", box=None)
    for column in ("", "what", "expected", "seen", "note"):
        table.add_column(column, overflow="fold")
    for want in report["wants"]:
        mark = "[green]✓" if want["ok"] else "[bold red]✗"
        table.add_row(mark, want["what"], want["expected"], _short(seen_text(want)), want["note"])
    return table


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "…"
