"""Killed after every single step, restarted or taken over: the same end, nobody evicted twice."""

from collections import Counter

import pytest

from remediator.core.model import Isolation, Phase
from tests.reconciler.world import Crash, World, alert, run, timer

VICTIMS = ["uid-shipper", "uid-spark-a", "uid-spark-b"]


def steps_of_an_episode() -> int:
    """How many calls to the outside the first pass makes: every one is a place to die."""
    world = World()
    world.replica().reconcile(alert())
    return world.calls


@pytest.mark.parametrize("step", range(1, steps_of_an_episode() + 1))
@pytest.mark.parametrize("successor", ["a", "b"])
def test_every_interrupted_prefix_comes_to_the_same_end(step: int, successor: str) -> None:
    """A replica killed at this step, and its restart (or another one after the leases ran out), end the episode alike.

    The world asserts that no terminating pod is evicted; here: the same victims, the node isolated and
    settled, and every act announced by an intent line.
    """
    world = World()
    world.red_above = 0.65  # RED until the target is reached, as a latched level is
    world.die_at = step
    with pytest.raises(Crash):
        world.replica("a").reconcile(alert())
    world.die_at = None
    if successor != "a":
        world.leases.clear()  # they expire
    world.tick(1)
    run(world, world.replica(successor), timer(), until=300)
    assert sorted(world.evictions) == VICTIMS
    assert world.node.unschedulable
    state = world.records["n1"].state
    assert state.isolation is Isolation.CORDONED_BY_US
    assert state.phase is Phase.COOLING_DOWN
    assert sorted(eviction.uid for eviction in state.evictions) == VICTIMS
    intents = {line["action"]["kind"] + ":" + (line["action"]["pod_uid"] or "n1") for line in lines(world, "intent")}
    assert set(world.acts) <= intents
    assert unanswered(world) == []


def unanswered(world: World) -> list[tuple[str, ...]]:
    """Acts that were announced more often than their end was told: by a result, or by who found them abandoned."""
    count: Counter[tuple[str, ...]] = Counter()
    for line in world.audit:
        if line["kind"] in ("intent", "result", "abandoned"):
            key = (line["plan_id"], line["action"]["kind"], line["action"]["pod_uid"] or "n1")
            count[key] += 1 if line["kind"] == "intent" else -1
    return [key for key, left in count.items() if left > 0]


def lines(world: World, kind: str) -> list[dict[str, dict[str, str]]]:
    """Audit lines of a kind."""
    return [dict(line) for line in world.audit if line["kind"] == kind]


def test_killed_again_and_again_it_still_ends() -> None:
    """A replica that dies at every third step of its life makes progress all the same."""
    world = World()
    world.red_above = 0.65
    for _ in range(40):
        world.die_at = world.calls + 9
        try:
            run(world, world.replica(), alert(), until=60)
        except Crash:
            world.tick(1)
    world.die_at = None
    run(world, world.replica(), timer(), until=300)
    assert sorted(world.evictions) == VICTIMS
