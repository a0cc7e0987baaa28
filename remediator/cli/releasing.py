"""`remediator release NODE`: ask a running server to lift what it put on a node, in the operator's name."""

from pathlib import Path

import click
import requests


@click.command()
@click.argument("node")
@click.option(
    "--server",
    envvar="REMEDIATOR_SERVER",
    default="http://127.0.0.1:8080",
    show_default=True,
    help="URL of the running remediator.",
)
@click.option(
    "--operator-token-file",
    envvar="REMEDIATOR_OPERATOR_TOKEN_FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File that holds your operator token.",
)
def release(node: str, server: str, operator_token_file: Path | None) -> None:
    """Lift our cordon and taint from NODE and put its pods back into service."""
    headers = {}
    if operator_token_file is not None:
        headers["Authorization"] = f"Bearer {operator_token_file.read_text(encoding='utf-8').strip()}"
    url = f"{server.rstrip('/')}/api/v1/nodes/{node}/release"
    try:
        answer = requests.post(url, json={}, headers=headers, timeout=15)
    except requests.RequestException as error:
        raise click.ClickException(
            f"{server} cannot be reached ({type(error).__name__}); is `remediator serve` running there? "
            "Name it with --server or REMEDIATOR_SERVER"
        ) from error
    if answer.status_code != 202:
        raise click.ClickException(_explained(answer))
    click.echo(f"{node}: release accepted in the name of {answer.json()['operator']}; see `kubectl get nrem {node}`")


def _explained(answer: requests.Response) -> str:
    try:
        why = str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        why = answer.text[:200]
    hint = "; give your token with --operator-token-file" if answer.status_code == 401 else ""
    return f"the server refused ({answer.status_code}): {why}{hint}"
