"""`approve`, `reject`, `pause`, `resume`, `mode`, `release`: an operator's words to a running server, in his name."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from remediator.cli.asking import Asked, speaking
from remediator.core.model import Mode

_CONFIGURED = "configured"


@click.command()
@click.argument("plan")
@speaking
def approve(plan: str, server: str, token_file: Path | None, output: str) -> None:
    """Let PLAN run. The node is looked at again first: only what is still right is done."""
    told = Asked(server, token_file).post(f"plans/{quote(plan, safe='')}/approve")
    _print(output, told, "plan {plan} on {node} approved by {operator}; see `remediator status`")


@click.command()
@click.argument("plan")
@speaking
def reject(plan: str, server: str, token_file: Path | None, output: str) -> None:
    """Drop PLAN; the same pods are not proposed again until it would have expired."""
    told = Asked(server, token_file).post(f"plans/{quote(plan, safe='')}/reject")
    _print(output, told, "plan {plan} on {node} rejected by {operator}")


@click.command()
@click.argument("node")
@speaking
def pause(node: str, server: str, token_file: Path | None, output: str) -> None:
    """Do nothing on NODE until it is resumed; people are still told."""
    told = Asked(server, token_file).post(f"nodes/{quote(node, safe='')}/pause")
    _print(output, told, "{node} paused by {operator}; `remediator resume {node}` ends it")


@click.command()
@click.argument("node")
@speaking
def resume(node: str, server: str, token_file: Path | None, output: str) -> None:
    """End the pause of NODE."""
    told = Asked(server, token_file).post(f"nodes/{quote(node, safe='')}/resume")
    _print(output, told, "{node} resumed by {operator}")


@click.command()
@click.argument("node")
@click.argument("mode", type=click.Choice([*(mode.value for mode in Mode), _CONFIGURED]))
@speaking
def mode(node: str, mode: str, server: str, token_file: Path | None, output: str) -> None:
    """Set the mode of NODE, above its label and the policy; `configured` hands it back to them."""
    wanted = None if mode == _CONFIGURED else mode
    told = Asked(server, token_file).post(f"nodes/{quote(node, safe='')}/mode", {"mode": wanted})
    _print(output, told, f"{{node}} is in mode {mode} from its next pass on, by {{operator}}")


@click.command()
@click.argument("node")
@speaking
def release(node: str, server: str, token_file: Path | None, output: str) -> None:
    """Lift our cordon and taint from NODE and put its pods back into service."""
    told = Asked(server, token_file).post(f"nodes/{quote(node, safe='')}/release")
    _print(output, told, "{node}: release accepted in the name of {operator}; see `kubectl get nrem {node}`")


def _print(output: str, told: dict[str, Any], sentence: str) -> None:
    click.echo(json.dumps(told, indent=2) if output == "json" else sentence.format(**told))
