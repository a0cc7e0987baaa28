"""Rules, routes and dashboards in the chart are the shipped ones, placed in the release."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.conftest import CHART, NAMESPACE, ROOT, VARIANTS, helm, one, rendered, values_file, with_values
from tests.rules.conftest import find_tool


@pytest.mark.parametrize("variant", VARIANTS)
def test_rules_are_accepted(variant: str, tmp_path: Path) -> None:
    """promtool accepts every rule, and every alert carries the release's namespace, which the operator matches on."""
    groups = [group for document in _rule_documents(variant) for group in document["groups"]]
    assert len({group["name"] for group in groups}) == len(groups) > 5
    alerts = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    assert {alert["labels"]["namespace"] for alert in alerts} == {NAMESPACE}
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": groups}))
    done = subprocess.run([find_tool("promtool"), "check", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _rule_documents(variant: str) -> Iterator[dict[str, Any]]:
    for manifest in rendered(variant):
        if manifest["kind"] == "PrometheusRule":
            yield manifest["spec"]
        elif manifest["kind"] == "ConfigMap" and "-rules-" in manifest["metadata"]["name"]:
            yield from (yaml.safe_load(text) for text in manifest["data"].values())


@pytest.mark.parametrize(("variant", "join"), [("observe", "sentinel-node"), ("plain-prometheus", "graded-instance")])
def test_rules_follow_policy_and_join(variant: str, join: str) -> None:
    """The policy's profile and the chosen join pick the rules."""
    shipped = yaml.safe_load((CHART / "files" / "rules" / join / "node-memory.recording.yaml").read_text())
    expressions = [rule["expr"] for group in shipped["groups"] for rule in group["rules"]]
    found = [
        r["expr"]
        for d in _rule_documents(variant)
        for g in d["groups"]
        if g["name"] == "node-memory"
        for r in g["rules"]
    ]
    assert found == expressions


def test_strategies_have_their_thresholds() -> None:
    """Thresholds of the policy are recorded, so that alerts outlive the remediator; Koordinator's own are not."""
    groups = {g["name"]: g["rules"] for d in _rule_documents("koordinator") for g in d["groups"]}
    assert {rule["labels"]["strategy"]: rule["expr"] for rule in groups["koordinator-thresholds"]} == {
        "BEMemoryEvict": "vector(0.7)",
        "MemoryEvict": "vector(0.7)",
        "MemoryAllocatableEvict": "vector(0.9)",
    }
    assert "koordinator-thresholds" not in {g["name"] for d in _rule_documents("koordinator-live") for g in d["groups"]}


def test_operator_route_is_the_shipped_one() -> None:
    """The AlertmanagerConfig has the timers, matchers and inhibitions of rules/alertmanager/route.yaml."""
    spec = one(rendered("kube-prometheus-stack"), "AlertmanagerConfig")["spec"]
    shipped = yaml.safe_load((ROOT / "rules" / "alertmanager" / "route.yaml").read_text())
    ours = shipped["route"]["routes"][0]
    route = spec["route"]
    (matcher,) = route["matchers"]
    assert f'{matcher["name"]}{matcher["matchType"]}"{matcher["value"]}"' == ours["matchers"][0]
    assert [route["groupWait"], route["groupInterval"], route["repeatInterval"], route["groupBy"]] == [
        ours["group_wait"], ours["group_interval"], ours["repeat_interval"], ours["group_by"],
    ]  # fmt: skip
    assert route["continue"] is True
    written = [
        {
            "source_matchers": [f'{m["name"]}{m["matchType"]}"{m["value"]}"' for m in rule["sourceMatch"]],
            "target_matchers": [f'{m["name"]}{m["matchType"]}"{m["value"]}"' for m in rule["targetMatch"]],
            "equal": rule["equal"],
        }
        for rule in spec["inhibitRules"]
    ]
    assert written == shipped["inhibit_rules"]


def test_dashboards_are_there() -> None:
    """The labelled ConfigMaps hold the dashboards, with this release's addresses of runbook and status page."""
    places = (
        "rules.runbookUrl=https://wiki.example.com/memory",
        "dashboards.statusPageUrl=https://memory.example.com/",
    )
    done = with_values(*places)
    found = [m for m in yaml.safe_load_all(done.stdout) if m and "-dashboard-" in m["metadata"]["name"]]
    assert {name for m in found for name in m["data"]} == {f.name for f in (ROOT / "dashboards").glob("*.json")}
    for manifest in found:
        assert manifest["metadata"]["labels"]["grafana_dashboard"] == "1"
        (text,) = manifest["data"].values()
        assert json.loads(text)["uid"].startswith("remediator-")
        assert "wiki.example.com/memory" in text
        assert '"https://memory.example.com/' in text
        assert "remediator.io/docs" not in text
        assert "127.0.0.1" not in text


def _notes(variant: str, directory: Path) -> str:
    """NOTES.txt, which `helm template` does not print: a probe beside it does."""
    chart = shutil.copytree(CHART, directory / "chart")
    probe = '{kind: Probe, metadata: {name: p}, notes: {{ include (print .Template.BasePath "/NOTES.txt") . | quote }}}'
    (chart / "templates" / "probe.yaml").write_text(probe)
    command = ["template", "remediator", str(chart), "-s", "templates/probe.yaml", "--namespace", NAMESPACE]
    done = helm("helm3", *command, "-f", str(values_file(variant)))
    notes: str = yaml.safe_load(done.stdout)["notes"]
    return notes


def test_printed_route_is_accepted(tmp_path: Path) -> None:
    """The route of the notes, under a pager's, is a configuration that Alertmanager accepts."""
    _, _, rest = _notes("plain-prometheus", tmp_path).partition("keeps your pager ringing:\n")
    config = yaml.safe_load(rest.partition("\nNext:")[0])
    config["route"]["receiver"] = "pager"
    config["receivers"].append({"name": "pager"})
    file = tmp_path / "alertmanager.yml"
    file.write_text(yaml.safe_dump(config))
    done = subprocess.run([find_tool("amtool"), "check-config", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("variant", VARIANTS)
def test_notes_say_what_comes_next(variant: str, tmp_path: Path) -> None:
    """After an install three commands are told, warnings where something is given up, the route where it is by hand."""
    notes = _notes(variant, tmp_path)
    assert [f"  {n}. " in notes for n in (1, 2, 3)] == [True] * 3
    assert "explain NODE" in notes
    assert ("WARNING: audit.persistence is off" in notes) == (variant == "observe")
    assert ("continue: true\n" in notes) == (variant == "plain-prometheus")


def test_secrets_are_only_referred_to() -> None:
    """No variant renders a Secret: tokens never pass through values or a release."""
    assert [m for variant in VARIANTS for m in rendered(variant) if m["kind"] == "Secret"] == []
