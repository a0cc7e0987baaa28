"""Regression cases A to C that are pure decisions, named by their ids."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from core_c3 import A1
from core_world import World

from remediator.core.alerts import MalformedWebhook, parse_webhook
from remediator.core.reason import Reason
from remediator.core.state import Decision

WEBHOOKS = Path(__file__).parent / "webhooks"


def reasons(decision: Decision) -> set[Reason]:
    """Reasons of a decision."""
    return {reason.reason for reason in decision.reasons}


def a1(**kw: object) -> dict[str, object]:
    """A1 as Alertmanager sends it."""
    labels = {"alertname": "NodeMemoryPressure", "node": "n1", "level": "orange"}
    return {"status": "firing", "labels": labels, "fingerprint": "f1", "startsAt": "2026-12-01T00:00:00Z", **kw}


def body(*alerts: object, **kw: object) -> dict[str, object]:
    """A webhook body."""
    return {"version": "4", "status": "firing", "alerts": list(alerts), **kw}


def test_a06_cordon_is_asked_to_be_lifted_by_measured_calm_alone() -> None:
    """Without any resolved message our own loop finds the node calm after five minutes."""
    world = World.storm(24.52)
    world.run(120)
    world.run(300)
    assert world.isolation.value == "RELEASABLE"


def test_a08_truncated_alerts_are_counted() -> None:
    """Those present are used, the rest is counted."""
    parsed = parse_webhook(body(a1(), truncatedAlerts=7), ["NodeMemoryPressure"])
    assert (len(parsed.signals), parsed.truncated) == (1, 7)


def test_a09_each_alert_by_its_own_status() -> None:
    """The group says firing, n1's alert is resolved, n2's fires."""
    two = a1(labels={"alertname": "NodeMemoryPressure", "node": "n2"})
    parsed = parse_webhook(body(a1(status="resolved"), two), ["NodeMemoryPressure"])
    assert [(s.labels["node"], s.firing) for s in parsed.signals] == [("n1", False), ("n2", True)]


def test_a11_a_repeat_within_the_episode_does_nothing() -> None:
    """A second A1 while the first episode settles: same episode, no action."""
    world = World.storm(24.52)
    world.step(A1)
    episode, done = world.state.episode_id, len(world.done)
    world.now += 1
    world.step(A1)
    world.step(replace(A1, fingerprint="f2"))
    assert (world.state.episode_id, len(world.done)) == (episode, done)


def test_a13_resolved_alone_never_uncordons() -> None:
    """A resolved alert while the measurement still says RED changes nothing."""
    world = World.storm(24.52 + 15)
    world.run(30)
    world.step(replace(A1, firing=False))
    assert world.unschedulable


def test_a16_two_fingerprints_of_one_node_act_once() -> None:
    """The key is node and episode, not the fingerprint."""
    world = World.storm(24.52)
    world.step(replace(A1, fingerprint="f1"))
    done = len(world.done)
    world.step(replace(A1, fingerprint="f2"))
    assert len(world.done) == done


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({}, "version"),
        ({"version": "5", "alerts": []}, "version"),
        ({"version": "4"}, "alerts"),
        ([], "body"),
        ("text", "body"),
        (None, "body"),
    ],
)
def test_a21_malformed_bodies_name_the_field(payload: object, field: str) -> None:
    """Bodies that cannot be used name the field and the fix."""
    with pytest.raises(MalformedWebhook) as raised:
        parse_webhook(payload, ["NodeMemoryPressure"])
    assert raised.value.field == field and raised.value.fix


def test_a21_alert_without_name_is_rejected_alone() -> None:
    """One bad alert does not spoil the others."""
    parsed = parse_webhook(body(a1(labels={"node": "n1"}), a1()), ["NodeMemoryPressure"])
    assert [r.reason for r in parsed.rejections] == [Reason.ALERT_WITHOUT_NAME]
    assert len(parsed.signals) == 1


@pytest.mark.parametrize("path", sorted(WEBHOOKS.glob("*.json")), ids=lambda p: p.stem)
def test_real_captures_parse(path: Path) -> None:
    """Every captured webhook parses; each alert becomes a signal or a rejection."""
    payload = json.loads(path.read_text())
    names = {"NodeMemoryPressure", "LabMemoryPressure"}
    parsed = parse_webhook(payload, names)
    assert len(parsed.signals) + len(parsed.rejections) == len(payload["alerts"])
    for signal, alert in zip(
        parsed.signals, (a for a in payload["alerts"] if a["labels"]["alertname"] in names), strict=True
    ):
        assert signal.firing is (alert["status"] == "firing")
        assert signal.level is not None and signal.level.name.lower() == alert["labels"]["level"]
        assert signal.to_signal("n1").fingerprint == alert["fingerprint"]
    assert parsed.truncated == payload["truncatedAlerts"]
