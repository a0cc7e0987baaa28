"""Asking a running server: the flags, the operator's token, and errors that say what to do next."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import requests

_Command = TypeVar("_Command", bound=Callable[..., Any])
_TIMEOUT_SECONDS = 15
_SERVER = click.option(
    "--server",
    envvar="REMEDIATOR_SERVER",
    default="http://127.0.0.1:8080",
    show_default=True,
    help="URL of the running remediator.",
)
_TOKEN_FILE = click.option(
    "--token-file",
    "--operator-token-file",
    "token_file",
    envvar="REMEDIATOR_OPERATOR_TOKEN_FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File that holds your operator token (needed unless the server is on loopback).",
)
_OUTPUT = click.option("--output", type=click.Choice(["text", "json"]), default="text", help="How to print.")


def asking(command: _Command) -> _Command:
    """Flags of a command that looks."""
    return _SERVER(_OUTPUT(command))


def speaking(command: _Command) -> _Command:
    """Flags of a command that changes something in the operator's name."""
    return _SERVER(_TOKEN_FILE(_OUTPUT(command)))


@dataclass(frozen=True, slots=True)
class Asked:
    """A running server as one person asks it. Every failure is a ClickException (exit code 1)."""

    server: str
    token_file: Path | None = None

    def get(self, path: str) -> Any:
        """What a GET of `/api/v1/<path>` answers."""
        return self._answer("GET", path, 200)

    def post(self, path: str, body: Any = None) -> Any:
        """What the server says to an operator's word (202)."""
        return self._answer("POST", path, 202, json={} if body is None else body, headers=self._headers())

    def _answer(self, method: str, path: str, wanted: int, **options: Any) -> Any:
        url = f"{self.server.rstrip('/')}/api/v1/{path}"
        try:
            answer = requests.request(method, url, timeout=_TIMEOUT_SECONDS, allow_redirects=False, **options)
            if answer.status_code != wanted:
                raise click.ClickException(_explained(answer))
            return answer.json()
        except (requests.RequestException, ValueError) as error:
            raise click.ClickException(
                f"{self.server} does not answer ({type(error).__name__}); is `remediator serve` running there? "
                "Name it with --server or REMEDIATOR_SERVER"
            ) from error

    def _headers(self) -> dict[str, str]:
        if self.token_file is None:
            return {}
        try:
            token = self.token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise click.ClickException(f"--token-file {self.token_file} cannot be read: {error}") from error
        if not token or not token.isascii() or any(c.isspace() for c in token):
            raise click.ClickException(f"--token-file {self.token_file}: one ASCII token is expected, without `name:`")
        return {"Authorization": f"Bearer {token}"}


def _explained(answer: requests.Response) -> str:
    try:
        why = str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        why = answer.text[:200]
    hint = "; give your token with --token-file" if answer.status_code == 401 else ""
    return f"the server refused ({answer.status_code}): {why}{hint}"
