"""What must be true of every rule as it lies in rules/: names, order, labels, words."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY

from remediator import metrics
from remediator.core.policy import Policy
from remediator.rulefiles import NODE_JOINS, PROFILES, render
from remediator.rulefiles.promql import metric_names
from remediator.rulefiles.rendering import shipped_files

ROOT = Path(__file__).parents[2]
RECORDED = re.compile(r"[a-z_]+:[a-z_]+(:[a-z0-9_]+)?")


def _groups(files: dict[str, str]) -> Iterator[dict[str, Any]]:
    for text in files.values():
        yield from yaml.safe_load(text)["groups"]


GROUPS = list(_groups(shipped_files(pod_series=True)))
RULES = [rule for group in GROUPS for rule in group["rules"]]
PAST = {
    ("node:memory_level_before", "node:memory_level"),
    ("node:memory_reached:ratio", "node:memory_level_unseen"),
}
ALERTS = [rule for rule in RULES if "alert" in rule]


def test_with_the_defaults_the_files_come_out_as_they_lie() -> None:
    """`render()` is the text of rules/*.yaml, comments included."""
    assert render() == {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.yaml")}


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["name"])
def test_a_rule_reads_only_what_stands_above_it(group: dict[str, Any]) -> None:
    """Within a group nothing waits for another evaluation; only the level's past is read before the level."""
    own = {rule["record"] for rule in group["rules"] if "record" in rule}
    last = {rule["record"]: place for place, rule in enumerate(group["rules"]) if "record" in rule}
    for place, rule in enumerate(group["rules"]):
        for name in own & set(metric_names(rule["expr"])):
            assert last[name] < place or (rule.get("record"), name) in PAST, (
                f"{rule.get('record', rule.get('alert'))} reads {name} below it"
            )


@pytest.mark.parametrize("rule", [rule for rule in RULES if "record" in rule], ids=lambda rule: rule["record"])
def test_recorded_names(rule: dict[str, Any]) -> None:
    """level:metric:operation; `node:memory_level`, the one that everybody types, has two parts."""
    assert RECORDED.fullmatch(rule["record"])


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_alerts_are_complete(rule: dict[str, Any]) -> None:
    """Severity, namespace, 15 s of keep_firing_for, summary, a description with figures, an existing runbook."""
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert rule["labels"]["namespace"] == "remediator"
    assert rule["keep_firing_for"] == "15s"
    assert rule["annotations"]["summary"]
    assert "{{" in rule["annotations"]["description"]
    heading = rule["annotations"]["runbook_url"].partition("#")[2]
    assert heading == rule["alert"].lower()
    assert f"## {rule['alert']}\n" in (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")


def test_levels_are_labels_of_one_alert() -> None:
    """NodeMemoryPressure fires per level and has no `for`: durations are in the level."""
    pressure = [rule for rule in ALERTS if rule["alert"] == "NodeMemoryPressure"]
    assert [rule["labels"]["level"] for rule in pressure] == ["yellow", "orange", "red"]
    assert not any("for" in rule for rule in pressure)


def test_every_alert_that_the_policy_accepts_exists() -> None:
    """What the remediator listens to is what the rules say."""
    assert set(Policy().alert_names) <= {rule["alert"] for rule in ALERTS}


def test_every_series_of_ours_that_a_rule_reads_is_exported() -> None:
    """An alert about the remediator that compares with nothing would never fire."""
    assert metrics.CONFIG_VALID is not None
    families = [(family.name, family.type) for family in REGISTRY.collect()]
    exported = {f"{name}_total" if kind == "counter" else name for name, kind in families}
    read = {name for text in render().values() for name in re.findall(r"\bremediator_\w+", text)}
    # Thresholds of levels per node are for those who export them themselves; the rules fall back to the profile's.
    assert read - exported == {"remediator_threshold_ratio"}


@pytest.mark.parametrize("join", NODE_JOINS[1:])
def test_no_series_of_node_exporter_is_left_unjoined(join: str) -> None:
    """Each call on one of them is wrapped, so that a rule of a new layout cannot slip by."""
    mark = "label_replace(" if join == "instance" else "namespace_pod:node_exporter_node:info"
    for group in _groups(render(node_join=join)):
        for rule in group["rules"]:
            foreign = [name for name in metric_names(rule["expr"]) if re.fullmatch(r"node_(?!namespace)\w+", name)]
            joins = len(
                re.findall(re.escape(mark + ("last_over_time(node_" if join == "instance" else "")), rule["expr"])
            )
            joins += len(re.findall(r"label_replace\(i?(?:rate|deriv|increase)\(node_", rule["expr"]))
            assert joins >= len(foreign), rule


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_are_what_they_say(profile: str) -> None:
    """Thresholds as series are those of the profile, and the level's input is its measure."""
    rules = [rule for group in _groups(render(profile=profile)) for rule in group["rules"]]
    entries = {
        rule["labels"]["level"]: rule["expr"]
        for rule in rules
        if rule.get("record") == "memory_pressure:threshold:ratio" and rule["labels"]["edge"] == "enter"
    }
    assert entries == {level: f"vector({ratio:g})" for level, ratio in PROFILES[profile].enter.items()}
    level = next(rule for rule in rules if rule.get("record") == "node:memory_level")
    assert PROFILES[profile].measure in metric_names(level["expr"])
