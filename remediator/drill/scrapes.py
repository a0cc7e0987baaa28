"""Prometheus' configuration for a drill: the jobs that a real cluster has, at the drill's pace. Text only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from remediator.rulefiles.durations import format_ms

THIS_MACHINE = "this-machine"
_FAST_MS, _SLOW_MS = 5_000, 15_000


@dataclass(frozen=True, slots=True)
class Targets:
    """Addresses (host:port) of what is scraped."""

    cluster: str
    nodes: Sequence[str]
    alertmanagers: Sequence[str]
    remediators: Sequence[str] = ()
    exporter: str = ""
    node_exporter: str = ""


def prometheus_config(targets: Targets, speed: float, rule_files: Sequence[str]) -> str:
    """YAML text; `speed` divides all intervals."""
    fast, slow = format_ms(_FAST_MS / speed), format_ms(_SLOW_MS / speed)
    jobs = [
        _per_node("memory-exporter", "exporter", targets, fast, labelled=False),
        _per_node("node-exporter", "node-exporter", targets, fast, labelled=True),
        _per_node("cadvisor", "cadvisor", targets, slow, labelled=True),
        _job("kube-state-metrics", "/metrics/kube-state-metrics", [targets.cluster], slow) | {"honor_labels": True},
        _job("remediator", "/metrics", targets.remediators, slow),
    ]
    # This machine is real: it is scraped by the real clock, just often enough for the rules' windows.
    if targets.exporter:
        jobs[0]["static_configs"].append({"targets": [targets.exporter], "labels": {"__metrics_path__": "/metrics"}})
    if targets.node_exporter:
        labels = {"__metrics_path__": "/metrics", "node": THIS_MACHINE}
        jobs[1]["static_configs"].append({"targets": [targets.node_exporter], "labels": labels})
    config = {
        "global": {
            "scrape_interval": fast,
            "scrape_timeout": fast,
            "evaluation_interval": fast,
            "external_labels": {"cluster": "drill"},
        },
        "rule_files": list(rule_files),
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": list(targets.alertmanagers)}]}]},
        "scrape_configs": [job for job in jobs if job["static_configs"]],
    }
    text: str = yaml.safe_dump(config, sort_keys=False)
    return text


def _job(name: str, path: str, addresses: Sequence[str], interval: str) -> dict[str, Any]:
    static = [{"targets": list(addresses)}] if addresses else []
    timing = {"scrape_interval": interval, "scrape_timeout": interval}
    return {"job_name": name, "metrics_path": path, **timing, "static_configs": static}


def _per_node(name: str, endpoint: str, targets: Targets, interval: str, *, labelled: bool) -> dict[str, Any]:
    """One target per node, all on the cluster's port: the path tells them apart."""
    job = _job(name, "/metrics", [], interval)
    for node in targets.nodes:
        labels = {"__metrics_path__": f"/metrics/{endpoint}/{node}", "instance": f"{node}:9100"}
        if labelled:
            labels["node"] = node
        job["static_configs"].append({"targets": [targets.cluster], "labels": labels})
    return job
