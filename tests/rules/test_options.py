"""Choices that are refused, and `remediator rules`."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from remediator.rulefiles import RuleOptionError, render
from remediator.rulefiles.command import rules


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"profile": "strict"}, "profile"),
        ({"node_join": "hostname"}, "node_join"),
        ({"time_scale": 0}, "time_scale"),
        ({"time_scale": float("nan")}, "time_scale"),
        ({"scrape_interval_seconds": 90}, "scrape_interval_seconds"),
        ({"thresholds": {"purple": 0.9}}, "thresholds"),
        ({"thresholds": {"red": 0.80}}, "thresholds.red.enter"),
        ({"thresholds": {"yellow": {"exit": 0.76}}}, "thresholds.yellow.exit"),
        ({"thresholds": {"red": {"leave": 0.5}}}, "thresholds.red"),
        ({"thresholds": {"red": 92}}, "thresholds.red.enter"),
        ({"rates": {"minor_faults": 1}}, "rates"),
        ({"rates": {"major_faults": 0}}, "rates.major_faults"),
        ({"strategies": {"CPUEvict": 0.7}}, "strategies"),
        ({"zfs_arc_available_ratio": 2}, "zfs_arc_available_ratio"),
    ],
)
def test_refused_by_name(given: dict[str, Any], option: str) -> None:
    """The error names the option and holds a fix."""
    with pytest.raises(RuleOptionError) as refused:
        render(**given)
    assert refused.value.option == option
    assert refused.value.fix


def test_time_scale_changes_durations_and_rates_and_nothing_else() -> None:
    """12.5 times as fast: windows a 12.5th, thresholds per second 12.5 times, shares of time divided back."""
    shipped = yaml.safe_load(render()["node-memory.recording.yaml"])["groups"][0]
    scaled = yaml.safe_load(render(time_scale=12.5)["node-memory.recording.yaml"])["groups"][0]
    by_name = {str(rule.get("record")) + str(rule.get("labels")): rule for rule in scaled["rules"]}
    assert scaled["interval"] == "400ms"
    assert len(scaled["rules"]) == len(shipped["rules"])
    faults = by_name["memory_pressure:threshold:rate{'signal': 'major_faults'}"]
    assert faults["expr"] == "vector(6250)"
    assert by_name["memory_pressure:horizon:secondsNone"]["expr"] == "vector(72)"
    assert "[4800ms]) / 12.5)" in by_name["node:memory_stall_full:ratioNone"]["expr"]
    assert "/ 12.5" not in by_name["node:memory_major_faults:rate1mNone"]["expr"]
    assert {rule["keep_firing_for"] for rule in scaled["rules"] if "alert" in rule} == {"1200ms"}


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    """Printed as YAML documents; written as files, with Alertmanager's route when a receiver is named."""
    printed = CliRunner().invoke(rules, [])
    assert printed.exit_code == 0
    assert len(list(yaml.safe_load_all(printed.output))) == len(render())
    webhook = "http://127.0.0.1:9/api/v1/alerts"
    written = CliRunner().invoke(
        rules, ["--output-dir", str(tmp_path / "new"), "--webhook-url", webhook, "--pod-series"]
    )
    assert written.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(
        [*render(pod_series=True), "alertmanager.yaml"]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--threshold", "red=0.8"], "--threshold red/enter"),
        (["--threshold", "red"], "--threshold: 'red': write NAME=NUMBER"),
        (["--scrape-interval", "5"], "--scrape-interval"),
        (["--rate", "major_faults=-1"], "--rate major_faults"),
        (["--time-scale", "0"], "--time-scale"),
        (["--profile", "strict"], "--profile"),
        (["--output-dir", __file__], "--output-dir"),
    ],
)
def test_the_command_refuses_with_status_2(arguments: list[str], said: str) -> None:
    """The message names the flag and the fix."""
    refused = CliRunner().invoke(rules, arguments)
    assert refused.exit_code == 2
    assert said in refused.output


def test_the_command_takes_the_profile_of_a_policy(tmp_path: Path) -> None:
    """`--config` gives the profile, `--profile` overrides it, and a broken policy is refused with its line."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("profile: sentinel\n", encoding="utf-8")
    assert "profile=sentinel" in CliRunner().invoke(rules, ["--config", str(policy)]).output
    assert "profile=score" in CliRunner().invoke(rules, ["--config", str(policy), "--profile", "score"]).output
    policy.write_text("profle: sentinel\n", encoding="utf-8")
    broken = CliRunner().invoke(rules, ["--config", str(policy)])
    assert broken.exit_code == 2
    assert "profle" in broken.output
