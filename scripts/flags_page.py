"""Writes docs/flags.md: every command of `remediator` with its arguments, flags and environment variables.

Run by `make docs`, from the parsers themselves. What a command is for, with examples, is docs/cli.md's.
"""

import argparse
import re
from collections.abc import Iterator

import click

from remediator.cli import COMMANDS, cli
from remediator.exporter.main import parser

_HEAD = """# Commands, flags, environment

Made by `make docs` from the parsers themselves. How they are used: [the command line](cli.md). What is on the command
line wins over the environment. Exit codes: 0 done, 1 no, 2 wrong use.
"""


def flags_page() -> str:
    """docs/flags.md."""
    return "\n".join([_HEAD, *_commands(cli, "remediator", list(COMMANDS))])


def _commands(group: click.Group, path: str, names: list[str]) -> Iterator[str]:
    context = click.Context(group)
    for name in names:
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}", command.list_commands(context))
        elif command is not None:
            yield from _section(command, f"{path} {name}", name)


def _section(command: click.Command, path: str, name: str) -> Iterator[str]:
    arguments = [
        each.make_metavar(click.Context(command)) for each in command.params if isinstance(each, click.Argument)
    ]
    if name == "exporter":
        yield from (f"## {path}", "", _plain(command.get_short_help_str(200)), "", *_exporter(), "")
        return
    yield from (f"## {' '.join([path, *arguments])}", "", _plain((command.help or "").split("\b")[0]), "")
    yield from _table(_option(each) for each in command.params if isinstance(each, click.Option))
    yield ""


def _table(rows: Iterator[tuple[str, str, str, str]]) -> Iterator[str]:
    yield "| flag | environment | shipped | what |"
    yield "|---|---|---|---|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _option(option: click.Option) -> tuple[str, str, str, str]:
    names = ", ".join(f"`{name}`" for name in option.opts)
    taken = "" if option.is_flag else f" {option.make_metavar(click.Context(cli))}"
    variables = [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())
    known = (
        option.default not in (None, False, "")
        and not callable(option.default)
        and "Sentinel" not in repr(option.default)
    )
    shipped = "(required)" if option.required else f"`{option.default}`" if known and not option.multiple else ""
    return (
        names + taken.replace("|", r"\|"),
        ", ".join(f"`{each}`" for each in variables),
        shipped,
        _plain(option.help or ""),
    )


def _exporter() -> Iterator[str]:
    """argparse's, for the exporter starts without click."""
    return _table(_action(each) for each in parser()._actions if each.dest != "help")


def _action(action: argparse.Action) -> tuple[str, str, str, str]:
    what = re.sub(r" \(default (%\(default\)s|[^)]*)\)", "", action.help or "")
    variables = re.findall(r"\$([A-Z_]+)", what)
    taken = "" if action.nargs == 0 else f" {action.dest.upper()}"
    shipped = f"`{action.default}`" if action.default and not variables else ""
    return f"`{action.option_strings[0]}`{taken}", ", ".join(f"`{each}`" for each in variables), shipped, what


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
