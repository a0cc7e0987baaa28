"""`remediator drill`: rehearse a scenario with the whole product, and say whether it went as wanted."""

import contextlib
import fcntl
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import requests

from remediator.config.problems import ConfigError
from remediator.drill import scenario as scenarios
from remediator.drill.live_view import LiveView
from remediator.drill.observation import Watcher
from remediator.drill.operating import Operator
from remediator.drill.page import write_page
from remediator.drill.processes import DrillError, Processes, answers
from remediator.drill.real_machine import this_machine_now
from remediator.drill.report import compile_report
from remediator.drill.stack import Addresses, Stack
from remediator.drill.story import Chronicle, conclude, follow
from remediator.drill.verdict import print_verdict
from remediator.drill.wants import evaluate

DEFAULT_SPEED = 12.5
"""Scrapes every 400 ms: fast enough for a story of 23 minutes in under two, slow enough for two cores."""


@click.command()
@click.option("--scenario", default="storm", show_default=True, help="A shipped story, or a scenario file.")
@click.option("--speed", type=click.FloatRange(0.5, 20), default=DEFAULT_SPEED, show_default=True)
@click.option("--realtime", is_flag=True, help="Same as --speed 1.")
@click.option("--output-dir", type=click.Path(path_type=Path), default=Path("build/drill"), show_default=True)
@click.option("--without-remediator", is_flag=True, help="Show what happens when nobody acts.")
@click.option(
    "--rights",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A rendered chart (`helm template`): the remediator may what its roles say, and nothing else.",
)
@click.option("--list", "only_list", is_flag=True, help="List the shipped stories.")
def drill(
    scenario: str,
    speed: float,
    realtime: bool,
    output_dir: Path,
    without_remediator: bool,
    rights: Path | None,
    only_list: bool,
) -> None:
    """Rehearse: a simulated cluster, real Prometheus and Alertmanager, and the remediator in enforce mode.

    Ends with a verdict; the exit status is 0 when everything went as the scenario wants it, 1 when not, 2 when the
    drill could not be run. The report is OUTPUT_DIR/report.html.
    """
    if only_list:
        for name, title in scenarios.shipped().items():
            click.echo(f"{name:12} {title}")
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        story = scenarios.load(scenario)
        pace = 1.0 if realtime else speed
        directory = output_dir.absolute()
        with _prepared(directory), Processes(directory / "logs") as processes:
            at = Addresses.chosen()
            passed = _run(Stack(story, scenario, pace, directory, processes, at, not without_remediator, rights))
    except (ConfigError, DrillError) as error:
        click.echo(f"remediator drill: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        click.echo("interrupted; everything that was started has been ended", err=True)
        sys.exit(130)
    sys.exit(0 if passed else 1)


def _run(stack: Stack) -> bool:
    story, directory = stack.scenario, stack.directory
    click.echo("starting the cluster, Prometheus, exporters, the remediator, Alertmanager …")
    stack.start()
    report, chronicle = _rehearse(stack)
    stack.processes.stop()
    (directory / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    write_page(directory / "report.html", report, chronicle, story)
    print_verdict(report, chronicle, directory)
    return bool(report["passed"])


@contextlib.contextmanager
def _prepared(directory: Path) -> Iterator[None]:
    """The directory, ours alone while the drill runs, without an older drill's report."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / ".lock").open("w")
    except OSError as error:
        raise DrillError(f"--output-dir {directory}: {error.strerror}; choose a directory you may write to") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DrillError(
                f"another drill is running in {directory}: wait, or choose another --output-dir"
            ) from error
        for name in ("report.json", "report.html"):
            (directory / name).unlink(missing_ok=True)
        yield


def _rehearse(stack: Stack) -> tuple[dict[str, Any], Chronicle]:
    story, at = stack.scenario, stack.at
    remediator_url = f"http://{at.remediator}"
    watcher = Watcher(
        f"http://{at.cluster}", f"http://{at.prometheus}", remediator_url, stack.audit_directory, stack.speed
    )
    stack.processes.wait_for("prometheus", lambda: _all_seen(watcher, story))
    if stack.with_remediator:
        stack.processes.wait_for("remediator", lambda: answers(f"{remediator_url}/readyz"), timeout_seconds=45)
    click.echo(f"meanwhile: KUBECONFIG={stack.kubeconfig} kubectl get nodes,pods,nrem -A")
    operator = Operator(story, f"http://{at.alertmanager}", remediator_url)
    watcher.start()
    with LiveView(story) as view:
        chronicle = follow(story, watcher, operator.act, view.show, stack.processes.check)
    try:
        conclude(watcher, chronicle, with_remediator=stack.with_remediator)
        machine = this_machine_now(watcher)
    except requests.RequestException as error:
        raise DrillError(f"the end of the story could not be read: {error}") from error
    return _judged(stack, chronicle) | {"this_machine": machine}, chronicle


def _judged(stack: Stack, chronicle: Chronicle) -> dict[str, Any]:
    """The report, held against what the scenario wants at its moments and in the end."""
    story = stack.scenario
    report = compile_report(story, stack.speed, chronicle)
    moments = sorted({want.at for want in story.wants if want.at is not None})
    snapshots = [(moment, compile_report(story, stack.speed, chronicle.until(moment))) for moment in moments]
    results = evaluate(story.wants, [*snapshots, (chronicle.now, report)])
    return report | {
        "wants": [result.as_dict() for result in results],
        "passed": all(result.ok for result in results),
    }


def _all_seen(watcher: Watcher, story: scenarios.Scenario) -> bool:
    """Every node has a level: rules are evaluated and windows are filled."""
    levels = {labels["node"] for labels, _ in watcher.query("node:memory_level")}
    return set(story.node_names) <= levels
