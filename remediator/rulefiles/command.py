"""`remediator rules`: the rule files for a stack, printed or written. Arguments only; the rest is rendering."""

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import click

from remediator.config import ConfigError, load_policy
from remediator.rulefiles.durations import parse_ms
from remediator.rulefiles.options import NODE_JOINS, PROFILES, RUNBOOK_URL, RuleOptionError
from remediator.rulefiles.rendering import render
from remediator.rulefiles.route import alertmanager_config

_FLAGS = {
    "thresholds": "--threshold",
    "rates": "--rate",
    "strategies": "--strategy",
    "scrape_interval_seconds": "--scrape-interval",
    "zfs_arc_available_ratio": "--zfs-arc-available",
}


@click.command(short_help="Print or write the recording and alert rules for your stack.")
@click.option("--output-dir", type=click.Path(path_type=Path, file_okay=False), help="Write files here, not to stdout.")
@click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False, exists=True), help="Take the profile from this policy."
)
@click.option("--profile", type=click.Choice(list(PROFILES)), help="What levels mean.  [default: graded]")
@click.option(
    "--node-join",
    type=click.Choice(NODE_JOINS),
    default="node",
    show_default=True,
    help="Where node-exporter's node is.",
)
@click.option("--scrape-interval", default="5s", show_default=True, help="How often nodes are scraped.")
@click.option("--time-scale", type=float, default=1.0, show_default=True, help="Divide every duration (drills).")
@click.option("--threshold", multiple=True, metavar="LEVEL[/EDGE]=RATIO", help="As red=0.93, or red/exit=0.90.")
@click.option("--rate", multiple=True, metavar="SIGNAL=N", help="As major_faults=800 (per second).")
@click.option("--strategy", multiple=True, metavar="NAME=RATIO", help="Static default, as BEMemoryEvict=0.70.")
@click.option("--zfs-arc-available", type=float, default=0.0, help="Share of a ZFS ARC that counts as available.")
@click.option("--pod-series", is_flag=True, help="Also the opt-in pod series (60 s).")
@click.option("--namespace", default="remediator", show_default=True, help="Static label of every alert.")
@click.option("--runbook-url", default=RUNBOOK_URL, show_default=True, help="Where docs/runbook.md is published.")
@click.option("--webhook-url", help="Also Alertmanager's route to this receiver.")
@click.option("--credentials-file", help="The bearer token's file, as Alertmanager sees it.")
def rules(  # noqa: PLR0913, PLR0917 - one argument per option
    output_dir: Path | None,
    config: Path | None,
    profile: str | None,
    node_join: str,
    scrape_interval: str,
    time_scale: float,
    threshold: tuple[str, ...],
    rate: tuple[str, ...],
    strategy: tuple[str, ...],
    zfs_arc_available: float,
    pod_series: bool,
    namespace: str,
    runbook_url: str,
    webhook_url: str | None,
    credentials_file: str | None,
) -> None:
    """Print the recording and alert rules for your stack, or write them to a directory.

    \b
    remediator rules --profile sentinel --node-join instance --output-dir /etc/prometheus/rules
    """
    try:
        files = render(
            profile=profile or _profile_of(config),
            node_join=node_join,
            time_scale=time_scale,
            scrape_interval_seconds=_seconds(scrape_interval),
            thresholds=_thresholds(threshold),
            rates=_numbers("--rate", rate),
            strategies=_numbers("--strategy", strategy),
            zfs_arc_available_ratio=zfs_arc_available,
            pod_series=pod_series,
            namespace=namespace,
            runbook_url=runbook_url,
        )
    except RuleOptionError as error:
        _refuse(error)
    if webhook_url:
        files["alertmanager.yaml"] = alertmanager_config(webhook_url, time_scale, credentials_file=credentials_file)
    _put(files, output_dir)


def _refuse(error: RuleOptionError) -> NoReturn:
    name, _, rest = error.option.partition(".")
    flag = _FLAGS.get(name, f"--{name.replace('_', '-')}" if not name.startswith("--") else name)
    what = f" {rest.replace('.', '/')}" if rest else ""
    click.echo(f"remediator rules: {flag}{what}: {error.fix}", err=True)
    raise SystemExit(2)


def _put(files: Mapping[str, str], directory: Path | None) -> None:
    if directory is None:
        click.echo("---\n".join(f"# {name}\n{text}" for name, text in files.items()), nl=False)
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name).write_text(text, encoding="utf-8")
            click.echo(str(directory / name))
    except OSError as error:
        _refuse(
            RuleOptionError("--output-dir", f"{error.filename}: {error.strerror}; choose a directory you may write to")
        )


def _profile_of(config: Path | None) -> str:
    if config is None:
        return "graded"
    try:
        return load_policy(config).profile
    except ConfigError as error:
        raise RuleOptionError("--config", f"{error}") from error


def _seconds(text: str) -> float:
    try:
        return parse_ms(text) / 1000
    except ValueError as error:
        raise RuleOptionError("scrape_interval_seconds", f"{error}") from error


def _numbers(flag: str, given: tuple[str, ...]) -> dict[str, float]:
    parsed: dict[str, float] = {}
    for item in given:
        key, _, value = item.partition("=")
        try:
            parsed[key] = float(value)
        except ValueError:
            raise RuleOptionError(flag, f"{item!r}: write NAME=NUMBER") from None
    return parsed


def _thresholds(given: tuple[str, ...]) -> dict[str, dict[str, float]] | None:
    chosen: dict[str, dict[str, float]] = {}
    for key, value in _numbers("--threshold", given).items():
        level, _, edge = key.partition("/")
        chosen.setdefault(level, {})[edge or "enter"] = value
    return chosen or None
