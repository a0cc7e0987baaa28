"""The storm of the drill, on the pure core."""

from core_world import World, storm_policy

from remediator.core.model import Isolation, Mode, Phase, Signal, SignalKind
from remediator.core.state import ActionKind, OperatorSpec, OutcomeKind


def storm_to_red() -> World:
    """82 % at minute 8, 89 % at 11, 93 % at 13."""
    world = World.storm(other_gib=17.5)
    world.step()
    world.run(180)
    world.other_gib = 21.9
    world.run(120)
    world.other_gib = 24.52
    return world


def test_yellow_notifies_once_and_touches_nothing() -> None:
    """YELLOW tells people once, and nothing is done."""
    world = World.storm(other_gib=17.5)
    world.run(180)
    assert [n.key for n in world.notices] == ["level:YELLOW"]
    assert world.done == []


def test_orange_drains_the_two_api_pods_only() -> None:
    """ORANGE takes the node's online API pods out of service and evicts nobody before 180 s."""
    world = storm_to_red()
    assert world.kinds() == ["drain_endpoints:api-1", "drain_endpoints:api-2"]


def test_red_cordons_then_evicts_two_spark_pods_and_the_shipper_in_one_plan() -> None:
    """RED closes the node first, then evicts in the order of the scores, and nobody else ever."""
    world = storm_to_red()
    world.run(5)
    expected = ["cordon", "taint", "evict:spark-1", "evict:spark-2", "evict:shipper-1"]
    assert world.kinds()[2:] == expected
    scores = [a.score for a in world.done if a.kind is ActionKind.EVICT]
    assert scores == sorted(scores, reverse=True)
    assert len({d.plan.id for d in world.decisions if d.plan and "evict" in str(d.plan.actions)}) <= 2
    world.run(120)
    assert world.kinds()[2:] == expected
    assert round(world.used_ratio, 2) == 0.59 or round(world.used_ratio, 2) == 0.6
    assert world.state.outcomes[-1].kind is OutcomeKind.RELIEVED
    assert world.state.phase is Phase.COOLING_DOWN


def test_release_is_asked_after_five_calm_minutes_and_given_on_request() -> None:
    """Endpoints return by themselves, the cordon waits for the operator."""
    world = storm_to_red()
    world.run(420)
    assert world.kinds()[-2:] == ["restore_endpoints:api-1", "restore_endpoints:api-2"]
    assert world.isolation is Isolation.RELEASABLE
    assert any("may it take pods again" in n.title for n in world.notices)
    world.run(60)
    assert world.unschedulable
    world.step(Signal(SignalKind.RELEASE, "n1", operator="anna"))
    assert world.kinds()[-2:] == ["untaint", "uncordon"]
    world.run(1200)
    assert (world.isolation, world.state.phase, world.state.due_at) == (Isolation.NONE, Phase.WATCHING, None)
    assert world.kinds()[-2:] == ["untaint", "uncordon"]


def test_release_by_spec_names_the_episode() -> None:
    """`spec.release` counts when it names the isolation's episode."""
    world = storm_to_red()
    world.run(420)
    world.spec = OperatorSpec(release="another-episode")
    world.run(30)
    assert world.unschedulable
    world.spec = OperatorSpec(release=world.state.isolation_episode_id)
    world.run(30)
    assert not world.unschedulable


def test_observe_mode_records_the_same_plan_and_touches_nothing() -> None:
    """In observe mode everything is decided and nothing done; cooldown follows, assessment does not."""
    world = World.storm(other_gib=24.52, policy=storm_policy(mode=Mode.OBSERVE))
    world.run(5)
    world.run(60)
    assert world.done == []
    assert [e.pod for e in world.state.evictions] == ["spark-1", "spark-2", "shipper-1"]
    assert all(e.observed_only for e in world.state.evictions)
    assert world.state.phase is Phase.COOLING_DOWN
    assert world.state.outcomes == ()
    plans = [d.plan for d in world.decisions if d.plan]
    assert len(plans) == 1
