"""`remediator exporter`: arguments handed on untouched, so that it starts with nothing of the rest."""

import importlib

import click


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Export a node's cgroup and /proc memory figures (DaemonSet).",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def exporter(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Export a node's cgroup and /proc memory figures."""
    run = importlib.import_module("remediator.exporter.main").main
    context.exit(run(list(arguments)) or 0)
