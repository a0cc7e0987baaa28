"""`remediator explain`: what would be done about a node, and why; from the live systems or from a situation file.

Looks and decides, touches nothing. What is shown is the core's own decision.
"""

import json
import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from remediator.cli.composition import compose
from remediator.cli.connections import connectable, settings_and_policy
from remediator.cli.direct import show_direct
from remediator.cli.explain_view import show
from remediator.cli.outside import history, pod_names
from remediator.config import ConfigError, load_policy, scaled
from remediator.config.situation import load_situation, situation_text
from remediator.config.situation.values import moment
from remediator.core.policy import Policy
from remediator.core.question import Question
from remediator.reconciler.explanation import Json, explained
from remediator.reconciler.past import Past, as_of
from remediator.reconciler.what_if import what_if

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("node", required=False)
@connectable
@click.option("--situation", type=_FILE, help="Decide on this file instead of a live node (docs/situations.md).")
@click.option("--save", type=_FILE, help="Write the situation to this file: for reports, and to decide it again.")
@click.option("--policy", "other", type=_FILE, help="What if this policy were in force? Shows what it changes.")
@click.option("--at", "when", help="Then instead of now: RFC 3339, unix seconds, or -2h. Figures from history.")
@click.option("--direct", help="URL of the node's exporter, Prometheus being gone: shows its last minutes.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def explain(
    node: str | None,
    situation: Path | None,
    save: Path | None,
    other: Path | None,
    when: str | None,
    direct: str | None,
    output: str,
    **flags: Any,
) -> None:
    """Show what would be done about NODE now, and why: level, bytes to free, ranking, guards."""
    logging.basicConfig(level=logging.ERROR)
    _must_go_together(situation=situation, at=when, direct=direct)
    if direct:
        names = pod_names(flags["kubeconfig"], node) if node else "no NODE was given"
        show_direct(direct, names, output)
        return
    try:
        past = _live(node, _time(when), flags) if situation is None else Past(load_situation(situation))
        question = past.question
        told = what_if(question, _other_policy(other, question, flags)) if other else explained(question)
    except ConfigError as refused:
        raise click.ClickException(f"cannot be explained:\n{refused}") from refused
    if save:
        _write(save, question)
    told = past.told(told) if when else told
    _print(told, output)
    unknown = [source for source in ("memory", "cluster") if "unknown" in told[source]]
    raise SystemExit(1 if unknown else 0)


def _must_go_together(**flags: object) -> None:
    given = [f"--{name}" for name, value in flags.items() if value is not None]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} say different things: give one of them")


def _time(text: str | None) -> float | None:
    """Unix seconds of `--at`; relative ones by this machine's clock."""
    if text is None:
        return None
    try:
        return float(text) if text.replace(".", "", 1).isdigit() else moment(_relative(text), time.time())
    except ValueError as error:
        raise click.UsageError(f"--at: {error}, or -2h") from error


def _relative(text: str) -> str:
    return f"now{text}" if text.startswith(("-", "+")) else text


def _live(node: str | None, at: float | None, flags: dict[str, Any]) -> Past:
    """The node as it is, or as it was at a moment."""
    missing = [f"--{name}" for name in ("prometheus", "alertmanager") if not flags[name]]
    if node is None or missing:
        what = "a NODE" if node is None else " and ".join(missing)
        raise click.UsageError(f"{what} is needed, or a saved situation with --situation FILE")
    settings, policy = settings_and_policy(**flags)
    composition = compose(settings, policy, reads_only=True, at=at)
    try:
        question = composition.question(node)
        return Past(question) if at is None else as_of(question, at, history(settings, at))
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
