"""What was taken is given back: isolation, endpoints, and who may stop that."""

from collections import Counter
from dataclasses import replace

import pytest
from core_world import T0, World, storm_policy

from remediator.core.model import (
    Isolation,
    Mode,
    Signal,
    SignalKind,
    Taint,
    Unknown,
)
from remediator.core.planner import decide
from remediator.core.reason import Reason
from remediator.core.state import (
    Action,
    ActionKind,
    ActionStatus,
    OperatorSpec,
)

RED_GIB = 24.52


def reasons(world: World) -> set[Reason]:
    """Reasons of the last decision."""
    return {reason.reason for reason in world.decisions[-1].reasons}


def evicted(world: World) -> list[str]:
    """Pods evicted, in order."""
    return [action.pod for action in world.done if action.kind is ActionKind.EVICT]


def test_a_humans_uncordon_is_respected() -> None:
    """Somebody opens the node: our taint goes too, and the isolation is left alone for the cooldown."""
    world = World.storm(RED_GIB)
    world.run(20)
    world.unschedulable = False
    world.step()
    assert world.isolation is Isolation.NONE
    assert world.state.hands_off_until is not None
    assert (world.taints, world.annotations) == ((), {})
    count = Counter(world.kinds())["cordon"]
    world.run(300)
    assert Counter(world.kinds())["cordon"] == count == 1


def test_our_own_mark_is_adopted_when_the_record_was_lost() -> None:
    """A cordon with our annotation is ours, whatever the record says."""
    marks = {"remediator.io/cordoned-by": "n1-old", "remediator.io/cordoned-at": "2027-01-15T08:00:00+00:00"}
    taints = (Taint("memory-pressure", "critical", "NoSchedule"),)
    world = World.storm(0.0, unschedulable=True, annotations=marks, taints=taints)
    world.step()
    assert world.state.isolated_at == T0
    assert (world.isolation, world.state.isolation_episode_id) == (Isolation.CORDONED_BY_US, "n1-old")


def test_a_foreign_cordon_is_never_touched() -> None:
    """A node cordoned by somebody else is not ours to open."""
    world = World.storm(0.0, unschedulable=True)
    world.run(900)
    assert (world.isolation, world.done) == (Isolation.NONE, [])


def test_release_auto_lifts_without_asking() -> None:
    """`release: auto` uncordons after five calm minutes."""
    world = World.storm(RED_GIB, policy=storm_policy(release="auto"))
    world.run(420)
    assert world.kinds()[-2:] == ["untaint", "uncordon"]
    assert world.isolation is Isolation.NONE


def test_pressure_takes_back_that_the_node_is_releasable() -> None:
    """A node that was calm and is not any more is not released by a late answer."""
    world = World.storm(RED_GIB)
    world.run(420)
    world.other_gib += 12
    world.run(10)
    assert world.isolation is Isolation.CORDONED_BY_US
    world.step(Signal(SignalKind.RELEASE, "n1"))
    assert world.unschedulable


def test_a_forgotten_cordon_is_told_again() -> None:
    """A cordon of ours older than an hour is told."""
    world = World.storm(RED_GIB)
    world.run(120)
    world.run(3700, every=60)
    assert any(n.key.startswith("forgotten:") for n in world.notices)


def test_off_and_paused_stop_even_undo() -> None:
    """`off` leaves the node alone, isolation included."""
    for spec in (OperatorSpec(mode=Mode.OFF), OperatorSpec(paused=True)):
        world = World.storm(RED_GIB, policy=storm_policy(release="auto"))
        world.run(60)
        done = len(world.done)
        world.spec = spec
        world.run(600)
        assert len(world.done) == done


def test_silences_never_stop_undo() -> None:
    """Alertmanager away: nothing is done, but what was taken is given back."""
    world = World.storm(RED_GIB, policy=storm_policy(release="auto"))
    world.run(120)
    world.silences = Unknown("alertmanager", "connection refused")
    world.run(300)
    assert world.kinds()[-2:] == ["untaint", "uncordon"]


def test_blindness_is_told_once_and_stops_the_clock_of_calm() -> None:
    """Unknown memory is neither calm nor alarming."""
    world = World.storm(RED_GIB)
    world.run(120)
    blind = Unknown("prometheus", "no answer")
    for _ in range(3):
        world.now += 15
        observation = replace(world.observe(), memory=blind)
        decision = decide(world.state, Signal(SignalKind.TIMER, "n1"), observation, world.policy, world.now)
        world.state = decision.next_state
        world.notices += decision.notices
    assert world.state.green_since is None
    assert [n.key for n in world.notices].count("held:data_unknown") == 1
    assert decision.plan is None and decision.requeue_after_seconds is not None


def test_failing_undo_backs_off_too() -> None:
    """An uncordon that is refused is asked again later, not at once."""
    tried: list[float] = []
    world = World.storm(RED_GIB, policy=storm_policy(release="auto"))
    world.run(300)

    def fail(action: Action) -> tuple[ActionStatus, Reason] | None:
        if action.kind is not ActionKind.UNCORDON:
            return None
        tried.append(world.now)
        return ActionStatus.FAILED, Reason.API_ERROR

    world.responder = fail
    world.run(200, every=1)
    assert 1 < len(tried) < 10


def test_from_observe_to_enforce_nothing_observed_is_taken_for_real() -> None:
    """An isolation and drains that were only recorded do not outlive observe mode."""
    world = World.storm(RED_GIB, policy=storm_policy(mode=Mode.OBSERVE))
    world.step()
    assert (world.isolation, world.state.isolation_observed) == (Isolation.CORDONED_BY_US, True)
    world.spec = OperatorSpec(mode=Mode.ENFORCE)
    world.run(700)
    assert world.kinds()[:3] == ["cordon", "taint", "evict:spark-1"]


def test_an_isolation_that_was_only_recorded_ends_by_itself_and_asks_nobody() -> None:
    """In observe mode nobody is called to open a node that was never closed, not even hours later."""
    world = World.storm(RED_GIB, policy=storm_policy(mode=Mode.OBSERVE))
    world.run(60)
    world.other_gib = 1.0
    world.run(2 * 3600)
    assert (world.isolation, world.done) == (Isolation.NONE, [])
    assert "Would give back on node n1" in [notice.title for notice in world.notices]
    assert not [notice for notice in world.notices if "remediator release" in notice.text]


def test_a_release_granted_early_is_remembered_until_the_node_is_calm() -> None:
    """The operator need not ask twice; the answer says what it waits for."""
    world = World.storm(RED_GIB)
    world.run(60)
    world.step(Signal(SignalKind.RELEASE, "n1", operator="anna"))
    assert Reason.NOT_CALM_YET in reasons(world) and world.unschedulable
    world.run(420)
    assert not world.unschedulable
    assert world.state.release_granted == ""


def test_a_cordon_that_a_human_set_after_lifting_ours_is_not_adopted() -> None:
    """Our mark may be left on the node; without our taint the cordon is not ours."""
    world = World.storm(0.0, unschedulable=True, annotations={"remediator.io/cordoned-by": "n1-old"})
    world.run(900)
    assert (world.isolation, world.done) == (Isolation.NONE, [])


@pytest.mark.parametrize("reason", [Reason.NOT_OURS, Reason.ALREADY_GONE])
def test_undo_that_finds_nothing_of_ours_is_over(reason: Reason) -> None:
    """The taint was removed by hand, the drained pod is gone: nobody tries for ever."""
    world = World.storm(RED_GIB, policy=storm_policy(release="auto"))
    world.responder = lambda a: (ActionStatus.SKIPPED, reason) if a.undo else None
    world.run(500)
    assert (world.isolation, world.state.drained) == (Isolation.NONE, ())
    assert world.state.refused == ()
