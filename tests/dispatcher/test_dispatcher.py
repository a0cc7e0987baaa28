"""Queues, workers and wake-ups, driven without waiting for real time."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from remediator.core.model import Level, Signal, SignalKind
from remediator.dispatcher import Dispatcher, QueueFullError
from remediator.reconciler.resyncing import NotNowError, Wake


def alert(node: str, level: Level = Level.RED, name: str = "NodeMemoryPressure", mark: str = "") -> Signal:
    """A firing alert; `mark` tells two of one kind apart."""
    return Signal(SignalKind.ALERT, node, alertname=name, level=level, fingerprint=mark)


class Passes:
    """A reconcile that records, and can be held."""

    def __init__(self, after: float | None = None) -> None:
        self.seen: list[Signal] = []
        self.after = after
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Semaphore(0)
        self.at_once: set[str] = set()
        self.overlapped = False
        self.changed = threading.Condition()

    def __call__(self, signal: Signal) -> float | None:
        """One pass."""
        with self.changed:
            self.overlapped |= signal.node in self.at_once
            self.at_once.add(signal.node)
        self.entered.release()
        self.gate.wait(10)
        with self.changed:
            self.at_once.discard(signal.node)
            self.seen.append(signal)
            self.changed.notify_all()
        after, self.after = self.after, None
        return after

    def wait_for(self, condition: Callable[[list[Signal]], bool]) -> None:
        """Until the list of finished passes fulfils the condition."""
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self.seen), 10)


@contextmanager
def running(
    passes: Callable[[Signal], float | None],
    resync: Callable[[], Iterable[Wake]] = tuple,
    *,
    workers: int = 2,
    capacity: int = 100,
    repeat_seconds: float = 0.0,
) -> Iterator[Dispatcher]:
    """A started dispatcher that is stopped afterwards."""
    more = {"workers": workers, "capacity": capacity}
    dispatcher = Dispatcher(passes, resync, resync_seconds=60, repeat_seconds=repeat_seconds, **more)
    dispatcher.start()
    try:
        yield dispatcher
    finally:
        if isinstance(passes, Passes):
            passes.gate.set()
        dispatcher.stop(5)


def at_rest(dispatcher: Dispatcher) -> None:
    """Until no pass is running."""
    with dispatcher._changed:
        assert dispatcher._changed.wait_for(lambda: not dispatcher._running, 10)


def held(passes: Passes, dispatcher: Dispatcher, node: str = "busy") -> None:
    """Bring one worker into a pass that does not end."""
    passes.gate.clear()
    dispatcher.submit(alert(node))
    assert passes.entered.acquire(timeout=10)


def test_the_newest_signal_of_a_kind_wins() -> None:
    """Repeats of an alert that waits are one pass, with the newest content."""
    passes = Passes()
    with running(passes, workers=1) as dispatcher:
        held(passes, dispatcher)
        for mark in ("old", "newer", "newest"):
            dispatcher.submit(alert("n1", mark=mark))
        assert dispatcher.waiting == 1
        passes.gate.set()
        passes.wait_for(lambda seen: len(seen) == 2)
    assert [signal.fingerprint for signal in passes.seen] == ["", "newest"]


def test_different_alerts_of_one_node_are_all_looked_at() -> None:
    """An OOM-kill storm is not lost behind a pressure alert."""
    passes = Passes()
    with running(passes, workers=1) as dispatcher:
        held(passes, dispatcher)
        dispatcher.submit_all([alert("n1"), alert("n1", name="NodeOOMKillStorm")])
        passes.gate.set()
        passes.wait_for(lambda seen: len(seen) == 3)
    assert {signal.alertname for signal in passes.seen} == {"NodeMemoryPressure", "NodeOOMKillStorm"}


def test_an_operators_word_is_not_displaced() -> None:
    """A release that waits survives alerts, resyncs and timers of its node."""
    passes = Passes()
    with running(passes, workers=1) as dispatcher:
        held(passes, dispatcher)
        dispatcher.submit(Signal(SignalKind.RELEASE, "n1", operator="ann"))
        dispatcher.submit_all([alert("n1"), Signal(SignalKind.TIMER, "n1")])
        passes.gate.set()
        passes.wait_for(lambda seen: any(signal.operator == "ann" for signal in seen))


def test_a_node_is_never_in_two_passes_at_once() -> None:
    """Signals of a node that is being looked at wait, while other nodes go on."""
    passes = Passes()
    with running(passes, workers=3) as dispatcher:
        held(passes, dispatcher, "n1")
        dispatcher.submit_all([alert("n1"), alert("n2")])
        assert passes.entered.acquire(timeout=10)
        assert passes.at_once == {"n1", "n2"}
        passes.gate.set()
        passes.wait_for(lambda seen: len(seen) == 3)
    assert not passes.overlapped


def test_a_body_of_several_nodes_wakes_as_many_workers() -> None:
    """Alerts that come together are looked at together, as far as there are workers."""
    passes = Passes()
    passes.gate.clear()
    with running(passes, workers=3) as dispatcher:
        dispatcher.submit_all([alert("n1"), alert("n2"), alert("n3")])
        for _ in range(3):
            assert passes.entered.acquire(timeout=10)
        assert passes.at_once == {"n1", "n2", "n3"}
        passes.gate.set()
        passes.wait_for(lambda seen: len(seen) == 3)


def test_a17_a_full_queue_refuses_and_leaves_no_mark() -> None:
    """A17: what was refused is acted on when it comes again."""
    passes = Passes()
    with running(passes, workers=1, capacity=2) as dispatcher:
        held(passes, dispatcher)
        dispatcher.submit_all([alert("n1"), alert("n2")])
        with pytest.raises(QueueFullError, match="2 fit"):
            dispatcher.submit(alert("n3"))
        dispatcher.submit(alert("n1", mark="again"))  # replaces: needs no room
        passes.gate.set()
        passes.wait_for(lambda seen: len(seen) == 3)
        dispatcher.submit(alert("n3"))
        passes.wait_for(lambda seen: len(seen) == 4)
    assert passes.seen[-1].node == "n3"


def test_a_body_that_does_not_fit_is_refused_whole() -> None:
    """None of its alerts is queued, so that the sender's repeat brings them all."""
    passes = Passes()
    with running(passes, workers=1, capacity=2) as dispatcher:
        held(passes, dispatcher)
        with pytest.raises(QueueFullError):
            dispatcher.submit_all([alert("n1"), alert("n2"), alert("n3")])
        assert dispatcher.waiting == 0


def test_a_pass_that_asks_for_it_is_called_again() -> None:
    """The seconds a pass returns become a TIMER signal of its node."""
    passes = Passes(after=0.0)
    with running(passes) as dispatcher:
        dispatcher.submit(alert("n1"))
        passes.wait_for(lambda seen: len(seen) == 2)
    assert [signal.kind for signal in passes.seen] == [SignalKind.ALERT, SignalKind.TIMER]


def test_an_alert_that_repeats_what_was_just_looked_at_waits() -> None:
    """A storm of byte-identical bodies is one pass; another level, its end, or another door is looked at at once."""
    passes = Passes()
    with running(passes, repeat_seconds=3600) as dispatcher:
        dispatcher.submit(alert("n1"))
        passes.wait_for(lambda seen: len(seen) == 1)
        at_rest(dispatcher)
        for mark in "abc":
            dispatcher.submit(alert("n1", mark=mark))
        assert dispatcher.waiting == 0
        for news in (alert("n1", Level.ORANGE), replace(alert("n1"), firing=False), Signal(SignalKind.TIMER, "n1")):
            dispatcher.submit(news)
            passes.wait_for(lambda seen, news=news: news in seen)
        assert len(passes.seen) == 4


def test_a_repeated_alert_is_looked_at_when_its_rest_is_over() -> None:
    """It was accepted, so it is not lost: the newest of them leads to a pass."""
    passes = Passes()
    with running(passes, repeat_seconds=0.05) as dispatcher:
        dispatcher.submit(alert("n1"))
        passes.wait_for(lambda seen: len(seen) == 1)
        at_rest(dispatcher)
        dispatcher.submit(alert("n1", mark="older"))
        dispatcher.submit(alert("n1", mark="newest"))
        passes.wait_for(lambda seen: seen[-1].fingerprint == "newest")


def test_a_pass_that_fails_does_not_take_the_worker_with_it() -> None:
    """A bug in one pass is logged and counted; other nodes are still served."""
    passes = Passes()

    def reconcile(signal: Signal) -> float | None:
        if signal.node == "bad":
            raise RuntimeError("a bug")
        return passes(signal)

    with running(reconcile, workers=1) as dispatcher:
        dispatcher.submit_all([alert("bad"), alert("good")])
        passes.wait_for(lambda seen: [signal.node for signal in seen] == ["good"])


def test_a_signal_that_met_another_replica_comes_again_as_it_was() -> None:
    """An operator's release is not turned into a mere timer because a lease was held for a moment."""
    passes = Passes()
    met: list[bool] = []

    def reconcile(signal: Signal) -> float | None:
        if not met:
            met.append(True)
            raise NotNowError("another replica acts on it", 0.001)
        return passes(signal)

    release = Signal(SignalKind.RELEASE, "n1", operator="ann")
    with running(reconcile) as dispatcher:
        dispatcher.submit(release)
        passes.wait_for(lambda seen: len(seen) == 1)
    assert passes.seen == [release]


def test_the_resync_runs_at_start_and_is_looked_at() -> None:
    """What the cluster says is due is done without any webhook."""
    passes = Passes()
    wakes = [Wake(alert("n1")), Wake(Signal(SignalKind.TIMER, "n2"), after_seconds=0.001)]
    with running(passes, lambda: wakes) as dispatcher:
        passes.wait_for(lambda seen: {signal.node for signal in seen} == {"n1", "n2"})
        since = dispatcher.seconds_since_resync()
        assert since is not None and since >= 0


def test_a_resync_can_be_asked_for() -> None:
    """Who was told that alerts are missing does not wait for the next round."""
    passes = Passes()
    rounds: list[None] = []

    def resync() -> Iterable[Wake]:
        rounds.append(None)
        return [Wake(alert(f"n{len(rounds)}"))]

    with running(passes, resync) as dispatcher:
        passes.wait_for(lambda seen: len(seen) == 1)
        dispatcher.resync_soon()
        passes.wait_for(lambda seen: len(seen) == 2)
    assert [signal.node for signal in passes.seen] == ["n1", "n2"]


def test_a_resync_that_fails_leaves_the_dispatcher_alive() -> None:
    """Prometheus and cluster away at start: webhooks are still served."""
    passes = Passes()

    def resync() -> Iterable[Wake]:
        raise OSError("no cluster")

    with running(passes, resync) as dispatcher:
        dispatcher.submit(alert("n1"))
        passes.wait_for(lambda seen: len(seen) == 1)
        assert dispatcher.seconds_since_resync() is None


def test_stop_finishes_the_step_in_hand_then_hands_over() -> None:
    """The pass that runs ends, nothing new is taken, on_stop comes last, and it all happens once."""
    passes = Passes()
    order: list[str] = []
    dispatcher = Dispatcher(passes, tuple, workers=1, on_stop=lambda: order.append(f"after {len(passes.seen)}"))
    dispatcher.start()
    held(passes, dispatcher)
    dispatcher.submit(alert("n2"))
    stopper = threading.Thread(target=dispatcher.stop)
    stopper.start()
    while not dispatcher.stopping:
        pass
    with pytest.raises(QueueFullError):
        dispatcher.submit(alert("n3"))
    passes.gate.set()
    stopper.join(10)
    dispatcher.stop()
    assert order == ["after 1"]


def test_liveness_sees_a_worker_that_does_not_move() -> None:
    """Idle is no stall; a pass that does not end is."""
    passes = Passes()
    with running(passes, workers=1) as dispatcher:
        assert dispatcher.idle()
        assert dispatcher.seconds_without_progress() == 0
        held(passes, dispatcher)
        assert dispatcher.seconds_without_progress() > 0
        assert not dispatcher.idle()


def test_in_a_storm_of_submissions_passes_go_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends alerts must be answered: a second worker waits until the storm is over, and nothing is lost."""
    monkeypatch.setattr("remediator.dispatcher._STORM_SECONDS", 1.0)
    passes = Passes()
    with running(passes, workers=4) as dispatcher:
        held(passes, dispatcher)
        nodes = [f"n{number}" for number in range(40)]
        for node in nodes:
            dispatcher.submit(alert(node))
        assert not passes.entered.acquire(timeout=0.05)
        passes.gate.set()
        passes.wait_for(lambda seen: {signal.node for signal in seen} >= set(nodes))
