"""What is looked at although nobody called."""

from dataclasses import replace

from remediator.core.model import Isolation, Level, Phase, SignalKind, Unknown
from remediator.core.policy import Policy
from remediator.core.state import NodeState, OperatorSpec, Plan
from remediator.reconciler.resyncing import Resync, Wake
from tests.reconciler.world import Eyes, Shelf, StoredRecord, World, alert


def wakes(world: World) -> dict[str, Wake]:
    """Wakes by node."""
    eyes = Eyes(world)
    found = Resync(eyes, eyes, Shelf(world), Policy().alert_names).wakes()
    return {wake.signal.node: wake for wake in found}


def record(world: World, node: str, state: NodeState) -> None:
    """Put a record on the shelf."""
    world.records[node] = StoredRecord(node, state, resource_version="1")


def test_firing_alerts_are_read_back_at_their_highest_level() -> None:
    """All levels of a node fire in Prometheus; one wake comes of them."""
    world = World()
    eyes = Eyes(world)
    eyes.firing = lambda alertnames: [alert(Level.RED), alert(Level.YELLOW), alert(Level.ORANGE)]  # type: ignore[method-assign]
    (wake,) = Resync(eyes, eyes, Shelf(world), ()).wakes()
    assert wake.signal.level is Level.RED


def test_unfinished_records_are_looked_at() -> None:
    """An episode that somebody left (crash, lost webhook) goes on; a node at rest is left alone."""
    world = World()
    world.level = Level.GREEN
    record(world, "n2", NodeState(phase=Phase.SETTLING))
    record(world, "n3", NodeState(isolation=Isolation.CORDONED_BY_US))
    record(world, "n4", NodeState())
    assert set(wakes(world)) == {"n2", "n3"}
    assert wakes(world)["n2"].signal.kind is SignalKind.TIMER
    assert wakes(world)["n2"].after_seconds == 0


def test_a_quiet_phase_is_woken_at_its_due_time() -> None:
    """A cooldown's end is read back from the record, on Prometheus' clock."""
    world = World()
    world.level = Level.GREEN
    cooling = NodeState(phase=Phase.COOLING_DOWN, due_at=world.now + 100)
    record(world, "n2", cooling)
    record(world, "n3", replace(cooling, due_at=world.now - 5))
    assert wakes(world)["n2"].after_seconds == 100
    assert wakes(world)["n3"].after_seconds == 0


def test_a_node_that_carries_our_mark_is_looked_at_without_any_record() -> None:
    """A cordon of ours is found on the node itself when the record is lost."""
    world = World()
    world.level = Level.GREEN
    world.node = replace(world.node, annotations={"remediator.io/cordoned-by": "e1"})
    assert set(wakes(world)) == {"n1"}


def test_silent_sources_do_not_hide_the_others() -> None:
    """Without Prometheus the records are still read back."""
    world = World()
    eyes = Eyes(world)
    eyes.firing = lambda alertnames: Unknown("prometheus", "gone")  # type: ignore[method-assign]
    eyes.isolated_by_us = lambda: Unknown("kubernetes", "gone")  # type: ignore[method-assign]
    world.prometheus_gone = True
    record(world, "n2", NodeState(phase=Phase.ACTING))
    assert [wake.signal.node for wake in Resync(eyes, eyes, Shelf(world), ()).wakes()] == ["n2"]


def test_an_answered_plan_is_looked_at_at_once() -> None:
    """`kubectl patch nrem` reaches whichever replica resyncs first; a plan without an answer waits for its expiry."""
    world = World()
    world.level = Level.GREEN
    plan = Plan("p1", "n2", "e1", Level.RED, world.now, world.now + 600, 1, ())
    waiting = NodeState(phase=Phase.AWAITING_APPROVAL, plan=plan, due_at=plan.expires_at)
    for node, spec in (
        ("n2", OperatorSpec()),
        ("n3", OperatorSpec(approved_plan="p1")),
        ("n4", OperatorSpec(rejected_plan="p1")),
    ):
        world.records[node] = StoredRecord(node, waiting, spec, "1")
    assert {node: wake.after_seconds for node, wake in wakes(world).items()} == {"n2": 600, "n3": 0, "n4": 0}
