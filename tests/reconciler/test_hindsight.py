"""The node's level at the moment of a kill."""

from collections.abc import Mapping, Sequence

import pytest

from remediator.core.model import ClusterFacts, Level, NodeFacts, PodFacts, Termination, Unknown
from remediator.reconciler.hindsight import with_levels


def cluster(*terminations: Termination) -> ClusterFacts:
    """One pod on n1 that ended so."""
    return ClusterFacts(NodeFacts("n1"), (PodFacts("shop", "web-1", "uid-1", terminations=terminations),))


class Memory:
    """Prometheus' memory of n1; remembers what it was asked."""

    def __init__(self, answer: Mapping[float, Level] | Unknown) -> None:
        self.answer, self.asked = answer, []

    def __call__(self, node: str, times: Sequence[float]) -> Mapping[float, Level] | Unknown:
        self.asked.append((node, list(times)))
        return self.answer


def killed(at: float, reason: str = "OOMKilled", exit_code: int = 137) -> Termination:
    """A kill at that moment."""
    return Termination("web", reason, exit_code, at)


def test_each_kill_gets_the_level_of_its_own_moment() -> None:
    """A moment that Prometheus does not know stays unknown."""
    memory = Memory({100.0: Level.RED})
    found = with_levels(cluster(killed(100.0), killed(50.0)), memory)
    assert isinstance(found, ClusterFacts)
    assert [t.level_at for t in found.pods[0].terminations] == [Level.RED, None]
    assert memory.asked == [("n1", [50.0, 100.0])]


@pytest.mark.parametrize("ended", [(), (killed(9.0, "Completed", 0), killed(8.0, "Error", 1))], ids=["none", "others"])
def test_without_a_kill_nothing_is_asked(ended: tuple[Termination, ...]) -> None:
    """The question costs a round trip, and most nodes never need it."""
    memory = Memory({})
    with_levels(cluster(*ended), memory)
    assert memory.asked == []


def test_a_prometheus_that_does_not_know_changes_nothing() -> None:
    """The rest of what the cluster said stays usable."""
    facts = cluster(killed(100.0))
    assert with_levels(facts, Memory(Unknown("prometheus", "gone"))) == facts
    unknown = Unknown("kubernetes", "gone")
    assert with_levels(unknown, Memory({})) is unknown
