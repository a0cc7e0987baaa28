"""Whose turn it is: the node's lease (who acts on a node) and the turn (who may take a place or spend a cap).

Leases order the replicas; the fence is still the record's resourceVersion. The turn is one lease for all
nodes, held only from a fresh look at the fleet until the record is written, so that two nodes cannot both
take the last place or spend the same eviction of the hour. A local lock stands before it, for leases do not
tell our own threads apart.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from remediator.reconciler.ports import Leases

TURN = "remediator-slot-0"
_TRIES = 12
_PAUSE_SECONDS = 0.05
_RENEW_SECONDS = 5.0


def node_lease(node: str) -> str:
    """Name of the node's Lease; hashed, for a node's name may be longer than a Lease's."""
    return f"remediator-node-{hashlib.sha256(node.encode()).hexdigest()[:16]}"


class Places:
    """Takes and gives back leases around the steps that need them."""

    def __init__(
        self,
        leases: Leases,
        *,
        pause: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leases, self._pause, self._monotonic = leases, pause, monotonic
        self._local_turn = threading.Lock()
        self._held: dict[str, float] = {}

    @contextmanager
    def node(self, node: str) -> Iterator[bool]:
        """Hold the node's lease; yields False when another replica acts on the node."""
        name = node_lease(node)
        held = self._leases.acquire(name)
        if not held:
            yield False
            return
        self._held[name] = self._monotonic()
        try:
            yield True
        finally:
            self._held.pop(name, None)
            self._leases.release(name)

    def still_ours(self, node: str) -> bool:
        """Renew the node's lease when it is getting old; False when it was lost."""
        name = node_lease(node)
        if self._monotonic() - self._held.get(name, float("-inf")) < _RENEW_SECONDS:
            return True
        if not self._leases.acquire(name):
            return False
        self._held[name] = self._monotonic()
        return True

    @contextmanager
    def turn(self, needed: bool) -> Iterator[bool]:
        """Hold the turn, if it is needed; yields False when it did not come within about half a second."""
        if not needed:
            yield True
            return
        with self._local_turn:
            held = self._won()
            try:
                yield held
            finally:
                if held:
                    self._leases.release(TURN)

    def _won(self) -> bool:
        for left in range(_TRIES, 0, -1):
            if self._leases.acquire(TURN):
                return True
            if left > 1:
                self._pause(_PAUSE_SECONDS)
        return False

    def release_all(self) -> None:
        """On stopping: give back what is still held, so that nobody waits for the expiry."""
        for name in tuple(self._held):
            self._held.pop(name, None)
            self._leases.release(name)
