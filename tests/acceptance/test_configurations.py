"""The configurations that a drill writes are accepted by the programs that read them."""

import subprocess
from pathlib import Path

import pytest
import yaml

from remediator import rulefiles
from remediator.drill import tools
from remediator.drill.scrapes import THIS_MACHINE, Targets, prometheus_config

SPEED = 12.5
TARGETS = Targets(
    cluster="127.0.0.1:1001",
    nodes=("node-1", "node-2"),
    alertmanagers=("127.0.0.1:1002",),
    remediators=("127.0.0.1:1003",),
    exporter="127.0.0.1:1004",
    node_exporter="127.0.0.1:1005",
)


def jobs(text: str) -> dict[str, dict[str, object]]:
    """Scrape jobs by name."""
    return {job["job_name"]: job for job in yaml.safe_load(text)["scrape_configs"]}


def labels_of(job: dict[str, object]) -> list[dict[str, str]]:
    """Labels of each target group."""
    return [group.get("labels", {}) for group in job["static_configs"]]  # type: ignore[attr-defined]


def test_one_factor_divides_every_interval() -> None:
    """Scrapes of 5 s and 15 s become 400 ms and 1.2 s at 12.5 times the speed."""
    found = jobs(prometheus_config(TARGETS, SPEED, []))
    assert found["memory-exporter"]["scrape_interval"] == "400ms"
    assert found["cadvisor"]["scrape_interval"] == "1200ms"
    assert yaml.safe_load(prometheus_config(TARGETS, SPEED, []))["global"]["evaluation_interval"] == "400ms"


def test_realtime_is_the_real_pace() -> None:
    """At speed 1 the intervals are those of a real cluster."""
    assert jobs(prometheus_config(TARGETS, 1, []))["memory-exporter"]["scrape_interval"] == "5s"


def test_node_label_is_given_where_the_series_lack_it() -> None:
    """node-exporter and cAdvisor get the node's name from the target; our exporter says it itself."""
    found = jobs(prometheus_config(TARGETS, SPEED, []))
    assert [labels.get("node") for labels in labels_of(found["node-exporter"])] == ["node-1", "node-2", THIS_MACHINE]
    assert [labels.get("node") for labels in labels_of(found["cadvisor"])] == ["node-1", "node-2"]
    assert all("node" not in labels for labels in labels_of(found["memory-exporter"]))


def test_absent_programs_are_not_scraped() -> None:
    """Without a remediator there is no job for it, so that no alert tells of a missing one."""
    alone = Targets(cluster="127.0.0.1:1001", nodes=("node-1",), alertmanagers=("127.0.0.1:1002",))
    assert "remediator" not in jobs(prometheus_config(alone, SPEED, []))


@pytest.mark.acceptance
@pytest.mark.parametrize("profile", sorted(rulefiles.PROFILES))
@pytest.mark.parametrize("speed", [1.0, SPEED])
def test_promtool_accepts_configuration_and_rules(tmp_path: Path, profile: str, speed: float) -> None:
    """Prometheus would start with what a drill writes, in every profile."""
    names = []
    for name, text in rulefiles.render(profile, "node", speed).items():
        (tmp_path / name).write_text(text)
        names.append(name)
    config = tmp_path / "prometheus.yml"
    config.write_text(prometheus_config(TARGETS, speed, names))
    checked = subprocess.run(
        [tools.find("promtool"), "check", "config", str(config)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "SUCCESS" in checked.stdout


@pytest.mark.acceptance
@pytest.mark.parametrize("speed", [1.0, SPEED])
def test_amtool_accepts_the_route(tmp_path: Path, speed: float) -> None:
    """Alertmanager would start with the shipped route at the drill's pace."""
    config = tmp_path / "alertmanager.yml"
    config.write_text(rulefiles.alertmanager_config("http://127.0.0.1:1003/api/v1/alerts", speed))
    checked = subprocess.run(
        [tools.find("amtool"), "check-config", str(config)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
