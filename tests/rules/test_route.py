"""Alertmanager's route: by amtool, and by a real Alertmanager."""

import subprocess
from pathlib import Path

import pytest
import yaml

from remediator.core.policy import Policy
from remediator.rulefiles import alertmanager_config

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "rules" / "alertmanager" / "route.yaml"
URL = "http://127.0.0.1:9/api/v1/alerts"


def _amtool(amtool: Path, *arguments: str) -> str:
    done = subprocess.run([amtool, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.fixture(params=["shipped", "rendered"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file as it lies in rules/, and as it is rendered for a drill."""
    if request.param == "shipped":
        return SHIPPED
    path = tmp_path / "alertmanager.yaml"
    path.write_text(alertmanager_config(URL, 12.5, more_webhook_urls=("http://127.0.0.1:10/x",)), encoding="utf-8")
    return path


def test_alertmanager_accepts_it(config: Path, amtool: Path) -> None:
    """amtool check-config finds nothing wrong."""
    assert "SUCCESS" in _amtool(amtool, "check-config", str(config))


@pytest.mark.parametrize("alert", [*Policy().alert_names, "NodeMemoryBlind"])
def test_the_remediator_is_called_and_the_pager_rings_on(alert: str, config: Path, amtool: Path) -> None:
    """Every alert that the policy accepts reaches both."""
    labels = [f"alertname={alert}", "node=n1", "level=red", "namespace=remediator"]
    assert _amtool(amtool, "config", "routes", "test", f"--config.file={config}", *labels) == "remediator,pager"


@pytest.mark.parametrize(
    ("alert", "receivers"),
    [("PodMemoryLimitMisconfigured", "developers"), ("RemediatorDown", "pager"), ("NodeMemoryPressureX", "pager")],
)
def test_other_alerts_do_not_call_the_remediator(alert: str, receivers: str, config: Path, amtool: Path) -> None:
    """Developers get theirs, everything else is the pager's."""
    assert _amtool(amtool, "config", "routes", "test", f"--config.file={config}", f"alertname={alert}") == receivers


def test_timers_and_receiver_as_designed() -> None:
    """The first wait lets inhibition work, resolved alerts are sent, redirects (they would leak the token) refused."""
    document = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
    route = document["route"]["routes"][0]
    webhook = document["receivers"][0]["webhook_configs"][0]
    assert {key: route[key] for key in ("group_wait", "group_interval", "repeat_interval", "continue")} == {
        "group_wait": "1s",
        "group_interval": "10s",
        "repeat_interval": "1m",
        "continue": True,
    }
    assert route["group_by"] == ["alertname", "cluster", "node", "level"]
    assert webhook["send_resolved"] is True
    assert webhook["http_config"]["follow_redirects"] is False
    assert webhook["http_config"]["authorization"]["credentials_file"].startswith("/")


def test_rendering_changes_address_token_and_timers_only() -> None:
    """A drill has no token; a given file is used; matchers and inhibitions are the shipped ones."""
    shipped = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
    plain = yaml.safe_load(alertmanager_config(URL, 10))
    assert plain["inhibit_rules"] == shipped["inhibit_rules"]
    assert plain["route"]["routes"][0]["group_wait"] == "100ms"
    assert plain["receivers"][0]["webhook_configs"][0]["url"] == URL
    assert "authorization" not in plain["receivers"][0]["webhook_configs"][0]["http_config"]
    secret = yaml.safe_load(alertmanager_config(URL, credentials_file="/etc/token"))
    http = secret["receivers"][0]["webhook_configs"][0]["http_config"]
    assert http["authorization"] == {"type": "Bearer", "credentials_file": "/etc/token"}
