"""`remediator rules`: the rule files for a stack, printed or written."""

import sys
from pathlib import Path

import click

from remediator.rulefiles.joins import NODE_JOINS
from remediator.rulefiles.rendering import PROFILES, RulesError, render


@click.command()
@click.option("--profile", default="graded", show_default=True, help=f"What levels mean: {', '.join(PROFILES)}.")
@click.option(
    "--node-join", default="node", show_default=True, help=f"How node-exporter names its node: {', '.join(NODE_JOINS)}."
)
@click.option("--threshold", "thresholds", multiple=True, metavar="LEVEL/EDGE=RATIO", help="e.g. red/enter=0.93")
@click.option("--scrape-interval", default="5s", show_default=True, help="How often nodes are scraped.")
@click.option("--time-scale", type=float, default=1.0, show_default=True, help="Divide every duration (drills).")
@click.option("--output-dir", type=click.Path(path_type=Path, file_okay=False), help="Write files here, not to stdout.")
def rules(
    profile: str,
    node_join: str,
    thresholds: tuple[str, ...],
    scrape_interval: str,
    time_scale: float,
    output_dir: Path | None,
) -> None:
    """Print the recording and alert rules for your stack.

    \b
    remediator rules --profile sentinel --node-join instance > remediator.rules.yaml
    """
    try:
        files = render(profile, node_join, time_scale, scrape_interval, _parsed(thresholds))
    except RulesError as error:
        click.echo(f"remediator rules: {error}", err=True)
        sys.exit(2)
    for name, text in files.items():
        if output_dir is None:
            click.echo(text, nl=False)
        else:
            output_dir.mkdir(parents=True, exist_ok=True)
            (output_dir / name).write_text(text, encoding="utf-8")


def _parsed(thresholds: tuple[str, ...]) -> dict[str, float]:
    parsed: dict[str, float] = {}
    for given in thresholds:
        key, _, value = given.partition("=")
        try:
            parsed[key] = float(value)
        except ValueError:
            raise RulesError(f"--threshold {given}: write LEVEL/EDGE=RATIO, for example red/enter=0.93") from None
    return parsed
