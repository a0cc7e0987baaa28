"""A plan that a human rejected: dropped, told, and not proposed again as it was."""

from dataclasses import replace

from core_world import World, storm_policy

from remediator.core.model import Mode, Phase
from remediator.core.reason import Reason
from remediator.core.state import OperatorSpec, Plan

RED_GIB, ORANGE_GIB = 24.52, 21.9


def waiting(world: World) -> Plan:
    """The plan that waits."""
    assert world.state.phase is Phase.AWAITING_APPROVAL and world.state.plan is not None
    return world.state.plan


def rejected(gib: float = RED_GIB) -> tuple[World, Plan]:
    """A world whose first plan ann rejected."""
    world = World.storm(gib, policy=storm_policy(mode=Mode.APPROVE))
    world.step()
    plan = waiting(world)
    world.spec = OperatorSpec(rejected_plan=plan.id, rejected_by="ann")
    world.step()
    return world, plan


def test_a_rejected_plan_is_dropped_and_told() -> None:
    """It is no plan any more, nothing was done, and people hear whose word it was, once."""
    world, plan = rejected()
    assert (world.state.phase, world.state.plan, world.done) == (Phase.WATCHING, None, [])
    world.run(60)
    told = [notice.title for notice in world.notices if notice.key == f"rejected:{plan.id}"]
    assert told == [f"Plan {plan.id} for node n1 was rejected by ann"]


def test_the_same_is_not_proposed_until_the_rejection_expires() -> None:
    """For the length of a plan's expiry passes say why not; afterwards a new plan asks again."""
    world, plan = rejected()
    world.run(500)
    assert world.state.plan is None
    assert world.decisions[-1].reasons[0].reason is Reason.PLAN_REJECTED
    world.run(120)
    assert waiting(world).id != plan.id
    assert world.done == []


def test_another_set_of_pods_is_proposed_at_once() -> None:
    """The rejection is of this plan: without one of its pods it is another question."""
    world, plan = rejected()
    uid = next(action.pod_uid for action in plan.actions if action.pod_uid)
    held, gib = world.pods[uid]
    world.pods[uid] = (replace(held, annotations={"remediator.io/evict": "false"}), gib)
    world.step()
    assert uid not in {action.pod_uid for action in waiting(world).actions}


def test_a_higher_level_asks_anew() -> None:
    """What was rejected at ORANGE is asked again at RED."""
    world, plan = rejected(ORANGE_GIB)
    world.other_gib = RED_GIB
    world.now += 30
    world.step()
    assert waiting(world).level > plan.level


def test_an_approval_is_in_the_plan_with_its_name() -> None:
    """Who approved it stands in the plan that runs, and so in the record."""
    world = World.storm(RED_GIB, policy=storm_policy(mode=Mode.APPROVE))
    world.step()
    world.spec = OperatorSpec(approved_plan=waiting(world).id, approved_by="bob")
    world.step()
    assert world.decisions[-1].plan is not None and world.decisions[-1].plan.approved_by == "bob"
    assert world.kinds()[0] == "cordon"


def test_a_rejected_escalation_ends_the_episode() -> None:
    """Whoever says no to the last resort ends the episode: the node cools down."""
    world, plan = rejected()
    stuck = replace(world.state, phase=Phase.ESCALATED, plan=plan, escalated_until=world.now + 600, episode_id="e")
    world.state = stuck
    world.step()
    assert world.state.phase is Phase.COOLING_DOWN
