"""Audit lines as documents: names of the Elastic Common Schema, nothing outside the template, nothing lost."""

import json
from typing import Any

import pytest

from remediator.adapters.shipper.documents import document
from remediator.adapters.shipper.template import index_template
from remediator.core.reason import Reason
from remediator.core.state import ActionStatus
from tests.reconciler.world import World, alert, timer

KILL = {"kind": "oom_kill", "namespace": "shop", "pod": "web-1", "container": "c"}
APPROVAL = {"kind": "operator", "operator": "ann", "plan": "0123456789", "verdict": "approved"}
STAMP = "2026-11-30T23:59:59.999+00:00"


def told(record: dict[str, Any]) -> dict[str, Any]:
    """The source of a record's document, with dots in its names."""
    line = json.dumps({"@timestamp": STAMP, **record}).encode() + b"\n"
    return dict(dotted(document("id", line, "audit").source))


def dotted(value: dict[str, Any], prefix: str = ""):
    """(dotted name, value) of each leaf."""
    for name, each in value.items():
        if isinstance(each, dict):
            yield from dotted(each, f"{prefix}{name}.")
        else:
            yield prefix + name, each


def mapped(properties: dict[str, Any], prefix: str = ""):
    """(dotted name, type) of each field of a mapping."""
    for name, each in properties.items():
        if "properties" in each:
            yield from mapped(each["properties"], f"{prefix}{name}.")
        else:
            yield prefix + name, each["type"]


FIELDS = dict(mapped(index_template("audit")["template"]["mappings"]["properties"]))
KINDS = {"keyword": str, "match_only_text": str, "date": str, "long": int, "double": (int, float)}


def fits(name: str, value: Any) -> bool:
    """Whether Elasticsearch would take the value for that field of the template."""
    return all(isinstance(each, KINDS[FIELDS[name]]) for each in (value if isinstance(value, list) else [value]))


@pytest.fixture(scope="module")
def story() -> list[dict[str, Any]]:
    """Every line of an episode: decisions, intents, results (one refused), the outcome."""
    world = World()
    world.answers["evict:uid-spark-a"] = (ActionStatus.REFUSED, Reason.DISRUPTION_BUDGET)
    replica = world.replica()
    replica.reconcile(alert())
    for _ in range(20):
        world.tick(60.0)
        replica.reconcile(timer())
    assert {line["kind"] for line in world.audit} >= {"decision", "intent", "result", "outcome", "level"}
    return [dict(line) for line in world.audit]


def test_every_field_of_a_real_story_is_in_the_template_and_of_its_type(story):
    """No line of an episode brings a field that the mapping does not know, or a value that it would refuse."""
    for record in story:
        for name, value in told(record).items():
            assert name in FIELDS, name
            assert fits(name, value), (name, value)


def test_the_line_itself_is_kept_word_for_word(story):
    """`event.original` is what the file holds: what has no field of its own is not lost."""
    for record in story:
        assert json.loads(told(record)["event.original"]) == json.loads(json.dumps({"@timestamp": STAMP, **record}))


def test_an_eviction_is_found_by_pod_with_its_reason(story):
    """The document that answers "why was this pod evicted"."""
    record = next(each for each in story if each["kind"] == "result" and each["action"]["pod"] == "spark-b-0")
    found = told(record)
    assert (
        found
        | {
            "event.action": "evict",
            "event.outcome": "success",
            "host.name": "n1",
            "orchestrator.type": "kubernetes",
            "orchestrator.namespace": "batch",
            "orchestrator.resource.type": "pod",
            "orchestrator.resource.name": "spark-b-0",
            "orchestrator.resource.id": "uid-spark-b",
            "orchestrator.resource.parent.type": "Job",
            "remediator.kind": "result",
            "remediator.status": "done",
            "remediator.tier": "offline",
            "remediator.mode": "enforce",
            "service.node.name": "a",
        }
        == found
    )
    assert record["action"]["why"] in found["event.reason"]
    assert found["message"] == "result: evict batch/spark-b-0 done"


def test_a_decision_names_whom_it_chose_and_whom_it_spared(story):
    """Both sides of the ranking, and the level and figures it stands on."""
    found = told(next(each for each in story if each["kind"] == "decision"))
    assert "batch/spark-a-0" in found["remediator.candidates.chosen"]
    assert "data/kafka-0" in found["remediator.candidates.spared"]
    assert found["remediator.level.name"] == "RED"
    assert 0 < found["remediator.memory.used_ratio"] < 1
    assert "event.outcome" not in found
    assert found["orchestrator.resource.type"] == "node"


def test_a_refused_act_is_a_failure_and_an_intent_unknown(story):
    """ECS's words for what became of it."""
    outcomes = {(each["kind"], each.get("status")): told(each).get("event.outcome") for each in story}
    assert outcomes["result", "refused"] == "failure"
    assert outcomes["intent", None] == "unknown"


@pytest.mark.parametrize(
    ("record", "field", "value"),
    [
        ({"kind": "operator", "operator": "ann", "isolation": "cordoned"}, "user.name", "ann"),
        (
            APPROVAL,
            "remediator.plan.id",
            "0123456789",
        ),
        (
            APPROVAL,
            "message",
            "operator: n1 approved",
        ),
        ({"kind": "result", "status": "done", "reason": "dry_run", "mode": "observe"}, "event.outcome", None),
        ({"kind": "outcome", "outcome": "moved", "workloads": ["a/Job/b"]}, "event.outcome", "failure"),
        ({"kind": "outcome", "outcome": "partly"}, "event.outcome", "success"),
        ({**KILL, "class": "node-oom"}, "remediator.oom_class", "node-oom"),
        (KILL, "orchestrator.resource.name", "web-1"),
        (KILL, "event.action", "oom_kill"),
        ({**KILL, "kind": "kubelet_eviction"}, "message", "kubelet_eviction: shop/web-1"),
        ({"kind": "level", "level": "RED", "level_before": "ORANGE"}, "message", "level: n1 RED"),
        ({"kind": "watching", "mode": "observe", "node": None}, "message", "watching:"),
        ({"kind": "abandoned", "detail": "killed"}, "event.reason", "killed"),
        (
            {"kind": "intent", "action": {"kind": "scale", "workload": "shop/Deployment/web"}},
            "orchestrator.resource.name",
            "web",
        ),
        ({"kind": "decision", "memory": {"unknown": "gone", "source": "prometheus"}}, "remediator.level.name", None),
    ],
)
def test_lines_of_every_kind(record, field, value):
    """What each kind is known by."""
    assert told({"node": "n1", **record}).get(field) == value


@pytest.mark.parametrize("line", ["[]", "1", "{}", '{"@timestamp": 3, "kind": "x"}', f'{{"@timestamp": "{STAMP}"}}'])
def test_what_is_no_record_is_refused(line):
    """The shipper sets it aside."""
    with pytest.raises(ValueError, match=r"audit record|isoformat"):
        document("id", line.encode(), "audit")


def test_the_index_is_that_of_the_line_s_own_month(story):
    """A line that is sent again in another month meets itself."""
    line = json.dumps({"@timestamp": STAMP, **story[0]}).encode()
    assert document("id", line, "audit").index == "audit-2026.11"


def test_the_template_is_closed_for_every_index_of_that_name():
    """Unknown fields are kept and not indexed; its pattern follows the name."""
    template = index_template("audit-prod")
    assert template["index_patterns"] == ["audit-prod-*"]
    assert template["template"]["mappings"]["dynamic"] is False
    assert len(FIELDS) < template["template"]["settings"]["index"]["mapping"]["total_fields"]["limit"]
