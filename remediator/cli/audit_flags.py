"""Flags of `serve` about the audit's ways out: standard output and Elasticsearch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from remediator.cli.connections import environment_name
from remediator.config.elasticsearch import DEFAULT_INDEX

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path)
_FLAGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--audit-stdout", {"is_flag": True, "help": "Copy each audit line to standard output."}),
    ("--elasticsearch-url", {"multiple": True, "help": "Ship the audit there; may be said once for each node."}),
    (
        "--elasticsearch-index",
        {"default": DEFAULT_INDEX, "show_default": True, "help": "Documents go into INDEX-YYYY.MM."},
    ),
    ("--elasticsearch-api-key-file", {"type": _FILE, "help": "An API key, encoded or as id:key."}),
    ("--elasticsearch-basic-auth-file", {"type": _FILE, "help": "user:password, instead of an API key."}),
    ("--elasticsearch-ca-file", {"type": _FILE, "help": "Authority of its certificate [the public ones]."}),
)


def audit_flags(command: _Command) -> _Command:
    """Add the flags, each also readable from REMEDIATOR_<NAME> (several URLs: separated by spaces)."""
    for name, attributes in reversed(_FLAGS):
        command = click.option(name, envvar=environment_name(name), **attributes)(command)
    return command
