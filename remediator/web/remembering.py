"""An answer that serves everybody who asks within a few seconds: a wall screen must not cost Prometheus anything."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Remembered(Generic[_T]):
    """Calls `ask` at most once per `seconds`; who comes meanwhile gets the same answer. An exception is not kept."""

    def __init__(self, ask: Callable[[], _T], *, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._seconds, self._clock = ask, seconds, clock
        self._lock = threading.Lock()
        self._kept: tuple[float, _T] | None = None

    def __call__(self) -> _T:
        """The answer, fresh or remembered."""
        with self._lock:
            now = self._clock()
            if self._kept is None or now - self._kept[0] >= self._seconds:
                self._kept = now, self._ask()
            return self._kept[1]
