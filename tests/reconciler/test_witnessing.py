"""What a pass tells beside its decision: changes of level, deaths, and who stood in the way; each once."""

from dataclasses import replace
from typing import Any

from remediator.core.model import Level, Mode, Termination, Tier, WorkloadRef
from remediator.core.policy import BusinessRule
from remediator.core.reason import Reason
from remediator.core.state import RankedPod
from remediator.reconciler.witnessing import UNTOUCHED, untouched
from tests.reconciler.world import POLICY, World, alert, timer

WATCHING = replace(POLICY, mode=Mode.OBSERVE)


def lines(world: World, kind: str) -> list[Any]:
    """Audit lines of a kind."""
    return [line for line in world.audit if line["kind"] == kind]


def changed(world: World, name: str, **facts: Any) -> None:
    """Something happened to a pod of the world."""
    uid = f"uid-{name}"
    each, size = world.pods[uid]
    world.pods[uid] = replace(each, **facts), size


def test_a_change_of_level_is_told_once_by_whoever_sees_it_first() -> None:
    """Two replicas and a restart look at the node: each change is one line, with the level before."""
    world = World()
    world.level = Level.YELLOW
    for name in ("a", "b"):
        world.replica(name, WATCHING).reconcile(alert(Level.YELLOW))
    world.level = Level.RED
    for name in ("b", "a", "c"):
        world.replica(name, WATCHING).reconcile(timer())
    told = [(line["level_before"], line["level"], line["used_ratio"]) for line in lines(world, "level")]
    assert told == [(None, "YELLOW", 0.9375), ("YELLOW", "RED", 0.9375)]


def test_an_oom_kill_is_told_once_with_its_class_and_the_level_then() -> None:
    """However many passes see it; a second kill of the same container is another one."""
    world = World()
    reconciler = world.replica(policy=WATCHING)
    changed(world, "api", terminations=(Termination("main", "OOMKilled", 137, world.now - 5, 1, Level.RED),))
    for _ in range(3):
        reconciler.reconcile(timer())
    changed(world, "api", terminations=(Termination("main", "OOMKilled", 137, world.now - 1, 2, Level.RED),))
    reconciler.reconcile(timer())
    told = lines(world, "oom_kill")
    assert [line["died_at"] for line in told] == [world.now - 5, world.now - 1]
    assert {(line["workload"], line["tier"], line["class"], line["level"]) for line in told} == {
        ("shop/Deployment/api", "important", "node-oom", "RED")
    }


def test_an_eviction_by_the_kubelet_is_told_once_and_old_ones_never() -> None:
    """For memory, and within the last half hour: evicted pods stay listed for days."""
    world = World()
    evicted = {"phase": "Failed", "status_reason": "Evicted", "status_message": "The node was low on resource: memory."}
    changed(world, "api", **evicted, ended_at=world.now - 10)
    changed(world, "kafka", **evicted, ended_at=world.now - 3600)
    changed(world, "shipper", **{**evicted, "status_message": "low on ephemeral-storage"}, ended_at=world.now - 10)
    reconciler = world.replica(policy=WATCHING)
    for _ in range(3):
        reconciler.reconcile(timer())
    assert [(line["pod"], line["died_at"]) for line in lines(world, "kubelet_eviction")] == [("api-0", world.now - 10)]


def test_a_decision_names_who_stood_in_the_way() -> None:
    """By workload and reason, with its bytes, the largest first; only where the decision is news."""
    world = World()
    policy = replace(WATCHING, business=(BusinessRule(Tier.CRITICAL, namespace="data"),))
    reconciler = world.replica(policy=policy)
    reconciler.reconcile(alert())
    reconciler.reconcile(alert())
    told = [line["untouched"] for line in lines(world, "decision")]
    named = [(each["workload"], each["reason"], each["tier"], each["releasable_bytes"] >> 30) for each in told[0]]
    assert named == [
        ("data/StatefulSet/kafka", "tier_critical", "critical", 8),
        ("logging/Deployment/shipper", "undeclared", None, 3),
        ("shop/Deployment/api", "undeclared", None, 3),
    ]


def test_an_undeclared_workload_is_named_behind_any_number_of_others() -> None:
    """The ten largest, and the undeclared ones beside them; pods of a workload are added up."""

    def row(name: str, size: int, reason: Reason) -> RankedPod:
        ref = WorkloadRef("ns", "Deployment", name)
        return RankedPod("ns", f"{name}-0", name, ref, None, 0, "Burstable", size, 0, size, None, reason)

    many = [row(f"big-{n:02}", 1000 + n, Reason.HAS_VOLUME) for n in range(20)]
    named = untouched([*many, row("small", 1, Reason.UNDECLARED), row("small", 2, Reason.UNDECLARED)])
    assert len(named) == UNTOUCHED + 1
    assert (named[0]["workload"], named[-1]["workload"]) == ("ns/Deployment/big-19", "ns/Deployment/small")
    assert (named[-1]["pods"], named[-1]["releasable_bytes"]) == (2, 3)
