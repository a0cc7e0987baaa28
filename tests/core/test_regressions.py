"""Regression cases that are pure decisions, named by their ids; situations that have hurt users of such systems."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from core_c3 import A1, c3, c3_look, c3_pods, c3_policy, c3_usages, evictions, victims
from core_world import GI, MI, T0, World, look, memory, peer, situation, usage

from remediator.core.alerts import MalformedWebhook, parse_webhook
from remediator.core.assessment import assess
from remediator.core.guards import storm_brake
from remediator.core.model import (
    BudgetFacts,
    Level,
    Matcher,
    NodeFacts,
    Phase,
    PodPlacement,
    Silence,
    SilenceFacts,
    Termination,
    Unknown,
)
from remediator.core.oom import OomClass, classify
from remediator.core.planner import recheck
from remediator.core.reason import Reason
from remediator.core.state import Decision, EvictionRecord, FleetFacts, NodeState

WEBHOOKS = Path(__file__).parent / "webhooks"


def reasons(decision: Decision) -> set[Reason]:
    """Reasons of a decision."""
    return {reason.reason for reason in decision.reasons}


def why(decision: Decision, name: str) -> Reason:
    """Why not this pod."""
    return next(row.reason for row in decision.ranking if row.pod.startswith(name))


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


def test_d01_samples_61_s_old_do_nothing() -> None:
    """One second over the limit is too old."""
    old = memory(Level.ORANGE, 16 * GI, 1.2 * GI, at=T0 - 61)
    decision = c3_look(c3(mem=old))
    assert decision.plan is None and Reason.DATA_STALE in reasons(decision)


def test_d01_samples_from_before_the_last_kill_do_nothing() -> None:
    """A sample must be newer than the end of the last eviction."""
    gone = EvictionRecord("shop", "x", "uid-x", "shop/Deployment/x", "n1", "p", T0 - 40, MI, gone_at=T0 - 5)
    mem = memory(Level.ORANGE, 16 * GI, 1.2 * GI, at=T0 - 10)
    decision = c3_look(c3(mem=mem), state=NodeState(evictions=(gone,)))
    assert decision.plan is None and Reason.DATA_STALE in reasons(decision)


def test_d02_no_second_eviction_before_the_first_has_settled() -> None:
    """A pod terminating for 40 s: the second alert at 10 s evicts nobody."""
    world = World.storm(24.52, termination_seconds=40)
    world.step(A1)
    done = len(world.done)
    for _ in range(8):
        world.now += 10
        world.step(A1)
    assert [a for a in world.done[done:] if a.kind == "evict"] == []


def test_d03_pod_without_stats_is_no_candidate() -> None:
    """No series of report: the next candidate goes, and report says why not."""
    usages = c3_usages()
    del usages["report"]
    # Its memory is still the node's: keep the pods' share above the limit.
    usages["cache"] = usage(3.9 * GI)
    decision = c3_look(c3(usages=usages))
    assert victims(decision) == ["web"]
    assert why(decision, "report") is Reason.NO_USAGE_SAMPLE


def test_d05_only_a_daemonset_pod_is_big() -> None:
    """The agent at 6 GiB, everything else small: nobody is evicted, the cordon stays."""
    sizes = {"web": 15, "crunch": 1500, "cache": 15, "dns": 60, "agent": 6144, "report": 15}
    usages = {name: usage(size * MI) for name, size in sizes.items()}
    decision = c3_look(c3(usages=usages))
    assert evictions(decision) == []
    assert why(decision, "agent") is Reason.DAEMONSET_POD
    assert Reason.NO_CANDIDATE in reasons(decision)
    assert decision.plan is not None and [a.kind.value for a in decision.plan.actions] == ["cordon", "taint"]


def test_d06_successor_on_the_same_node_is_not_evicted() -> None:
    """report's successor bound to n1 within 5 s: workload cooldown."""
    pods = c3_pods()
    record = EvictionRecord(
        "shop", "report-old", "uid-old", "shop/Deployment/report", "n1", "p", T0 - 60, GI, gone_at=T0 - 50
    )
    pods["report"] = replace(pods["report"], created_at=T0 - 45)
    decision = c3_look(c3(pods), state=NodeState(evictions=(record,)))
    assert "report" not in victims(decision)


def test_d08_five_hundred_evicted_pods_are_not_taken_for_live_ones() -> None:
    """Failed pods of last week are neither candidates nor proof that the kubelet evicts now."""
    pods = c3_pods()
    dead = replace(pods["report"], phase="Failed", status_reason="Evicted", status_message="low on resource: memory")
    for i in range(500):
        pods[f"dead{i}"] = replace(dead, name=f"dead-{i}", uid=f"dead-{i}", ended_at=T0 - 86_400)
    assert victims(c3_look(c3(pods))) == ["report"]


def test_d10_mirror_pod_is_never_a_candidate() -> None:
    """Deleting a mirror pod frees nothing."""
    pods = c3_pods()
    pods["report"] = replace(pods["report"], mirror=True)
    decision = c3_look(c3(pods))
    assert victims(decision) == ["web"] and why(decision, "report") is Reason.MIRROR_POD


@pytest.mark.parametrize("ended_at", [T0 - 20, None])
def test_d13_kubelet_evicting_stands_us_down(ended_at: float | None) -> None:
    """MemoryPressure and a pod evicted 20 s ago: nothing is done, critically told."""
    pods = c3_pods()
    pods["dead"] = replace(
        pods["report"],
        name="dead-1",
        uid="dead-1",
        phase="Failed",
        status_reason="Evicted",
        status_message="The node was low on resource: memory. Threshold quantity: 100Mi",
        ended_at=ended_at,
    )
    node = NodeFacts("n1", allocatable_bytes=16 * GI, memory_pressure=True)
    decision = c3_look(c3(pods, node=node))
    assert decision.plan is None
    assert decision.next_state.phase is Phase.STOOD_DOWN
    assert [n.severity for n in decision.notices if n.key.startswith("stood-down")] == ["critical"]


def test_d13_memory_pressure_alone_only_warns() -> None:
    """The node condition without an eviction: we act, and say so."""
    node = NodeFacts("n1", allocatable_bytes=16 * GI, memory_pressure=True)
    decision = c3_look(c3(node=node))
    assert victims(decision) == ["report"]
    assert any(n.key == "held:memory-pressure" for n in decision.notices)


@pytest.mark.parametrize("ready", [True, False])
def test_e02_budget_without_disruptions_takes_the_next_candidate(ready: bool) -> None:
    """disruptionsAllowed 0, pod ready or not: web goes; an unready pod gets the hint."""
    pods = c3_pods()
    pods["report"] = replace(pods["report"], ready=ready)
    budget = BudgetFacts("shop", "report", frozenset({pods["report"].uid}), 0, 2, 1)
    decision = c3_look(c3(pods, budgets=(budget,), ready={"report": 2}))
    assert victims(decision) == ["web"]
    row = next(r for r in decision.ranking if r.pod.startswith("report"))
    assert row.reason is Reason.DISRUPTION_BUDGET
    assert ("unhealthyPodEvictionPolicy" in row.detail) is not ready


def test_e02_unready_pod_with_always_allow_may_go() -> None:
    """AlwaysAllow lets an unready pod pass the budget."""
    pods = c3_pods()
    pods["report"] = replace(pods["report"], ready=False)
    budget = BudgetFacts("shop", "report", frozenset({pods["report"].uid}), 0, 2, 1, "AlwaysAllow")
    assert victims(c3_look(c3(pods, budgets=(budget,)))) == ["report"]


def test_e04_two_budgets_are_told_before_the_api_is_asked() -> None:
    """Two budgets match: the API would answer 500 for ever."""
    uid = frozenset({c3_pods()["report"].uid})
    budgets = (BudgetFacts("shop", "a", uid, 1), BudgetFacts("shop", "b", uid, 1))
    decision = c3_look(c3(budgets=budgets))
    assert victims(decision) == ["web"] and why(decision, "report") is Reason.TWO_BUDGETS


def test_e05_a_replaced_pod_is_dropped_right_before_the_act() -> None:
    """crunch-0 (here report) has another UID by now: not this one."""
    decision = c3_look(c3())
    action = evictions(decision)[0]
    pods = c3_pods()
    pods["report"] = replace(pods["report"], uid="uid-new")
    said = recheck(action, c3(pods), c3_policy(), T0 + 1)
    assert said is not None and said.reason is Reason.REPLACED_SINCE


def test_e06_gone_means_the_uid_is_gone() -> None:
    """The same name alive with a new UID does not keep us waiting."""
    record = EvictionRecord("batch", "crunch-0", "uid-old", "batch/StatefulSet/crunch", "n1", "p", T0 - 5, GI)
    decision = c3_look(c3(), state=NodeState(evictions=(record,)))
    assert decision.next_state.evictions[0].gone_at == T0


def test_f01_a_humans_cordon_is_not_lifted() -> None:
    """n1 was unschedulable before: after recovery nothing of it is ours to lift but our own mark."""
    world = World.storm(0.0, unschedulable=True)
    world.run(600)
    assert world.done == []


def test_g01_the_same_workload_is_not_evicted_again_on_another_node() -> None:
    """report's successor raised n2 (here n1) to ORANGE within 3 min: another pod or none."""
    pods = c3_pods()
    pods["report"] = replace(pods["report"], created_at=T0 - 170)
    record = EvictionRecord(
        "shop", "report-old", "uid-old", "shop/Deployment/report", "n2", "p", T0 - 180, GI, gone_at=T0 - 175
    )
    fleet = FleetFacts({"n1": Level.ORANGE, "n2": Level.GREEN}, {"n2": NodeState(evictions=(record,))})
    decision = c3_look(c3(pods, fleet=fleet))
    assert victims(decision) == ["web"]


def test_g02_only_replica_is_never_evicted() -> None:
    """crunch is 1 of 1; report has 2 replicas and only itself ready."""
    pods = c3_pods()
    pods["crunch"] = replace(pods["crunch"], volumes=frozenset())
    decision = c3_look(c3(pods, ready={"report": 1}))
    assert victims(decision) == ["web"]
    assert why(decision, "crunch") is Reason.SINGLE_REPLICA
    assert why(decision, "report") is Reason.LAST_READY_REPLICA


@pytest.mark.parametrize(
    ("value", "victim", "reason"),
    [
        ("false", "web", Reason.OPTED_OUT),
        ("maybe", "web", Reason.OPT_OUT_UNREADABLE),
        ("true", "report", Reason.CHOSEN),
        ("False", "web", Reason.OPTED_OUT),
        ("", "web", Reason.OPT_OUT_UNREADABLE),
    ],
)
def test_g05_opt_out_value_is_parsed(value: str, victim: str, reason: Reason) -> None:
    """ "false" opts out, "true" does not, nonsense protects."""
    pods = c3_pods()
    pods["report"] = replace(pods["report"], annotations={"remediator.io/evict": value})
    decision = c3_look(c3(pods))
    assert victims(decision) == [victim] and why(decision, "report") is reason


@pytest.mark.parametrize(
    ("nodes", "red", "held"),
    [
        (1, 1, False),
        (2, 1, False),
        (3, 1, False),
        (4, 1, False),
        (10, 1, False),
        (2, 2, True),
        (3, 2, True),
        (4, 2, True),
        (10, 2, False),
        (10, 3, False),
        (10, 4, True),
        (7, 2, False),
        (6, 2, True),
    ],
)
def test_g07_storm_brake_on_clusters_of_all_sizes(nodes: int, red: int, held: bool) -> None:
    """At least two, and more than 30 % (on 1-3 nodes more than half)."""
    levels = {f"n{i}": Level.RED if i <= red else Level.GREEN for i in range(1, nodes + 1)}
    mem = memory(Level.RED, 16 * GI, 0.5 * GI)
    peers = tuple(peer(f"n{i}") for i in range(2, nodes + 1))
    s = situation(c3(mem=mem, levels=levels, peers=peers), c3_policy())
    assert (storm_brake(s) is not None) is held


def test_g07_one_node_cluster_has_nowhere_to_go() -> None:
    """The brake lets a single node pass; fits-elsewhere then stops its online pods."""
    decision = c3_look(c3(peers=(), levels={"n1": Level.ORANGE}))
    assert evictions(decision) == [] and why(decision, "report") is Reason.FITS_NOWHERE


def test_g08_recovered_between_ranking_and_act() -> None:
    """n1 back at 20 % available right before the POST: no eviction, reason recovered."""
    action = evictions(c3_look(c3()))[0]
    well = memory(Level.ORANGE, 16 * GI, 3.3 * GI, at=T0 + 1)
    said = recheck(action, c3(mem=well, at=T0 + 1), c3_policy(), T0 + 1)
    assert said is not None and said.reason is Reason.RECOVERED


@pytest.mark.parametrize(
    ("reason", "exit_code", "limit", "expected"),
    [
        ("OOMKilled", 137, GI, OomClass.LIMIT),
        ("OOMKilled", 137, None, OomClass.NODE),
        ("Error", 137, GI, OomClass.UNKNOWN),
        ("OOMKilled", 0, GI, OomClass.UNKNOWN),
        ("Completed", 0, GI, None),
    ],
)
def test_g11_oom_kills_are_classified_three_ways(
    reason: str, exit_code: int, limit: int | None, expected: OomClass | None
) -> None:
    """By the limit ratio and the node's level at that time, not by the word alone."""
    died = Termination("web", reason, exit_code, T0 - 120, restart_count=3, level_at=Level.GREEN)
    pod = replace(c3_pods()["web"], limit_bytes=limit, terminations=(died,))
    assert classify(pod, usage(980 * MI), NodeState(), T0, 1800) is expected


def test_g11_limit_oom_pod_is_no_candidate_and_its_developers_are_told() -> None:
    """It would be killed anywhere: told, not evicted."""
    pods = c3_pods()
    died = Termination("report", "OOMKilled", 137, T0 - 120, restart_count=3, level_at=Level.GREEN)
    pods["report"] = replace(pods["report"], limit_bytes=1600 * MI, terminations=(died,))
    decision = c3_look(c3(pods))
    assert victims(decision) == ["web"] and why(decision, "report") is Reason.LIMIT_OOM
    assert any("limit-oom" in n.key for n in decision.notices)


def test_moved_is_an_outcome_when_the_successor_raises_another_node() -> None:
    """Successors on a node that rose to ORANGE since: moved, not freed."""
    world = World.storm(24.52)
    world.step()
    world.now += 60
    world.fleet_levels = {"n2": Level.ORANGE, "n3": Level.GREEN}
    observation = world.observe()
    assert not isinstance(observation.cluster, Unknown)
    ref = next(ref for ref in observation.cluster.workloads if ref.name == "api")
    spark = replace(ref, namespace="batch", kind="Job", name="spark")
    facts = replace(observation.cluster.workloads[ref], ref=spark, pods=(PodPlacement("u", "n2", True, T0 + 5),))
    cluster = replace(observation.cluster, workloads={**observation.cluster.workloads, spark: facts})
    s = situation(replace(observation, cluster=cluster), world.policy, world.state, world.now)
    assert s.memory is not None
    assert assess(s, s.memory).kind == "moved"


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
