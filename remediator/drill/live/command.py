"""`remediator drill-live`: the same leak twice, with nobody acting and with the remediator; one report of both."""

import json
import shutil
import sys
import time
from importlib import resources
from pathlib import Path
from typing import Any

import click
import requests
import yaml
from jinja2 import Environment

from remediator import rulefiles
from remediator.drill import tools
from remediator.drill.live.cast import CAST, LIMIT_BYTES, LIVE_NODE, POLICY
from remediator.drill.processes import DrillError, Processes, answers, free_port
from remediator.drill.stack import CRD_FILE
from remediator.rulefiles.durations import format_ms

SPEED = 12.5
_WATCH_SECONDS = 75.0
_AFTER_OOM_SECONDS = 3.0
_PROTECTED = ("middleware", "online")


@click.command(name="drill-live")
@click.option("--output-dir", type=click.Path(path_type=Path), default=Path("build/drill-live"), show_default=True)
def drill_live(output_dir: Path) -> None:
    """Real cgroups, processes and OOM killer: without the remediator, then with it (root, 1 GiB, 3 minutes)."""
    directory = output_dir.absolute()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        click.echo("1 of 2: nobody acts …")
        alone = run(directory / "without", with_remediator=False)
        click.echo(f"        {_sentence(alone)}")
        click.echo("2 of 2: the remediator watches …")
        watched = run(directory / "with", with_remediator=True)
        click.echo(f"        {_sentence(watched)}")
    except (DrillError, OSError) as error:
        click.echo(f"remediator drill-live: {error}", err=True)
        sys.exit(2)
    report = conclude(alone, watched)
    (directory / "report.json").write_text(json.dumps(report, indent=1))
    _write_page(directory / "report.html", report)
    click.echo(f"{'PASSED' if report['passed'] else 'FAILED'}; report: {directory / 'report.html'}")
    sys.exit(0 if report["passed"] else 1)


def _sentence(seen: dict[str, Any]) -> str:
    kills = ", ".join(f"{kill['workload']} at {kill['at']:.0f} s" for kill in seen["oom_kills"]) or "nobody"
    evicted = ", ".join(pod["workload"] for pod in seen["evicted"]) or "nobody"
    return f"peak {seen['peak_ratio']:.0%}; killed by the kernel: {kills}; evicted: {evicted}"


def conclude(alone: dict[str, Any], watched: dict[str, Any]) -> dict[str, Any]:
    """Left alone the kernel kills; watched it does not, and only offline pods went."""
    protected = [pod for pod in watched["evicted"] if pod["namespace"] in _PROTECTED]
    passed = bool(alone["oom_kills"]) and not watched["oom_kills"] and bool(watched["evicted"]) and not protected
    return {"passed": passed, "limit_bytes": LIMIT_BYTES, "without": alone, "with": watched}


def run(directory: Path, *, with_remediator: bool) -> dict[str, Any]:
    """One run; everything that was started is ended, every cgroup removed."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    names = ("cluster", "prometheus", "alertmanager", "remediator", "exporter")
    at = {name: f"127.0.0.1:{free_port()}" for name in names}
    with Processes(directory / "logs") as processes:
        _start(processes, directory, at, with_remediator=with_remediator)
        return _watch(processes, at, directory)


def _start(processes: Processes, directory: Path, at: dict[str, str], *, with_remediator: bool) -> None:
    kubeconfig, node_file = directory / "kubeconfig", directory / "node.json"
    server = [sys.executable, "-m", "remediator.drill.live.server", at["cluster"], str(kubeconfig), str(node_file)]
    processes.start("cluster", server)
    processes.wait_for("cluster", lambda: answers(f"http://{at['cluster']}/readyz"))
    crds = f"http://{at['cluster']}/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    requests.post(crds, json=yaml.safe_load(CRD_FILE.read_text()), timeout=10).raise_for_status()
    node_path = json.loads(node_file.read_text())["path"]
    exporter = [sys.executable, "-m", "remediator.exporter.main", "--listen", at["exporter"]]
    processes.start("exporter", [*exporter, "--node", LIVE_NODE, "--node-cgroup", node_path])
    _prometheus(processes, directory, at)
    if with_remediator:
        _remediator(processes, directory, at, kubeconfig)


def _prometheus(processes: Processes, directory: Path, at: dict[str, str]) -> None:
    files = []
    for name, text in rulefiles.render("graded", "node", SPEED).items():
        (directory / name).write_text(text)
        files.append(str(directory / name))
    fast = format_ms(5000 / SPEED)
    config = {
        "global": {"scrape_interval": fast, "scrape_timeout": fast, "evaluation_interval": fast},
        "rule_files": files,
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [at["alertmanager"]]}]}]},
        "scrape_configs": [{"job_name": "memory-exporter", "static_configs": [{"targets": [at["exporter"]]}]}],
    }
    path = directory / "prometheus.yml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    options = [f"--config.file={path}", f"--storage.tsdb.path={directory / 'prometheus-data'}", "--log.level=warn"]
    pace = [
        f"--rules.alert.resend-delay={format_ms(60000 / SPEED)}",
        f"--query.lookback-delta={format_ms(300000 / SPEED)}",
    ]
    processes.start(
        "prometheus", [tools.find("prometheus"), f"--web.listen-address={at['prometheus']}", *options, *pace]
    )
    processes.wait_for("prometheus", lambda: answers(f"http://{at['prometheus']}/-/ready"))


def _remediator(processes: Processes, directory: Path, at: dict[str, str], kubeconfig: Path) -> None:
    policy, route = directory / "policy.yaml", directory / "alertmanager.yml"
    policy.write_text(yaml.safe_dump(POLICY, sort_keys=False))
    route.write_text(rulefiles.alertmanager_config(f"http://{at['remediator']}/api/v1/alerts", SPEED))
    options = {
        "--config": policy,
        "--prometheus": f"http://{at['prometheus']}",
        "--alertmanager": f"http://{at['alertmanager']}",
        "--kubeconfig": kubeconfig,
        "--listen": at["remediator"],
        "--audit-dir": directory / "audit",
        "--speed": SPEED,
        "--identity": "live-0",
    }
    serve = [sys.executable, "-m", "remediator.cli", "serve"]
    processes.start("remediator", [*serve, *(str(word) for pair in options.items() for word in pair)])
    processes.wait_for("remediator", lambda: answers(f"http://{at['remediator']}/healthz"))
    places = [f"--storage.path={directory / 'alertmanager-data'}", "--cluster.listen-address=", "--log.level=warn"]
    listen = f"--web.listen-address={at['alertmanager']}"
    processes.start("alertmanager", [tools.find("alertmanager"), f"--config.file={route}", listen, *places])
    processes.wait_for("alertmanager", lambda: answers(f"http://{at['alertmanager']}/-/ready"))


def _watch(processes: Processes, at: dict[str, str], directory: Path) -> dict[str, Any]:
    curve: list[tuple[float, float]] = []
    state: dict[str, Any] = {"oom_kills": [], "gone": []}
    end = time.monotonic() + _WATCH_SECONDS
    while time.monotonic() < end:
        processes.check()
        state = requests.get(f"http://{at['cluster']}/drill/live", timeout=5).json()
        curve.append((state["seconds"], state["used_bytes"] / state["limit_bytes"]))
        if state["oom_kills"]:
            end = min(end, time.monotonic() + _AFTER_OOM_SECONDS)
        time.sleep(0.25)
    killed = {kill["pod"] for kill in state["oom_kills"]}
    namespaces = {workload.name: workload.namespace for workload in CAST}
    evicted = [{**pod, "namespace": namespaces[pod["workload"]]} for pod in state["gone"] if pod["pod"] not in killed]
    peak = max(ratio for _, ratio in curve)
    return {"curve": curve, "peak_ratio": peak, "oom_kills": state["oom_kills"], "evicted": evicted}


def _write_page(path: Path, report: dict[str, Any]) -> None:
    text = (resources.files("remediator.drill") / "templates" / "live.html").read_text(encoding="utf-8")
    longest = max(report[key]["curve"][-1][0] for key in ("without", "with"))
    lines = {
        key: " ".join(
            f"{40 + 740 * at / longest:.1f},{10 + 240 * (1 - ratio):.1f}" for at, ratio in report[key]["curve"]
        )
        for key in ("without", "with")
    }
    path.write_text(Environment(autoescape=True).from_string(text).render(report=report, lines=lines, seconds=longest))
