"""Who is looked at when: one queue per node, a few workers, wake-ups, resync. Owns threads and time.

Invariants: a node is in at most one pass at a time; the newest signal of a kind wins; an operator's word is
never displaced by a weaker door; what does not fit is refused (`QueueFullError`), never dropped silently. It
knows nothing of memory, pods or decisions: it calls `reconcile(signal)` and keeps what that asks for.
"""

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable

from remediator import metrics
from remediator.core.model import Signal, SignalKind
from remediator.reconciler.resyncing import NotNowError, Wake

log = logging.getLogger(__name__)

Reconcile = Callable[[Signal], float | None]
"""One pass over the signal's node; seconds after which it wants to be called again, or None.

Raises NotNowError when the signal is to be brought again as it is."""
_OPERATOR = (SignalKind.APPROVAL, SignalKind.RELEASE)


_STORM_BODIES, _STORM_SECONDS = 20, 0.2
"""So many submissions within so short a time are a storm."""
_STORM_PAUSES = 2.0
"""How long passes rest in a storm, as a multiple of what the last one took."""


class QueueFullError(Exception):
    """No room for another node's signal; the sender must come again (503)."""


class Dispatcher:
    """Queues, workers and clocks around `reconcile`.

    `resync()` gives what must be looked at although nobody called: firing alerts, records with due times,
    nodes isolated by us. `capacity` counts waiting signals over all nodes. An alert that repeats what led to a pass
    less than `repeat_seconds` ago waits until they are over: faster than the rules are evaluated nothing can be new.
    While submissions storm in, passes go one at a time with a pause after each: threads of one process share its time,
    and whoever sends alerts must be answered.
    """

    def __init__(
        self,
        reconcile: Reconcile,
        resync: Callable[[], Iterable[Wake]],
        *,
        resync_seconds: float = 15.0,
        repeat_seconds: float = 0.0,
        workers: int = 4,
        capacity: int = 10_000,
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self._reconcile, self._resync, self._on_stop = reconcile, resync, on_stop
        self._resync_seconds, self._workers, self._capacity = resync_seconds, workers, capacity
        self._repeat_seconds = repeat_seconds
        self._passed: dict[tuple[str, ...], float] = {}
        """(node, key, firing) -> when a pass over this alert ended."""
        self._changed = threading.Condition()
        self._waiting: OrderedDict[str, OrderedDict[tuple[str, ...], Signal]] = OrderedDict()
        self._count = 0
        self._submitted: deque[float] = deque(maxlen=_STORM_BODIES)
        self._pause_until = 0.0
        self._traced: set[str] = set()
        self._running: dict[str, float] = {}
        """Node -> when its pass began."""
        self._due: dict[str, float] = {}
        self._later: dict[tuple[str, ...], tuple[float, Signal]] = {}
        self._stopping, self._resync_wanted = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._last_progress = time.monotonic()
        self._resynced_at: float | None = None

    # --- the doors -------------------------------------------------------------------------------------

    def submit(self, signal: Signal) -> None:
        """Queue a signal.

        QueueFullError when there is no room and it replaces nothing, or when we are stopping.
        """
        self.submit_all((signal,))

    def submit_all(self, signals: Iterable[Signal]) -> None:
        """Queue all signals or none of them, so that a sender told 503 can repeat the whole."""
        with self._changed:
            self._submitted.append(time.monotonic())
            fresh = {(signal.node, *_key(signal)): signal for signal in signals}
            new = sum(1 for signal in fresh.values() if not self._is_waiting(signal))
            if self._stopping.is_set() or self._count + new > self._capacity:
                metrics.QUEUE_REFUSED.inc()
                raise QueueFullError(f"{self._count} signals are waiting, {self._capacity} fit")
            # Only as many workers as have something new to see: waking all of them for each of 500 alerts a second
            # cost more than the alerts.
            self._changed.notify(sum(self._put_or_rest(signal) for signal in fresh.values()))

    def wake(self, node: str, after_seconds: float) -> None:
        """Look at the node after a while; the earliest wish stands."""
        with self._changed:
            at = time.monotonic() + max(0.0, after_seconds)
            self._due[node] = min(at, self._due.get(node, at))
            self._changed.notify_all()

    def resync_soon(self) -> None:
        """Read firing alerts and records back now: somebody was told that alerts are missing."""
        self._resync_wanted.set()

    # --- what others may ask ---------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Signals that wait."""
        with self._changed:
            return self._count

    def idle(self) -> bool:
        """Nothing waits and nothing runs (due times in the future do not count)."""
        with self._changed:
            return not self._waiting and not self._running

    def seconds_without_progress(self) -> float:
        """0 while there is nothing to do.

        Else seconds since a worker last took or ended a pass (liveness).
        """
        with self._changed:
            return time.monotonic() - self._last_progress if self._waiting or self._running else 0.0

    @property
    def stopping(self) -> bool:
        """True from the moment `stop` is called: passes end after the step in hand."""
        return self._stopping.is_set()

    def seconds_since_resync(self) -> float | None:
        """Seconds since the last resync that worked; None before the first."""
        return None if self._resynced_at is None else time.monotonic() - self._resynced_at

    # --- life ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start workers and the resync, which runs at once: the cluster is the truth."""
        targets = [self._work] * self._workers + [self._keep_resyncing]
        for number, target in enumerate(targets):
            thread = threading.Thread(target=target, name=f"dispatcher-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self, timeout_seconds: float = 20.0) -> None:
        """Finish the steps in hand, take nothing new, then hand over (leases). Safe to call twice."""
        if self._stopping.is_set():
            return
        with self._changed:
            self._stopping.set()
            self._resync_wanted.set()
            self._changed.notify_all()
        deadline = time.monotonic() + timeout_seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._on_stop()

    # --- inside ----------------------------------------------------------------------------------------

    def _is_waiting(self, signal: Signal) -> bool:
        return _key(signal) in self._waiting.get(signal.node, {})

    def _put_or_rest(self, signal: Signal) -> bool:
        """Whether a worker has something new to see; what displaces an older signal is found in its place."""
        until = self._passed.get(_passed_key(signal), float("-inf")) + self._repeat_seconds
        if until <= time.monotonic() or self._is_waiting(signal):
            before = self._count
            self._put(signal)
            return self._count > before
        key = (signal.node, *_key(signal))
        new = key not in self._later
        self._later[key] = (until, signal)
        return new

    def _put(self, signal: Signal) -> None:
        signals = self._waiting.setdefault(signal.node, OrderedDict())
        self._count += _key(signal) not in signals
        signals[_key(signal)] = signal
        metrics.QUEUE_LENGTH.set(self._count)

    def _work(self) -> None:
        while (signal := self._take()) is not None:
            after: float | None = None
            try:
                after = self._reconcile(signal)
                self._rest(signal)
            except NotNowError as not_now:
                log.info("%s: %s; again in %.1f s", signal.node, not_now, not_now.after_seconds)
                self._again(signal, not_now.after_seconds)
            except Exception as error:
                metrics.PASSES_FAILED.inc()
                self._log_failure(f"a pass over {signal.node} failed", error)
                self._again(signal, self._resync_seconds)
            finally:
                self._done(signal.node, after)

    def _rest(self, signal: Signal) -> None:
        if signal.kind is SignalKind.ALERT and self._repeat_seconds:
            with self._changed:
                now = time.monotonic()
                if len(self._passed) > self._capacity:
                    self._passed = {k: at for k, at in self._passed.items() if at + self._repeat_seconds > now}
                self._passed[_passed_key(signal)] = now

    def _again(self, signal: Signal, after_seconds: float) -> None:
        """The very signal comes again: an operator's word must not be lost to a replica that was in the way."""
        with self._changed:
            self._later[signal.node, *_key(signal)] = (time.monotonic() + after_seconds, signal)

    def _log_failure(self, what: str, error: Exception) -> None:
        """With its trace the first time; a cluster that is away for an hour must not fill the disk."""
        told = f"{type(error).__name__}: {error}"
        first = told not in self._traced
        self._traced = (self._traced | {told}) if len(self._traced) < 100 else {told}
        log.error("%s: %s", what, told, exc_info=error if first else None)

    def _take(self) -> Signal | None:
        """The next signal whose node is free; waits for one; None when stopping."""
        with self._changed:
            while not self._stopping.is_set():
                self._move_due()
                node = next((name for name in self._waiting if name not in self._running), None)
                if node is None:
                    self._changed.wait(self._seconds_to_next_due())
                elif (pause := self._pause_seconds()) > 0:
                    self._changed.wait(pause)
                else:
                    return self._begin(node)
            return None

    def _pause_seconds(self) -> float:
        """How long a storm of submissions holds the next pass back."""
        now = time.monotonic()
        if len(self._submitted) < _STORM_BODIES or now - self._submitted[0] > _STORM_SECONDS:
            return 0.0
        return _STORM_SECONDS if self._running else max(0.0, self._pause_until - now)

    def _begin(self, node: str) -> Signal:
        signals = self._waiting[node]
        _, signal = signals.popitem(last=False)
        self._count -= 1
        # A node with more signals goes to the end: no node starves another.
        del self._waiting[node]
        if signals:
            self._waiting[node] = signals
        self._due.pop(node, None)
        self._running[node] = self._last_progress = time.monotonic()
        metrics.QUEUE_LENGTH.set(self._count)
        return signal

    def _done(self, node: str, after: float | None) -> None:
        with self._changed:
            self._last_progress = time.monotonic()
            took = self._last_progress - self._running.pop(node)
            self._pause_until = self._last_progress + _STORM_PAUSES * took
            if after is not None:
                at = self._last_progress + max(0.0, after)
                self._due[node] = min(at, self._due.get(node, at))
            self._changed.notify_all()

    def _move_due(self) -> None:
        now = time.monotonic()
        for key in [key for key, (at, signal) in self._later.items() if at <= now and signal.node not in self._running]:
            _, signal = self._later.pop(key)
            if not self._is_waiting(signal):
                self._put(signal)
        for node in [name for name, at in self._due.items() if at <= now and name not in self._running]:
            del self._due[node]
            if node not in self._waiting:
                self._put(Signal(SignalKind.TIMER, node))

    def _seconds_to_next_due(self) -> float | None:
        times = [at for name, at in self._due.items() if name not in self._running]
        times += [at for at, signal in self._later.values() if signal.node not in self._running]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _keep_resyncing(self) -> None:
        while not self._stopping.is_set():
            try:
                for wake in self._resync():
                    self._accept(wake)
                self._resynced_at = time.monotonic()
            except Exception as error:
                metrics.RESYNCS_FAILED.inc()
                self._log_failure(f"resync failed, again in {self._resync_seconds:.1f} s", error)
            self._resync_wanted.wait(self._resync_seconds)
            self._resync_wanted.clear()

    def _accept(self, wake: Wake) -> None:
        if wake.after_seconds > 0:
            self.wake(wake.signal.node, wake.after_seconds)
            return
        try:
            self.submit(wake.signal)
        except QueueFullError:
            log.warning("the queue is full: %s waits for the next resync", wake.signal.node)


def _passed_key(signal: Signal) -> tuple[str, ...]:
    return (signal.node, *_key(signal), signal.kind, str(signal.firing))


def _key(signal: Signal) -> tuple[str, ...]:
    """Signals with one key displace each other: same door for operators, same alert and level for the rest.

    Timers carry nothing, and a resync says no more than an alert of its name does.
    """
    if signal.kind in _OPERATOR:
        return (signal.kind, signal.plan_id)
    return ("", signal.alertname, str(signal.level))
