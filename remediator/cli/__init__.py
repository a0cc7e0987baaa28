"""The command line: composition root and every subcommand, each imported only when it is called.

`remediator exporter` must start without the rest of the product, and `remediator drill` is above this
layer: both are named by string here.
"""

import importlib
import sys
from importlib import metadata
from typing import cast

import click

__version__ = metadata.version("remediator")

COMMANDS = {
    "serve": "remediator.cli.serving:serve",
    "exporter": "remediator.cli.forwarding:exporter",
    "explain": "remediator.cli.explaining:explain",
    "status": "remediator.cli.inspecting:status",
    "plans": "remediator.cli.inspecting:plans",
    "report": "remediator.cli.reporting:report",
    "approve": "remediator.cli.speaking:approve",
    "reject": "remediator.cli.speaking:reject",
    "pause": "remediator.cli.speaking:pause",
    "resume": "remediator.cli.speaking:resume",
    "mode": "remediator.cli.speaking:mode",
    "release": "remediator.cli.speaking:release",
    "check-config": "remediator.cli.checking:check_config",
    "audit-template": "remediator.cli.audit_template:audit_template",
    "rules": "remediator.rulefiles.command:rules",
    "drill": "remediator.drill.command:drill",
    "drill-live": "remediator.drill.live.command:drill_live",
}
"""Subcommand -> where it is."""
_DRILL = "the drill's parts are not installed: pip install 'remediator[drill]'"
_EXTRAS = {"drill": _DRILL, "drill-live": _DRILL}


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which a person meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command; a UsageError when its part is not installed."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        try:
            return cast("click.Command", getattr(importlib.import_module(module), attribute))
        except ModuleNotFoundError as error:
            why = _EXTRAS.get(cmd_name, "this part of remediator is not installed")
            raise click.ClickException(f"{why} ({error})") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without the parts that are not installed."""
        rows = []
        for name in self.list_commands(ctx):
            try:
                command = self.get_command(ctx, name)
            except click.ClickException:
                continue
            if command is not None:
                rows.append((name, command.get_short_help_str(limit=90)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="remediator")
def cli() -> None:
    """Sees memory pressure coming on Kubernetes nodes and moves the least important pods off in time."""


def main() -> None:
    """Entry point: 0 done, 1 failed, 2 wrong use."""
    sys.exit(cli.main(standalone_mode=True))
