"""`remediator explain`: what would be done about a node, and why; from the live systems or from a situation file.

Looks and decides, touches nothing. What is shown is the core's own decision.
"""

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from remediator.cli.composition import compose
from remediator.cli.connections import connectable, settings_and_policy
from remediator.cli.explain_view import show
from remediator.config import ConfigError, load_policy, scaled
from remediator.config.situation import load_situation, situation_text
from remediator.core.policy import Policy
from remediator.core.question import Question
from remediator.reconciler.explanation import Json, explained
from remediator.reconciler.what_if import what_if

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("node", required=False)
@connectable
@click.option("--situation", type=_FILE, help="Decide on this file instead of a live node (docs/situations.md).")
@click.option("--save", type=_FILE, help="Write the situation to this file: for reports, and to decide it again.")
@click.option("--policy", "other", type=_FILE, help="What if this policy were in force? Shows what it changes.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def explain(
    node: str | None, situation: Path | None, save: Path | None, other: Path | None, output: str, **flags: Any
) -> None:
    """Show what would be done about NODE now, and why: level, bytes to free, ranking, guards."""
    logging.basicConfig(level=logging.ERROR)
    try:
        question = _saved(situation) if situation else _live(node, flags)
        told = what_if(question, _other_policy(other, question, flags)) if other else explained(question)
    except ConfigError as refused:
        raise click.ClickException(f"cannot be explained:\n{refused}") from refused
    if save:
        _write(save, question)
    _print(told, output)
    unknown = [source for source in ("memory", "cluster") if "unknown" in told[source]]
    raise SystemExit(1 if unknown else 0)


def _saved(file: Path) -> Question:
    return load_situation(file)


def _live(node: str | None, flags: dict[str, Any]) -> Question:
    missing = [f"--{name}" for name in ("prometheus", "alertmanager") if not flags[name]]
    if node is None or missing:
        what = "a NODE" if node is None else " and ".join(missing)
        raise click.UsageError(f"{what} is needed, or a saved situation with --situation FILE")
    settings, policy = settings_and_policy(**flags)
    composition = compose(settings, policy, reads_only=True)
    try:
        return composition.question(node)
    except Exception as error:
        raise click.ClickException(
            f"{node} cannot be explained: {type(error).__name__}: {error}. "
            "Check --kubeconfig and --namespace, and that the NodeRemediation CRD is installed"
        ) from error
    finally:
        composition.stop()


def _other_policy(file: Path, question: Question, flags: dict[str, Any]) -> Policy:
    """As it would be in force here: at this pace, with our own namespaces protected."""
    policy = scaled(load_policy(file), flags["speed"])
    ours = (*policy.safeguards.own_namespaces, *question.policy.safeguards.own_namespaces)
    return replace(policy, safeguards=replace(policy.safeguards, own_namespaces=tuple(dict.fromkeys(ours))))


def _write(file: Path, question: Question) -> None:
    try:
        file.write_text(situation_text(question), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"--save {file} cannot be written: {error.strerror}") from error
    click.echo(f"saved to {file}", err=True)


def _print(told: Json, output: str) -> None:
    if output == "json":
        click.echo(json.dumps(told, indent=2))
    else:
        show(Console(), told)
