"""A value that is read again when it gets old, by one reader at a time; nobody waits while the old one still serves.

For what is large and only advises (the other nodes). What acts hang on is read when it is needed, never from here.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Refreshed(Generic[_T]):
    """The last value read; `usable_seconds` is the age beyond which it may no longer be used."""

    def __init__(
        self,
        read: Callable[[], _T],
        pool: Executor,
        *,
        fresh_seconds: float,
        usable_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._pool, self._monotonic = read, pool, monotonic
        self._fresh_seconds, self._usable_seconds = fresh_seconds, usable_seconds
        self._lock = threading.Lock()
        self._value: tuple[float, _T] | None = None
        self._reading: Future[_T] | None = None

    def get(self, wait_seconds: float, *, usable_seconds: float | None = None) -> _T:
        """The value, at most `usable_seconds` old. Raises what reading raises, TimeoutError after `wait_seconds`."""
        usable = self._usable_seconds if usable_seconds is None else usable_seconds
        with self._lock:
            age = self._monotonic() - self._value[0] if self._value is not None else float("inf")
            if self._value is not None and age <= min(self._fresh_seconds, usable):
                return self._value[1]
            if self._reading is None:
                self._reading = self._pool.submit(self._renew)
            if self._value is not None and age <= usable:
                return self._value[1]
            reading = self._reading
        return reading.result(max(0.0, wait_seconds))

    def renew_when_older(self, seconds: float) -> None:
        """Start reading when there is no value, or an older one; waits for nothing and raises nothing."""
        with self._lock:
            age = self._monotonic() - self._value[0] if self._value is not None else float("inf")
            if age > seconds and self._reading is None:
                self._reading = self._pool.submit(self._renew)

    def _renew(self) -> _T:
        started = self._monotonic()
        try:
            value = self._read()
            with self._lock:
                self._value = started, value
            return value
        finally:
            with self._lock:
                self._reading = None
