"""`remediator report`: from the audit's files to a terminal, to JSON, or to a page.

Files are read as a stream, so that a directory of any size can be reported.
"""

import json
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from remediator.adapters.audit_files import UNFINISHED, AuditFiles, Unreadable
from remediator.cli.report_view import shown
from remediator.config.plain import plain
from remediator.core.report import Fold
from remediator.core.report.period import DEFAULT, PeriodError, period
from remediator.web.report_view import standalone

Json = dict[str, Any]


@click.command()
@click.option("--since", default=DEFAULT, show_default=True, help="A length (14d, 36h), RFC 3339, or unix seconds.")
@click.option("--until", help="RFC 3339 or unix seconds.  [default: now]")
@click.option(
    "--audit-dir",
    type=click.Path(path_type=Path),
    default=Path("audit"),
    show_default=True,
    envvar="REMEDIATOR_AUDIT_DIR",
    help="Directory of the audit files, of one replica or of all.",
)
@click.option("--output", type=click.Choice(["text", "json", "html"]), default="text", help="How to print.")
@click.option("--output-file", type=click.Path(dir_okay=False, path_type=Path), help="Write there, not to stdout.")
def report(since: str, until: str | None, audit_dir: Path, output: str, output_file: Path | None) -> None:
    """Report what was seen and done, or would have been: what two weeks of observing come to.

    Undeclared workloads come first, with rows for the policy; then levels, evictions, what held them back, what was
    OOM-killed or evicted by the kubelet all the same, and what to do next.
    """
    now = time.time()
    try:
        begin, end = period(since, until, now)
    except PeriodError as refused:
        raise click.UsageError(f"--{refused}") from refused
    found = _read(audit_dir, begin, end)
    if output == "text":
        _print(found, output_file)
    else:
        _write(json.dumps(found, indent=2) + "\n" if output == "json" else standalone(found, now), output_file)


def _read(directory: Path, begin: float, end: float) -> Json:
    fold = Fold(begin, end)

    def unreadable(line: Unreadable) -> None:
        if line.why != UNFINISHED:
            fold.unreadable()

    files = AuditFiles(directory)
    try:
        if not files.replicas():
            raise click.ClickException(f"--audit-dir {directory} holds no audit-*.jsonl; name that of `serve`")
        for line in files.lines(begin, end, unreadable):
            fold.add(line.record)
    except OSError as error:
        raise click.ClickException(
            f"--audit-dir {directory} cannot be read: {error.strerror or error}; name that of `serve`"
        ) from error
    told: Json = plain(fold.done())
    return told


def _print(found: Json, file: Path | None) -> None:
    if file is None:
        console = Console()
        console.print(shown(found, console.width))
        return
    console = Console(width=100, record=True, quiet=True)
    console.print(shown(found, console.width))
    _write(console.export_text(), file)


def _write(text: str, file: Path | None) -> None:
    if file is None:
        click.echo(text, nl=not text.endswith("\n"))
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"--output-file {file} cannot be written: {error.strerror or error}") from error
    click.echo(f"written: {file}", err=True)
