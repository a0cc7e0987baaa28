"""What the pages name is what the code has: reasons, alerts, metrics, labels, settings, chart values, YAML examples."""

import re
from pathlib import Path

import pytest
import yaml

from remediator import rulefiles
from remediator.config import parse_policy
from remediator.config.dangers import dangers
from remediator.config.schema import PolicyFile
from remediator.config.situation import parse_situation
from remediator.core.reason import Reason
from remediator.drill import scenario
from scripts.policy_page import keys
from tests.docs.pages import PAGES, ROOT, prose, yaml_blocks

TEXT = {page: page.read_text(encoding="utf-8") for page in PAGES}
POLICY_KEYS = set(keys())
VALUES = yaml.safe_load((ROOT / "helm" / "remediator" / "values.yaml").read_text(encoding="utf-8"))
NOT_ALERTS = {"NodeRemediation", "NodeRemediations", "MemoryRemediation", "MemoryEvict", "MemoryAllocatableEvict"}
NOT_ALERTS |= {"MemoryPressure", "NodeUtilization", "PodDisruptionBudget", "PodDisruptionBudgets", "PodMonitor"}
"""Words that begin as our alerts do and are Kubernetes', Koordinator's, the operator's."""
_EXPORTED = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")


def source(*folders: str) -> str:
    """All text of some folders."""
    files = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


SUFFIXES = {".py", ".yaml", ".tpl", ".txt", ".json"}
CODE = source("remediator", "helm", "rules")


def found(pattern: str) -> list[tuple[str, str]]:
    """(page, name) of every match in every page but the changelog."""
    pages = {page: text for page, text in TEXT.items() if page.name != "CHANGELOG.md"}
    return [(page.name, name) for page, text in pages.items() for name in re.findall(pattern, text)]


def test_reasons_are_the_closed_list() -> None:
    """Every reason that an answer names in parentheses is one that `explain` prints."""
    named = set(re.findall(r"[(,] ?`([a-z]+_[a-z_]+)`[),]", TEXT[ROOT / "docs" / "faq.md"]))
    assert named
    assert named <= {reason.value for reason in Reason}


def test_alerts_exist() -> None:
    """A word that looks like an alert of ours is one."""
    rules = [yaml.safe_load(text) for text in rulefiles.render().values()]
    alerts = {rule["alert"] for file in rules for group in file["groups"] for rule in group["rules"] if "alert" in rule}
    named = found(r"`((?:Node|Remediator|Kubelet|Pod|Memory)[A-Z]\w+)`")
    assert [each for each in named if each[1] not in alerts | NOT_ALERTS] == []


def test_metrics_exist() -> None:
    """Series that pages name are exported or recorded."""
    named = found(r"\b((?:remediator|memory_exporter)_[a-z][a-z_]+[a-z]|node:[a-z_]+:[a-z0-9]+)\b")
    assert [each for each in named if each[1] not in CODE and each[1] not in _EXPORTED] == []


def test_labels_and_annotations_exist() -> None:
    """Keys under remediator.io/ are ones that the code reads."""
    named = found(r"\b(remediator\.io/[a-z][a-z0-9-]*[a-z0-9])\b")
    assert [each for each in named if each[1] not in CODE and each[1] != "remediator.io/docs"] == []


def test_settings_exist() -> None:
    """Dotted policy keys that pages name are keys of the policy, and dotted chart values are values."""
    sections = {key.partition(".")[0] for key in POLICY_KEYS if "." in key} - {"ladder"}
    for page, name in found(r"`([a-z][A-Za-z_]+(?:\.[a-zA-Z_]+)+)(?:[:=][^`]*)?`"):
        first = name.partition(".")[0]
        if first in VALUES and not name.endswith((".yaml", ".md")):
            assert in_values(name) or name in POLICY_KEYS, f"{page}: {name}"
        elif first in sections:
            assert name in POLICY_KEYS, f"{page}: {name}"


@pytest.mark.parametrize("flag", sorted({name for _, name in found(r"--set(?:-file)? ([a-zA-Z.]+)=")}))
def test_values_that_are_set_exist(flag: str) -> None:
    """`--set` names a value of the chart."""
    assert in_values(flag)


def in_values(path: str) -> bool:
    """Whether values.yaml has it."""
    value = VALUES
    for step in path.split("."):
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


@pytest.mark.parametrize(
    ("page", "block"),
    [(page, block) for page in PAGES for block in yaml_blocks(page)],
    ids=lambda each: str(each)[-30:],
)
def test_yaml_examples_are_accepted(page: Path, block: str, tmp_path: Path) -> None:
    """A policy is a policy, a situation a situation, a scenario a scenario; scrape jobs: tests/chart."""
    names = set(yaml.safe_load(block))
    if names <= {field.alias or name for name, field in PolicyFile.model_fields.items()}:
        parse_policy(block)
    elif page.name == "situations.md":
        parse_situation(block)
    elif page.name == "scenarios.md":
        file = tmp_path / "mine.yaml"
        file.write_text(block, encoding="utf-8")
        assert scenario.load(str(file)).name == "mine"
    else:
        assert names in ({"scrape_configs"}, {"metadata"}), f"{page.name}: what is this?"


def test_what_is_told_as_dangerous_is_marked() -> None:
    """Every setting that `check-config` warns of says in the reference what is dangerous about it."""
    reference = prose(ROOT / "docs" / "policy.md")
    text = """
    mode: enforce
    undeclared: low
    business: [{tier: low}, {tier: low}]
    importance: {low: 90}
    weights: {business: 0.1, memory: 0.6}
    safe_used_ratio: 0.9
    ladder: {yellow: {evict_tiers: [important], max_pods_per_round: 9, max_rounds: 9, notify: false, cordon: true}}
    caps: {evictions_per_hour: 99, nodes_cordoned_ratio: 0.9, storm_red_ratio: 0.9}
    safeguards:
      {protected_namespaces: [a], priority_ceiling: 2100000000, system_priority: 2100000000, force_delete: true,
       min_ready_replicas: 0, allow_single_replica: true, min_age_seconds: 0, silence_cache_for_red_seconds: 60,
       min_pod_share_ratio: 0}
    timers: {node_cooldown_seconds: 1, settle_seconds: 1}
    """
    warnings = dangers(parse_policy("\n".join(line[4:] for line in text.splitlines())))
    assert len(warnings) > 20
    for warning in warnings:
        path = (
            re.sub(r"\[\d+\]", "", re.split(r"[: ]", warning)[0]).replace("yellow", "LEVEL").replace("orange", "LEVEL")
        )
        rows = [row for row in reference.splitlines() if row.startswith(f"| `{path}")]
        assert any("**Danger:**" in row for row in rows), warning
