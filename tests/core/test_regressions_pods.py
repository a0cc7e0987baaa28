"""Regression cases D to G that are pure decisions, named by their ids."""

from dataclasses import replace

import pytest
from core_c3 import A1, c3, c3_look, c3_pods, c3_policy, evictions
from core_world import GI, MI, T0, World, memory, peer, situation, usage

from remediator.core.assessment import assess
from remediator.core.guards import storm_brake
from remediator.core.model import (
    Level,
    PodPlacement,
    Termination,
    Unknown,
)
from remediator.core.oom import OomClass, classify
from remediator.core.planner import recheck
from remediator.core.reason import Reason
from remediator.core.state import NodeState


def test_d02_no_second_eviction_before_the_first_has_settled() -> None:
    """A pod terminating for 40 s: the second alert at 10 s evicts nobody."""
    world = World.storm(24.52, termination_seconds=40)
    world.step(A1)
    done = len(world.done)
    for _ in range(8):
        world.now += 10
        world.step(A1)
    assert [a for a in world.done[done:] if a.kind == "evict"] == []


def test_e05_a_replaced_pod_is_dropped_right_before_the_act() -> None:
    """crunch-0 (here report) has another UID by now: not this one."""
    decision = c3_look(c3())
    action = evictions(decision)[0]
    pods = c3_pods()
    pods["report"] = replace(pods["report"], uid="uid-new")
    said = recheck(action, c3(pods), c3_policy(), T0 + 1)
    assert said is not None and said.reason is Reason.REPLACED_SINCE


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
