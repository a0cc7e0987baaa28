"""Passes over a node, real core and fake ports: order of steps, fences, and every reason to stop."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from remediator.core.model import (
    Isolation,
    Level,
    Matcher,
    Mode,
    Phase,
    Signal,
    SignalKind,
    Silence,
    SilenceFacts,
    Unknown,
)
from remediator.core.reason import Reason
from remediator.core.state import Action, ActionKind, ActionStatus, NodeState, OperatorSpec
from remediator.reconciler.places import node_lease
from remediator.reconciler.resyncing import NotNowError
from tests.reconciler.world import POLICY, StoredRecord, World, alert, run, timer

STORM = ["cordon:n1", "taint:n1", "evict:uid-spark-a", "evict:uid-spark-b", "evict:uid-shipper"]


def kinds(world: World, kind: str) -> list[Any]:
    """Audit lines of a kind."""
    return [line for line in world.audit if line["kind"] == kind]


def test_a_red_node_is_cordoned_then_relieved_in_the_order_of_the_scores() -> None:
    """Cordon and taint come first, then the offline pods, then the low one; nobody else."""
    world = World()
    world.replica().reconcile(alert())
    assert world.acts == STORM


def test_every_act_has_its_intent_line_and_a_written_record_before_it() -> None:
    """When the actuator is called, the intent is in the audit and the record says ACTING with this plan."""
    world = World()
    missing: list[str] = []

    def look(action: Action) -> None:
        state = world.records["n1"].state
        intended = [line["action"]["kind"] + str(line["action"]["pod_uid"]) for line in kinds(world, "intent")]
        if f"{action.kind}{action.pod_uid or None}" not in intended:
            missing.append(f"intent of {action.key}")
        if state.phase is not Phase.ACTING or state.plan is None or action not in state.plan.actions:
            missing.append(f"record of {action.key}")

    world.before_act = look
    world.answers["evict:uid-spark-a"] = (ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET)
    world.replica().reconcile(alert())
    assert not missing


def test_the_results_and_the_next_phase_are_written() -> None:
    """Afterwards the record holds the evictions, our isolation, and SETTLING."""
    world = World()
    assert world.replica().reconcile(alert()) == 0.0
    state = world.records["n1"].state
    assert state.phase is Phase.SETTLING
    assert state.isolation is Isolation.CORDONED_BY_US
    assert [eviction.uid for eviction in state.evictions] == ["uid-spark-a", "uid-spark-b", "uid-shipper"]


def test_observe_mode_only_records() -> None:
    """In observe mode the same plan goes to the recording actuator: nothing is touched, all is told."""
    world = World()
    world.replica(policy=replace(POLICY, mode=Mode.OBSERVE)).reconcile(alert())
    assert world.acts == []
    assert {line["reason"] for line in kinds(world, "result")} == {"dry_run"}
    assert all(eviction.observed_only for eviction in world.records["n1"].state.evictions)


def test_an_intent_that_cannot_be_kept_stops_the_act() -> None:
    """A full disk means no act; people are told once that nothing is done, and not that something is."""
    world = World()
    world.audit_broken = True
    replica = world.replica()
    for _ in range(3):
        assert replica.reconcile(alert()) == POLICY.timers.resync_seconds
    assert world.acts == []
    assert not [notice for notice in world.notices if notice.key.startswith("plan:")]
    told = [notice for notice in world.notices if notice.key.startswith("audit:")]
    assert [(notice.severity, "disk full" in notice.text) for notice in told] == [("critical", True)]
    assert world.events.count("Node/n1: RemediatorAuditUnwritable") == 1
    world.audit_broken = False
    replica.reconcile(timer())
    assert world.acts == STORM


def test_without_prometheus_nothing_is_done() -> None:
    """No data is no permission, and the decision says which source was silent."""
    world = World()
    world.prometheus_gone = True
    world.replica().reconcile(alert())
    assert world.acts == []
    assert kinds(world, "decision")[0]["memory"]["source"] == "prometheus"


def test_a_reader_that_breaks_counts_as_unknown() -> None:
    """An exception that no adapter foresaw never becomes calm or an act."""
    world = World()
    reconciler = world.replica()
    world.silences = RuntimeError("a bug")
    reconciler.reconcile(alert())
    assert world.acts == []


def test_another_replicas_write_stops_this_one_quietly() -> None:
    """When the record moved on between observation and intent nothing is done here."""
    world = World()
    reconciler = world.replica()
    world.records["n1"] = StoredRecord("n1", NodeState(), resource_version="1")

    def other(action: Action) -> None:
        raise AssertionError("acted although the record was lost")

    world.before_act = other
    load_all = world.records

    class Racing(dict[str, StoredRecord]):
        """Another replica writes right after the first read."""

        def values(self) -> Any:
            found = list(super().values())
            self["n1"] = StoredRecord("n1", NodeState(phase=Phase.SETTLING), resource_version="other")
            return found

    world.records = Racing(load_all)
    with pytest.raises(NotNowError):
        reconciler.reconcile(alert())
    assert world.acts == []


def test_an_operators_patch_meanwhile_does_not_lose_what_was_done() -> None:
    """A changed spec moves the resourceVersion; the results are written all the same and the spec stays."""
    world = World()

    def patch(action: Action) -> None:
        if action.kind is ActionKind.TAINT:
            stored = world.records["n1"]
            world.records["n1"] = replace(
                stored, spec=OperatorSpec(paused=False, release="x"), resource_version="patched"
            )

    world.before_act = patch
    world.replica().reconcile(alert())
    assert world.acts == STORM
    assert world.records["n1"].state.phase is Phase.SETTLING
    assert world.records["n1"].spec.release == "x"


def test_a_node_that_another_replica_acts_on_is_left_alone() -> None:
    """Without the node's lease there is no act."""
    world = World()
    reconciler = world.replica("a")
    world.before_act = lambda action: None
    world.leases[node_lease("n1")] = "b"
    with pytest.raises(NotNowError):
        reconciler.reconcile(alert())
    assert world.acts == []


def test_leases_are_given_back() -> None:
    """After a pass no lease is held."""
    world = World()
    world.replica().reconcile(alert())
    assert world.leases == {}


def test_a01_two_replicas_act_once() -> None:
    """A01: the second replica's passes, in the middle of the first's and afterwards, do nothing."""
    world = World()
    second = world.replica("b")

    def at_the_same_time(action: Action) -> None:
        world.before_act = lambda action: None
        with contextlib.suppress(NotNowError):
            second.reconcile(alert())

    world.before_act = at_the_same_time
    world.replica("a").reconcile(alert())
    second.reconcile(alert())
    assert world.acts == STORM


def test_a16_two_fingerprints_of_one_node_are_one_remediation() -> None:
    """A16: a replica label gives two alerts; the node and its episode are what is remembered."""
    world = World()
    reconciler = world.replica()
    for fingerprint in ("f1", "f2"):
        reconciler.reconcile(replace(alert(), fingerprint=fingerprint))
    assert world.acts == STORM


def test_a11_a_repeat_on_a_node_that_is_well_does_nothing() -> None:
    """A11: the identical alert hours later, with the node at ease, is no reason to act."""
    world = World()
    world.host_used, world.level = 5 * 2**30, Level.GREEN
    world.replica().reconcile(alert())
    assert world.acts == []


def change_nothing(world: World) -> None:
    """The world stays as it is."""


def recover(world: World) -> None:
    """The host process gives its memory back."""
    world.host_used, world.level = 5 * 2**30, Level.GREEN


def silence(world: World) -> None:
    """Somebody silences the node."""
    world.silences = SilenceFacts((Silence("s1", (Matcher("node", "n1"),)),), ("s1",), {"node": "n1"})


def lose_alertmanager(world: World) -> None:
    """Nobody can tell whether it is silenced."""
    world.silences = Unknown("alertmanager", "gone")


@pytest.mark.parametrize(
    ("event", "reason"),
    [(recover, Reason.RECOVERED), (silence, Reason.SILENCED), (lose_alertmanager, Reason.SILENCES_UNKNOWN)],
)
def test_what_happens_after_the_plan_is_seen_before_the_eviction(
    event: Callable[[World], None], reason: Reason
) -> None:
    """G08, A07: the look right before the act stops every eviction of the round, with its reason."""
    world = World()
    world.before_act = lambda action: event(world) if action.kind is ActionKind.TAINT else None
    world.replica().reconcile(alert())
    assert world.acts == ["cordon:n1", "taint:n1"]
    results = {line["action"]["kind"]: (line["status"], line["reason"]) for line in kinds(world, "result")}
    assert results["evict"] == ("skipped", str(reason))


def test_a_held_pod_is_passed_over_for_the_next_best() -> None:
    """A budget that says no moves the round on, and the refusal is remembered."""
    world = World()
    world.answers["evict:uid-spark-a"] = (ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET)
    world.replica().reconcile(alert())
    assert "evict:uid-spark-a" not in world.acts
    assert world.evictions == ["uid-spark-b", "uid-shipper"]
    assert world.records["n1"].state.refused[0].key == "uid-spark-a"


def test_a_broken_actuator_is_taken_as_no_answer() -> None:
    """An exception out of the actuator may have had its effect: the pod is not evicted again."""
    world = World()

    def broken(action: Action) -> None:
        if action.kind is ActionKind.EVICT:
            raise RuntimeError("a bug")

    world.before_act = broken
    world.replica().reconcile(alert())
    assert world.records["n1"].state.evictions[0].uncertain
    assert kinds(world, "result")[-1]["status"] == "unknown"


def test_a_stop_in_the_middle_leaves_the_rest_to_the_next() -> None:
    """Asked to stop, the replica ends after the step in hand; its successor does what is left, once."""
    world = World()
    stopping: list[bool] = []
    world.before_act = lambda action: stopping.append(True) if action.pod_uid == "uid-spark-a" else None
    world.replica("a", stopping=lambda: bool(stopping)).reconcile(alert())
    assert world.acts == STORM[:3]
    assert world.records["n1"].state.phase is Phase.ACTING
    assert world.leases == {}
    world.before_act = lambda action: None
    run(world, world.replica("b"), timer(), until=30)
    assert world.evictions == ["uid-spark-a", "uid-spark-b", "uid-shipper"]


def test_a06_isolation_is_lifted_without_any_resolved_message() -> None:
    """A06, F05: five calm minutes are enough; with `release: auto` the cordon goes by itself."""
    world = World()
    reconciler = world.replica(policy=replace(POLICY, release="auto"))
    run(world, reconciler, alert(), until=60)
    assert world.node.unschedulable
    recover(world)
    run(world, reconciler, timer(), until=400)
    assert not world.node.unschedulable
    assert world.records["n1"].state.isolation is Isolation.NONE


def test_a13_resolved_alone_lifts_nothing() -> None:
    """A13: a resolved alert while the node is still full changes nothing."""
    world = World()
    reconciler = world.replica(policy=replace(POLICY, release="auto"))
    reconciler.reconcile(alert())
    reconciler.reconcile(replace(alert(), firing=False))
    assert world.node.unschedulable


def test_release_asks_and_obeys_the_operator() -> None:
    """With `release: ask` the cordon stays until the operator's signal."""
    world = World()
    reconciler = world.replica()
    run(world, reconciler, alert(), until=60)
    recover(world)
    run(world, reconciler, timer(), until=400)
    assert world.node.unschedulable
    assert any("release" in notice.key for notice in world.notices)
    reconciler.reconcile(Signal(SignalKind.RELEASE, "n1", operator="ann"))
    assert not world.node.unschedulable


def test_another_node_that_took_the_last_place_meanwhile_is_seen() -> None:
    """With the turn in hand the fleet is read afresh, so that caps hold across nodes."""
    world = World()
    reconciler = world.replica()
    busy = NodeState(phase=Phase.ACTING, episode_id="other", level=Level.RED)

    class Turns(dict[str, str]):
        """When the turn is taken, three other nodes have just begun."""

        def setdefault(self, key: str, default: str = "") -> str:
            if key.startswith("remediator-slot"):
                for name in ("n2", "n3", "n4"):
                    world.records[name] = StoredRecord(name, busy, resource_version="1")
            return super().setdefault(key, default)

    world.leases = Turns()
    reconciler.reconcile(alert())
    assert world.evictions == []
    assert "cap_nodes_acting" in [each["reason"] for each in kinds(world, "decision")[0]["reasons"]]


def test_notices_wait_for_the_record() -> None:
    """A pass whose record was lost tells nobody: the other replica does."""
    world = World()
    world.level, world.host_used = Level.YELLOW, 18 * 2**30
    reconciler = world.replica()
    world.records["n1"] = StoredRecord("n1", NodeState(), resource_version="1")

    class Racing(dict[str, StoredRecord]):
        """Another replica writes right after the read."""

        def values(self) -> Any:
            found = list(super().values())
            self["n1"] = StoredRecord("n1", NodeState(level=Level.YELLOW), resource_version="2")
            return found

    world.records = Racing(world.records)
    with pytest.raises(NotNowError):
        reconciler.reconcile(alert(Level.YELLOW))
    assert world.notices == []


def test_a_due_time_that_only_moves_on_is_not_written() -> None:
    """A pass that learns nothing costs no write."""
    world = World()
    world.level, world.host_used = Level.YELLOW, 18 * 2**30
    reconciler = world.replica()
    reconciler.reconcile(alert(Level.YELLOW))
    version = world.records["n1"].resource_version
    world.now += 5
    reconciler.reconcile(timer())
    assert world.records["n1"].resource_version == version


def test_a_decision_is_audited_when_it_is_news_or_was_asked_for() -> None:
    """Timers that find nothing new write no line; a webhook's repeat writes a short one."""
    world = World()
    world.level, world.host_used = Level.YELLOW, 18 * 2**30
    reconciler = world.replica()
    reconciler.reconcile(alert(Level.YELLOW))
    reconciler.reconcile(timer())
    assert len(kinds(world, "decision")) == 1
    reconciler.reconcile(alert(Level.YELLOW))
    first, second = kinds(world, "decision")
    assert first["ranking"] and not second["ranking"]
    assert first["config_hash"] == "c0ffee"


def test_explain_decides_and_does_nothing() -> None:
    """The dry form shows plan and ranking, and leaves record, audit and node alone."""
    world = World()
    told = world.replica().explain("n1")
    assert [step["kind"] for step in told["plan"]["actions"]] == [
        "cordon",
        "taint",
        "evict",
        "evict",
        "evict",
    ]
    assert told["memory"]["level"] == "RED"
    assert {row["pod"] for row in told["ranking"] if row["chosen"]} == {"spark-a-0", "spark-b-0", "shipper-0"}
    assert (world.acts, world.audit, world.records) == ([], [], {})


def test_passes_that_fail_again_and_again_are_told_once() -> None:
    """A bug that ends every pass would otherwise only be in the log; once one works the count begins anew."""
    world = World()
    replica = world.replica()
    world.silences = RuntimeError("no bug of a reader")  # a reader's bug is Unknown, and no failure of the pass
    replica.reconcile(alert())
    broken = world.replica()
    broken._keeper.keep = broken._keeper.write = lambda *_: 1 / 0
    for _ in range(7):
        with pytest.raises(ZeroDivisionError):
            broken.reconcile(alert())
    told = [notice for notice in world.notices if notice.key.startswith("pass-failed")]
    assert [notice.severity for notice in told] == ["critical"]
    assert world.events.count("Node/n1: RemediatorPassFailed") == 1
