"""Leases around passes."""

from dataclasses import dataclass, field

from remediator.reconciler.places import TURN, Places, node_lease


@dataclass
class Leases:
    """Leases that somebody else may hold; `freed_after` tries the holder lets go."""

    taken: set[str] = field(default_factory=set)
    held: list[str] = field(default_factory=list)
    tries: int = 0
    freed_after: int = 0

    def acquire(self, name: str) -> bool:
        """Not while somebody else holds it."""
        self.tries += 1
        if self.freed_after and self.tries > self.freed_after:
            self.taken.discard(name)
        if name in self.taken:
            return False
        self.held.append(name)
        return True

    def release(self, name: str) -> None:
        """Let go."""
        if name in self.held:
            self.held = [each for each in self.held if each != name]


def places(leases: Leases, now: list[float] | None = None) -> Places:
    """Places without real time."""
    clock = now if now is not None else [0.0]
    return Places(leases, pause=lambda seconds: None, monotonic=lambda: clock[0])


def test_a_lease_name_fits_any_node_name() -> None:
    """Node names may have 253 characters; the lease's is short, stable, and differs between nodes."""
    assert len(node_lease("n" * 253)) < 64
    assert node_lease("a") == node_lease("a") != node_lease("b")


def test_the_turn_is_waited_for_a_moment() -> None:
    """Two nodes at once: the second gets its turn when the first has written its record."""
    leases = Leases({TURN}, freed_after=3)
    with places(leases).turn(needed=True) as granted:
        assert granted
        assert leases.held == [TURN]
    assert leases.held == []


def test_a_turn_that_does_not_come_is_given_up() -> None:
    """A replica that died with the turn in hand holds others up only until they come again."""
    leases = Leases({TURN})
    with places(leases).turn(needed=True) as granted:
        assert not granted
    assert leases.tries < 20


def test_giving_back_needs_no_turn() -> None:
    """Undo plans never wait."""
    leases = Leases({TURN})
    with places(leases).turn(needed=False) as granted:
        assert granted
    assert leases.tries == 0


def test_a_lease_is_renewed_when_it_is_getting_old() -> None:
    """A long plan keeps its lease, and notices when it was lost."""
    now, leases = [0.0], Leases()
    kept = places(leases, now)
    with kept.node("n1") as ours:
        assert ours
        assert kept.still_ours("n1") and leases.tries == 1
        now[0] = 6.0
        assert kept.still_ours("n1") and leases.tries == 2
        leases.taken.add(node_lease("n1"))
        now[0] = 12.0
        assert not kept.still_ours("n1")


def test_what_is_held_at_the_end_is_given_back() -> None:
    """Stopping in the middle of a pass frees its lease at once."""
    leases = Leases()
    kept = places(leases)
    with kept.node("n1"):
        kept.release_all()
        assert leases.held == []
