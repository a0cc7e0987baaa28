"""The stack of a drill: simulated cluster, real Prometheus, Alertmanager and exporters, the remediator itself.

Starts them in order, each when the one before answers, with configurations made from the shipped rules and route at
the drill's pace. What then happens is `story.py`.
"""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import yaml

from remediator import rulefiles
from remediator.drill import tools
from remediator.drill.processes import DrillError, Processes, answers, free_port
from remediator.drill.rights import NAMESPACE, TOKEN
from remediator.drill.scenario import Scenario, policy_text
from remediator.drill.scrapes import THIS_MACHINE, Targets, prometheus_config
from remediator.drill.simulation.server import kubeconfig
from remediator.rulefiles.durations import format_ms

CRD_FILE = Path(__file__).resolve().parents[2] / "helm" / "remediator" / "crds" / "noderemediations.yaml"
_RESEND_DELAY_MS, _LOOKBACK_MS, _RESOLVE_MS = 60_000, 300_000, 300_000


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where everything listens (host:port)."""

    cluster: str
    prometheus: str
    alertmanager: str
    remediator: str
    exporter: str
    node_exporter: str

    @staticmethod
    def chosen() -> "Addresses":
        """Free loopback ports."""
        return Addresses(*(f"127.0.0.1:{free_port()}" for _ in range(6)))


@dataclass(slots=True)
class Stack:
    """A stack in one output directory."""

    scenario: Scenario
    source: str
    """Name or file of the scenario, as given."""
    speed: float
    directory: Path
    processes: Processes
    at: Addresses
    with_remediator: bool = True
    rights: Path | None = None
    """RBAC manifests that the remediator is held to; None: it may everything."""

    @property
    def kubeconfig(self) -> Path:
        """For kubectl, while the drill runs."""
        return self.directory / "kubeconfig"

    @property
    def audit_directory(self) -> Path:
        """The remediator's audit."""
        return self.directory / "audit"

    def start(self) -> None:
        """Start everything and wait until all of it answers. Raises DrillError."""
        self._cluster()
        self._prometheus()
        self._this_machine()
        if self.with_remediator:
            self._remediator()
        self._alertmanager()

    def _python(self, *arguments: str) -> list[str]:
        return [sys.executable, *arguments]

    def _cluster(self) -> None:
        command = self._python("-m", "remediator.drill.simulation", "--scenario", self.source)
        command += ["--listen", self.at.cluster, "--speed", str(self.speed), "--kubeconfig-out", str(self.kubeconfig)]
        command += ["--rights", str(self.rights)] if self.rights else []
        self.processes.start("cluster", command)
        url = f"http://{self.at.cluster}"
        self.processes.wait_for("cluster", lambda: answers(f"{url}/readyz"))
        crd = yaml.safe_load(CRD_FILE.read_text(encoding="utf-8"))
        _post(f"{url}/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        _post(f"{url}/api/v1/nodes", this_machine())

    def _prometheus(self) -> None:
        rules = self.directory / "rules"
        rules.mkdir(exist_ok=True)
        rendered = rulefiles.render(self.scenario.policy.profile, "node", self.speed)
        for name, text in rendered.items():
            (rules / name).write_text(text, encoding="utf-8")
        targets = Targets(
            cluster=self.at.cluster,
            nodes=self.scenario.node_names,
            alertmanagers=[self.at.alertmanager],
            remediators=[self.at.remediator] if self.with_remediator else [],
            exporter=self.at.exporter,
            node_exporter=self.at.node_exporter,
        )
        config = self.directory / "prometheus.yml"
        files = [str(rules / name) for name in rendered]
        config.write_text(prometheus_config(targets, self.speed, files), encoding="utf-8")
        data = self.directory / "prometheus-data"
        shutil.rmtree(data, ignore_errors=True)
        command = [
            tools.find("prometheus"),
            f"--config.file={config}",
            f"--storage.tsdb.path={data}",
            f"--web.listen-address={self.at.prometheus}",
            f"--rules.alert.resend-delay={format_ms(_RESEND_DELAY_MS / self.speed)}",
            f"--query.lookback-delta={format_ms(_LOOKBACK_MS / self.speed)}",
            "--log.level=warn",
        ]
        self.processes.start("prometheus", command)
        self.processes.wait_for("prometheus", lambda: answers(f"http://{self.at.prometheus}/-/ready"))

    def _alertmanager(self) -> None:
        url = f"http://{self.at.remediator}/api/v1/alerts"
        text = rulefiles.alertmanager_config(url, self.speed)
        config = self.directory / "alertmanager.yml"
        config.write_text(text, encoding="utf-8")
        data = self.directory / "alertmanager-data"
        shutil.rmtree(data, ignore_errors=True)
        command = [
            tools.find("alertmanager"),
            f"--config.file={config}",
            f"--storage.path={data}",
            f"--web.listen-address={self.at.alertmanager}",
            "--cluster.listen-address=",
            "--log.level=warn",
        ]
        self.processes.start("alertmanager", command)
        self.processes.wait_for("alertmanager", lambda: answers(f"http://{self.at.alertmanager}/-/ready"))

    def _this_machine(self) -> None:
        """Our exporter over this machine's real cgroups and /proc, and node-exporter: real input."""
        command = self._python("-m", "remediator.cli", "exporter", "--listen", self.at.exporter, "--node", THIS_MACHINE)
        self.processes.start("exporter", command)
        collectors = ["meminfo", "vmstat", "pressure", "uname"]
        chosen = ["--collector.disable-defaults", *(f"--collector.{name}" for name in collectors)]
        listen = f"--web.listen-address={self.at.node_exporter}"
        self.processes.start("node-exporter", [tools.find("node-exporter"), listen, *chosen])
        self.processes.wait_for("exporter", lambda: answers(f"http://{self.at.exporter}/metrics"))
        self.processes.wait_for("node-exporter", lambda: answers(f"http://{self.at.node_exporter}/metrics"))

    def _remediator(self) -> None:
        policy = self.directory / "policy.yaml"
        policy.write_text(yaml.safe_dump(policy_text(self.source), sort_keys=False), encoding="utf-8")
        shutil.rmtree(self.audit_directory, ignore_errors=True)
        own = self.directory / "remediator.kubeconfig"
        own.write_text(kubeconfig(f"http://{self.at.cluster}", TOKEN if self.rights else ""), encoding="utf-8")
        options = {
            "--config": policy,
            "--prometheus": f"http://{self.at.prometheus}",
            "--alertmanager": f"http://{self.at.alertmanager}",
            "--kubeconfig": own,
            "--namespace": NAMESPACE,
            "--listen": self.at.remediator,
            "--audit-dir": self.audit_directory,
            "--speed": self.speed,
            "--identity": "drill-0",
        }
        command = self._python("-m", "remediator.cli", "serve")
        command += [str(word) for pair in options.items() for word in pair]
        self.processes.start("remediator", command)
        self.processes.wait_for("remediator", lambda: answers(f"http://{self.at.remediator}/healthz"))


def this_machine() -> dict[str, Any]:
    """A Node object for the machine that the drill runs on: watched in observe mode, closed to simulated pods."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    labels = {"kubernetes.io/hostname": THIS_MACHINE, "remediator.io/mode": "observe"}
    taint = {"key": "drill.remediator.io/real", "value": "true", "effect": "NoSchedule"}
    quantities = {"memory": f"{memory // 1024}Ki", "cpu": str(os.cpu_count() or 1), "pods": "0"}
    status = {
        "capacity": quantities,
        "allocatable": quantities,
        "conditions": [{"type": "Ready", "status": "True", "reason": "Real", "message": ""}],
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": THIS_MACHINE}],
        "nodeInfo": {"kubeletVersion": "", "kernelVersion": os.uname().release},
    }
    metadata = {"name": THIS_MACHINE, "labels": labels}
    return {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": {"taints": [taint]}, "status": status}


def _post(url: str, body: dict[str, Any]) -> None:
    answer = requests.post(url, json=body, timeout=10)
    if answer.status_code == 201 and "status" in body:
        name = body["metadata"]["name"]
        merge = {"Content-Type": "application/merge-patch+json"}
        status = json.dumps({"status": body["status"]})
        answer = requests.patch(f"{url}/{name}/status", data=status, headers=merge, timeout=10)
    if not answer.ok:
        raise DrillError(f"{url} answered {answer.status_code}: {answer.text[:300]}")
