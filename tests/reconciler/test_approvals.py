"""A human's word from the record to the act, through any replica, with his name."""

from dataclasses import replace

from remediator.core.model import Mode, Phase
from tests.reconciler.world import POLICY, World, alert, timer

APPROVE = replace(POLICY, mode=Mode.APPROVE)


def test_a_plan_approved_in_the_record_runs_on_another_replica_once_and_by_name() -> None:
    """One replica proposed it, another performs it; the audit names the approver beside every act."""
    world = World()
    world.replica("a", APPROVE).reconcile(alert())
    plan = world.records["n1"].state.plan
    assert plan is not None and world.acts == []
    world.say("n1", {"approvedPlan": plan.id}, "ann")
    other = world.replica("b", APPROVE)
    other.reconcile(timer())
    acts = list(world.acts)
    assert acts[0] == "cordon:n1" and len(acts) > 2
    other.reconcile(timer())
    world.replica("a", APPROVE).reconcile(timer())
    assert world.acts == acts
    told = [line for line in world.audit if line["kind"] in ("intent", "result")]
    assert told and {line["approved_by"] for line in told} == {"ann"}
    assert world.records["n1"].state.plan is not None and world.records["n1"].state.plan.approved_by == "ann"


def test_a_plan_rejected_in_the_record_is_dropped_by_any_replica() -> None:
    """Nothing is done, the record is quiet again, and the audit holds who said no."""
    world = World()
    world.replica("a", APPROVE).reconcile(alert())
    plan = world.records["n1"].state.plan
    assert plan is not None
    world.say("n1", {"rejectedPlan": plan.id}, "ann")
    world.replica("b", APPROVE).reconcile(timer())
    state = world.records["n1"].state
    assert (state.phase, state.plan, world.acts) == (Phase.WATCHING, None, [])
    assert any("by ann" in str(line.get("reasons")) for line in world.audit)
