"""Regression cases D to G that are pure decisions, named by their ids."""

from dataclasses import replace

import pytest
from core_c3 import A1, c3, c3_look, c3_pods, c3_policy, c3_usages, evictions, victims
from core_world import GI, MI, T0, World, memory, peer, situation, usage

from remediator.core.assessment import assess
from remediator.core.guards import storm_brake
from remediator.core.model import (
    BudgetFacts,
    Level,
    NodeFacts,
    Phase,
    PodPlacement,
    Termination,
    Unknown,
)
from remediator.core.oom import OomClass, classify
from remediator.core.planner import recheck
from remediator.core.reason import Reason
from remediator.core.state import Decision, EvictionRecord, FleetFacts, NodeState


def reasons(decision: Decision) -> set[Reason]:
    """Reasons of a decision."""
    return {reason.reason for reason in decision.reasons}


def why(decision: Decision, name: str) -> Reason:
    """Why not this pod."""
    return next(row.reason for row in decision.ranking if row.pod.startswith(name))


def body(*alerts: object, **kw: object) -> dict[str, object]:
    """A webhook body."""
    return {"version": "4", "status": "firing", "alerts": list(alerts), **kw}


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
