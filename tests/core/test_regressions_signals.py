"""Regression cases A to C that are pure decisions, named by their ids."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from core_c3 import A1, c3, c3_look, c3_policy, c3_usages, evictions, victims
from core_world import GI, MI, T0, World, look, memory, usage

from remediator.core.alerts import MalformedWebhook, parse_webhook
from remediator.core.model import (
    Level,
    Matcher,
    Phase,
    Silence,
    SilenceFacts,
    Unknown,
)
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


def test_c3_expected_victim() -> None:
    """Nothing changed: one eviction, shop/report, after cordon and taint."""
    decision = c3_look(c3())
    assert decision.plan is not None
    assert [a.kind.value for a in decision.plan.actions] == ["cordon", "taint", "evict"]
    assert victims(decision) == ["report"]


def test_a06_cordon_is_asked_to_be_lifted_by_measured_calm_alone() -> None:
    """Without any resolved message our own loop finds the node calm after five minutes."""
    world = World.storm(24.52)
    world.run(120)
    world.run(300)
    assert world.isolation.value == "RELEASABLE"


def test_a07_silence_pauses_although_the_webhook_was_queued_before() -> None:
    """An active silence node=n1 pauses, and the audit names it."""
    silences = SilenceFacts((Silence("s-7", (Matcher("node", "n1"),)),))
    decision = c3_look(c3(silences=silences))
    assert decision.plan is None
    assert any(r.reason is Reason.SILENCED and "s-7" in r.detail for r in decision.reasons)


def test_a07_alert_held_in_alertmanager_pauses() -> None:
    """`silencedBy` of the alert itself counts as well."""
    decision = c3_look(c3(silences=SilenceFacts(alert_silenced_by=("s-8",))))
    assert decision.plan is None and Reason.SILENCED in reasons(decision)


def test_a08_truncated_alerts_are_counted() -> None:
    """Those present are used, the rest is counted."""
    parsed = parse_webhook(body(a1(), truncatedAlerts=7), ["NodeMemoryPressure"])
    assert (len(parsed.signals), parsed.truncated) == (1, 7)


def test_a09_each_alert_by_its_own_status() -> None:
    """The group says firing, n1's alert is resolved, n2's fires."""
    two = a1(labels={"alertname": "NodeMemoryPressure", "node": "n2"})
    parsed = parse_webhook(body(a1(status="resolved"), two), ["NodeMemoryPressure"])
    assert [(s.labels["node"], s.firing) for s in parsed.signals] == [("n1", False), ("n2", True)]


def test_a11_a_repeat_hours_later_on_a_well_node_does_nothing() -> None:
    """The identical body after 4 h with n1 at 9 GiB: nothing."""
    later = T0 + 4 * 3600
    calm = memory(Level.GREEN, 16 * GI, 9 * GI, at=later)
    decision = c3_look(c3(mem=calm, at=later, usages=c3_usages(later)), now=later)
    assert decision.plan is None


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


@pytest.mark.parametrize("starts_at", ["2039-01-01T00:00:00Z", "", "nonsense"])
def test_a14_starts_at_is_not_compared_with_any_clock(starts_at: str) -> None:
    """startsAt in the future, empty or nonsense: the same decision."""
    assert c3_look(c3()).plan is not None
    world = World.storm(24.52)
    world.step(replace(A1, starts_at=starts_at))
    assert "evict:spark-1" in world.kinds()


def test_a16_two_fingerprints_of_one_node_act_once() -> None:
    """The key is node and episode, not the fingerprint."""
    world = World.storm(24.52)
    world.step(replace(A1, fingerprint="f1"))
    done = len(world.done)
    world.step(replace(A1, fingerprint="f2"))
    assert len(world.done) == done


def test_a18_a_pod_label_chooses_nobody_by_prefix() -> None:
    """An alert's pod label is no selector."""
    signal = replace(A1, labels={"pod": "web"})
    assert victims(look(c3(), c3_policy(), None, T0, signal)) == ["report"]


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


def test_b01_cache_heavy_pod_is_not_preferred() -> None:
    """6 GiB of which 5.5 are page cache frees little; the anon-heavy pod goes."""
    usages = {**c3_usages(), "web": usage(950 * MI, releasable=60 * MI)}
    decision = c3_look(c3(usages=usages))
    assert victims(decision) == ["report"]


def test_b03_non_pod_memory_evicts_nobody() -> None:
    """Pods hold 3 of 14.8 GiB: no eviction, the slice is named."""
    usages = {"web": usage(0.9 * GI), "report": usage(1.5 * GI), "agent": usage(0.6 * GI)}
    mem = memory(Level.ORANGE, 16 * GI, 1.2 * GI, system_slices={"/system.slice": 11 * GI})
    decision = c3_look(c3(usages=usages, mem=mem))
    assert evictions(decision) == []
    assert any(r.reason is Reason.NON_POD_MEMORY and "/system.slice" in r.detail for r in decision.reasons)


@pytest.mark.parametrize("reason", [Reason.DATA_UNKNOWN, Reason.DATA_PARTIAL])
def test_b17_b18_b21_unknown_usages_or_memory_never_act(reason: Reason) -> None:
    """Partial sets, vanished series, warnings in the answer: nothing is done, and it is told."""
    for source in ("memory", "usages", "cluster"):
        decision = c3_look(replace(c3(), **{source: Unknown(source, "two answers disagree", reason)}))
        assert decision.plan is None
        assert reason in reasons(decision)


def test_b18_blind_is_never_green() -> None:
    """A vanished series leaves the remembered level alone."""
    state = c3_look(c3()).next_state
    blind = replace(c3(), memory=Unknown("prometheus", "no samples"))
    decision = c3_look(blind, state=replace(state, phase=Phase.WATCHING, plan=None), now=T0 + 90)
    assert decision.next_state.level is Level.ORANGE
    assert decision.plan is None


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
