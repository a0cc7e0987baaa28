"""Explaining a moment that is over: what is of then, what is of now, and what nobody can know any more."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from remediator.core.model import Level, PodUsage, Termination, Unknown
from remediator.core.state import NodeState
from remediator.reconciler.explanation import explained
from remediator.reconciler.past import Past, as_of
from tests.reconciler.world import GIB, StoredRecord, World, pod


@dataclass
class Memory:
    """Prometheus' history."""

    below: float | Unknown | None = 9_000.0
    names: Mapping[str, tuple[str, str]] | Unknown = field(default_factory=dict)

    def pod_names(self, node: str) -> Mapping[str, tuple[str, str]] | Unknown:
        """As kube-state-metrics knew them."""
        return self.names

    def last_below(self, node: str, level: Level, window_seconds: float) -> float | Unknown | None:
        """The beginning of the level."""
        return self.below


def past(world: World, history: Memory | None = None) -> Past:
    """n1 as of the world's time."""
    return as_of(world.replica().question("n1"), world.now, history or Memory())


def pods(found: Past) -> list[str]:
    """Names of the pods that are looked at."""
    cluster = found.question.observation.cluster
    assert not isinstance(cluster, Unknown)
    return [each.name for each in cluster.pods]


def test_pods_that_did_not_exist_yet_are_left_out_and_named() -> None:
    """A successor of now says nothing about then."""
    world = World()
    young = replace(pod("batch", "late", 1), created_at=world.now + 60)
    world.pods[young.uid] = (young, GIB)
    found = past(world)
    assert "late-0" not in pods(found) and found.younger == ("batch/late-0",)


def test_what_happened_to_a_pod_later_is_not_held_against_it() -> None:
    """Its termination, its end and its crashes of later are undone."""
    world = World()
    uid = "uid-spark-a"
    spark, size = world.pods[uid]
    later = Termination("c", "OOMKilled", 137, world.now + 9)
    changed = replace(
        spark, terminating_since=world.now + 5, phase="Failed", ended_at=world.now + 9, terminations=(later,)
    )
    world.pods[uid] = (changed, size)
    row = next(row for row in explained(past(world).question)["ranking"] if row["uid"] == uid)
    assert row["chosen"]


def test_pods_that_are_gone_count_as_pods_and_cannot_be_chosen() -> None:
    """Their memory was pods' memory; what they were cannot be read any more."""
    world = World()
    question = world.replica().question("n1")
    usages = question.observation.usages
    assert not isinstance(usages, Unknown)
    more = {**usages, "uid-gone": PodUsage(9 * GIB, 9 * GIB, world.now), "old/nameless": PodUsage(GIB, GIB, world.now)}
    question = replace(question, observation=replace(question.observation, usages=more))
    found = as_of(question, world.now, Memory(names={"uid-gone": ("batch", "gone-1")}))
    told = found.told(explained(found.question))
    assert told["past"]["gone"] == [
        {"pod": "batch/gone-1", "usage_bytes": 9 * GIB},
        {"pod": "old/nameless", "usage_bytes": GIB},
    ]
    row = next(row for row in told["ranking"] if row["pod"] == "gone-1")
    assert not row["chosen"] and "gone since" in row["sentence"]


def test_nothing_remembered_is_used_but_the_level_is_as_old_as_history_says() -> None:
    """A cooldown of today does not hold back yesterday; ORANGE for an hour is not ORANGE since now."""
    world = World()
    world.records["n1"] = StoredRecord("n1", NodeState(cooldown_until=world.now + 300, level=Level.GREEN))
    found = past(world).question
    assert (found.state.cooldown_until, found.state.level, found.state.level_since) == (None, Level.RED, 9_000.0)
    assert found.observation.fleet.states == {}
    assert past(world, Memory(below=None)).question.state.level_since == world.now - 3600
    assert past(world, Memory(below=Unknown("prometheus", "gone"))).question.state == NodeState()


def test_a_silent_prometheus_leaves_the_moment_unknown() -> None:
    """No figure of now stands in for one of then."""
    world = World()
    world.prometheus_gone = True
    found = as_of(world.replica().question("n1"), 5_000.0, Memory())
    assert found.question.now == 5_000.0
    assert "unknown" in explained(found.question)["memory"]
