"""What outlives a restart: records, leases, audit lines; and what tells people: Events, notices."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from remediator.adapters.audit import JsonLinesAudit
from remediator.adapters.events import KubernetesEvents
from remediator.adapters.kubernetes_api import TransientError
from remediator.adapters.leases import KubernetesLeases, micro_time
from remediator.adapters.records import KUBECTL, NodeRemediationRecords, status_of
from remediator.adapters.state_json import from_json, to_json
from remediator.core.fences import AuditUnavailableError, RecordConflictError
from remediator.core.model import Isolation, Level, Mode, Phase
from remediator.core.state import EvictionRecord, NodeState, Outcome, OutcomeKind, Plan
from remediator.drill.apiserver.faults import Fault
from remediator.drill.stack import CRD_FILE
from tests.adapters.canned import Answer, api_of, captured

# --- the whole state as JSON --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
def test_any_state_survives_its_way_through_json():
    """Every field that a state has, drawn from its own type, comes back as it was."""
    st.register_type_strategy(float, st.floats(0, 2e9, allow_nan=False))

    @settings(max_examples=150, deadline=None)
    @given(st.from_type(NodeState))
    def survives(state):
        assert from_json(to_json(state)) == state

    try:
        survives()
    finally:
        st.register_type_strategy(float, st.floats())


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "FROM_THE_FUTURE"},
        {"level": "PURPLE"},
        {"level": 3},
        {"rounds": "many"},
        {"rounds": True},
        {"told": "level:RED"},
        {"evictions": [{"namespace": "a"}]},
        {"evictions": ["a"]},
        {"results": [["only-one"]]},
        {"plan": {"id": "p"}},
    ],
)
def test_a_status_that_makes_no_sense_is_an_error_of_one_kind(status):
    """Whatever is wrong with it, ValueError says so: nothing is guessed."""
    with pytest.raises(ValueError, match=r"is n|lacks|not a|argument"):
        from_json(status)


# --- records ------------------------------------------------------------------------------------------------


@pytest.fixture
def records(cluster, api):
    crd = yaml.safe_load(CRD_FILE.read_text())
    api.write(api.custom.create_cluster_custom_object, "apiextensions.k8s.io", "v1", "customresourcedefinitions", crd)
    return NodeRemediationRecords(api)


def eviction(episode="e1", **more):
    given = {"namespace": "x", "pod": "p", "uid": "u", "workload": "w", "node": "n1", "plan_id": "p", "at": 1.0}
    return EvictionRecord(**{**given, "bytes": 5, "episode_id": episode, **more})


def test_a_record_of_a_newer_version_stops_its_own_node_only(cluster, records, caplog):
    """The other nodes' records are still read; loading this one fails loudly, and it is never overwritten."""
    for name in ("n1", "n2"):
        records.save(records.load(name), NodeState(rounds=1))
    body = cluster.store.get("NodeRemediation", None, "n1")
    cluster.store.update("NodeRemediation", {**body, "status": {"phase": "DREAMING"}}, subresource="status")
    assert [record.node for record in records.all()] == ["n2"]
    assert "n1" in caplog.text
    with pytest.raises(ValueError, match="DREAMING"):
        records.load("n1")


def test_the_operator_s_words_are_read_and_never_written(cluster, records):
    """spec is the operator's: saving a state leaves it alone."""
    records.save(records.load("n1"), NodeState())
    body = cluster.store.get("NodeRemediation", None, "n1")
    spec = {"mode": "approve", "paused": True, "approvedPlan": "p1", "approvedBy": "alice (p1)", "release": "e1"}
    cluster.store.update("NodeRemediation", {**body, "spec": spec})
    record = records.load("n1")
    assert (record.spec.mode, record.spec.paused, record.spec.approved_plan) == (Mode.APPROVE, True, "p1")
    assert (record.spec.approved_by, record.spec.release) == ("alice", "e1")
    records.save(record, NodeState(rounds=2))
    assert cluster.store.get("NodeRemediation", None, "n1")["spec"] == spec


def test_two_replicas_create_one_record(records):
    """Both found none; the second creator is told that it is not the one."""
    one, other = records.load("n1"), records.load("n1")
    records.save(one, NodeState())
    with pytest.raises(RecordConflictError):
        records.save(other, NodeState())


def test_a_record_deleted_meanwhile_is_a_lost_fence(cluster, records):
    """Somebody deleted the object: what was planned on its state is void."""
    record = records.save(records.load("n1"), NodeState(rounds=1))
    cluster.store.delete("NodeRemediation", None, "n1")
    with pytest.raises(RecordConflictError):
        records.save(record, NodeState(rounds=2))
    assert records.load("n1").resource_version == ""


def test_a_write_without_an_answer_is_no_success(cluster, records):
    """The fence is only passed when the server says so; the next look finds what became of it."""
    record = records.save(records.load("n1"), NodeState(rounds=1))
    cluster.faults.replace([Fault(method="PUT", path="/status", lose_answer=True)])
    with pytest.raises(TransientError):
        records.save(record, NodeState(rounds=2))
    assert records.load("n1").state.rounds == 2


def test_a_real_server_s_conflict_is_a_lost_fence(canned):
    """The words of a real 409 are understood."""
    real = captured("46")["body"]
    server = canned(lambda asked: Answer(409, captured("47")["body"]) if asked.method == "PUT" else real)
    records = NodeRemediationRecords(api_of(server.url))
    with pytest.raises(RecordConflictError):
        records.save(records.load("node-5"), NodeState())
    sent = server.asked[-1]
    assert sent.path.endswith("/noderemediations/node-5/status")
    assert sent.body["metadata"]["resourceVersion"] == real["metadata"]["resourceVersion"]


def test_what_kubectl_prints_is_in_the_status():
    """EVICTED counts the episode, FREED its last outcome, COOLDOWN until when."""
    outcome = Outcome(OutcomeKind.RELIEVED, "e1", 5.0, 3 * 2**30, 2**30, 0.9, 0.6, Level.RED, Level.GREEN)
    state = NodeState(
        phase=Phase.COOLING_DOWN,
        level=Level.GREEN,
        mode=Mode.ENFORCE,
        cooldown_until=datetime(2026, 12, 1, 10, 30, tzinfo=UTC).timestamp(),
        evictions=(eviction(), eviction(uid="v"), eviction("e0", uid="w"), eviction(uid="x", observed_only=True)),
        outcomes=(outcome,),
    )
    status = status_of(state)
    assert status["summary"] == {"evicted": 2, "freed": "3072Mi", "cooldown": "until 10:30:00Z", "actionsDone": 0}
    assert (status["level"], status["phase"], status["mode"]) == ("GREEN", "COOLING_DOWN", "enforce")
    columns = yaml.safe_load(CRD_FILE.read_text())["spec"]["versions"][0]["additionalPrinterColumns"]
    for column in columns:
        if column["jsonPath"].startswith(".status.summary."):
            assert column["jsonPath"].rpartition(".")[2] in status["summary"]


def test_open_episodes_and_cordons_can_be_alerted_on(records):
    """Whatever replica wrote them, their beginnings are gauges; over, they are 0."""

    def gauges():
        names = ("remediator_episode_started_timestamp_seconds", "remediator_cordoned_timestamp_seconds")
        records.all()
        return [REGISTRY.get_sample_value(name, {"node": "n1"}) for name in names]

    busy = NodeState(episode_id="e1", episode_started_at=100.0, isolation=Isolation.CORDONED_BY_US, isolated_at=110.0)
    record = records.save(records.load("n1"), busy)
    assert gauges() == [100.0, 110.0]
    waiting = replace(busy, phase=Phase.AWAITING_APPROVAL, plan=Plan("p", "n1", "e1", Level.RED, 1.0, 2.0, 3, ()))
    record = records.save(record, waiting)
    assert gauges() and REGISTRY.get_sample_value("remediator_plans_waiting") == 1
    records.save(record, NodeState())
    assert gauges() == [0.0, 0.0]


# --- leases -------------------------------------------------------------------------------------------------


def test_one_of_many_that_want_a_lease_at_once_gets_it(cluster):
    """Created, renewed or free: two holders never both believe that it is theirs."""
    replicas = [KubernetesLeases(api_of(cluster.url), "remediator", f"r{n}") for n in range(4)]
    for _ in range(3):
        with ThreadPoolExecutor(len(replicas)) as pool:
            held = list(pool.map(lambda replica: replica.acquire("slot"), replicas))
        assert held.count(True) == 1
        for replica in replicas:
            replica.release("slot")
        assert "holderIdentity" not in cluster.store.get("Lease", "remediator", "slot")["spec"]


def test_a_foreign_lease_is_not_released(cluster):
    """Giving back what is not ours changes nothing."""
    ours, theirs = (KubernetesLeases(api_of(cluster.url), "remediator", name) for name in ("a", "b"))
    assert theirs.acquire("slot")
    ours.release("slot")
    ours.release("never-there")
    assert cluster.store.get("Lease", "remediator", "slot")["spec"]["holderIdentity"] == "b"


def test_a_taken_over_lease_counts_the_transition(cluster, monkeypatch):
    """As client-go's leader election writes it: transitions grow with each new holder, not with renewals."""
    now = [0.0]
    monkeypatch.setattr("remediator.adapters.leases.time.monotonic", lambda: now[0])
    one, other = (KubernetesLeases(api_of(cluster.url), "remediator", name) for name in ("a", "b"))
    assert one.acquire("slot")
    assert one.acquire("slot")
    assert not other.acquire("slot")
    now[0] = 16.0
    assert other.acquire("slot")
    spec = cluster.store.get("Lease", "remediator", "slot")["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("b", 1)


def test_times_of_leases_have_six_decimals():
    """A real API server refuses any other MicroTime."""
    assert micro_time(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00.000000Z"


# --- audit --------------------------------------------------------------------------------------------------


def test_a_full_disk_stops_acting_and_spoils_no_line(tmp_path, monkeypatch):
    """Half a line is taken back; once there is room, the next line stands whole after the last whole one."""
    audit = JsonLinesAudit(tmp_path, "r")
    audit.write({"kind": "intent", "n": 1})
    real = audit._file

    class Full:
        def write(self, data):
            if real.tell() > whole:
                raise OSError(28, "No space left on device")
            return real.write(data[:5])

        def __getattr__(self, name):
            return getattr(real, name)

    whole = real.tell()
    audit._file = Full()
    with pytest.raises(AuditUnavailableError, match="No space left"):
        audit.write({"kind": "intent", "n": 2})
    audit.write({"kind": "intent", "n": 3})
    lines = (tmp_path / "audit-r.jsonl").read_text().splitlines()
    assert [('"n":1' in line, '"n":3' in line) for line in lines] == [(True, False), (False, True)]


def test_a_device_that_is_full_is_told(tmp_path):
    """The kernel's own full device: no line, no act."""
    (tmp_path / "audit-r.jsonl").symlink_to("/dev/full")
    with pytest.raises(AuditUnavailableError, match="No space left"):
        JsonLinesAudit(tmp_path, "r").write({"kind": "decision"})


def test_intents_are_on_the_disk_before_the_act(tmp_path, monkeypatch):
    """fsync for intents, and only for them."""
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    audit = JsonLinesAudit(tmp_path, "r")
    audit.write({"kind": "decision"})
    assert not synced
    audit.write({"kind": "intent"})
    assert len(synced) == 1


def test_readiness_knows_whether_lines_can_be_kept(tmp_path):
    """A directory that can be made is fine; a path through a file is not."""
    assert JsonLinesAudit(tmp_path / "new", "r").ready() == ""
    (tmp_path / "file").write_text("")
    assert "cannot be written" in JsonLinesAudit(tmp_path / "file" / "deeper", "r").ready()


def test_only_so_many_files_are_kept(tmp_path):
    """The oldest goes; lines are never cut by a rotation."""
    audit = JsonLinesAudit(tmp_path, "r", max_bytes=200, max_files=3)
    for number in range(40):
        audit.write({"kind": "decision", "number": number})
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["audit-r.jsonl", "audit-r.jsonl.1", "audit-r.jsonl.2"]
    assert all(path.stat().st_size <= 200 for path in tmp_path.iterdir())


# --- Events and notices -------------------------------------------------------------------------------------


def told(cluster, *messages, kind="Pod", name="web-1", namespace="shop", again=0):
    events = KubernetesEvents(api_of(cluster.url), "remediator", "replica-0")
    for message in messages:
        for _ in range(again + 1):
            events.emit(kind, name, namespace, "", "MemoryPressureEvict", message, True)
    events.close()


def test_repeats_of_an_event_raise_its_count(cluster):
    """One object per message, however often it is told."""
    told(cluster, "one", "two", again=2)
    found = {event["message"]: event["count"] for event in cluster.store.list("Event", "shop")}
    assert found == {"one": 3, "two": 3}


def test_an_event_told_before_a_restart_is_raised_too(cluster):
    """A new process does not know the Event, the API server does."""
    told(cluster, "one")
    told(cluster, "one")
    assert [event["count"] for event in cluster.store.list("Event", "shop")] == [2]


def test_an_event_that_has_expired_is_told_anew(cluster):
    """The API server forgets Events after an hour: the next repeat is a new one."""
    events = KubernetesEvents(api_of(cluster.url), "remediator", "r")
    events.emit("Pod", "web-1", "shop", "", "Evict", "one", False)
    events.close()
    cluster.store.delete("Event", "shop", cluster.store.list("Event", "shop")[0]["metadata"]["name"])
    again = KubernetesEvents(api_of(cluster.url), "remediator", "r")
    again._counts = events._counts
    again.emit("Pod", "web-1", "shop", "", "Evict", "one", False)
    again.close()
    assert [event["count"] for event in cluster.store.list("Event", "shop")] == [2]


def test_a_node_s_events_are_where_kubectl_describe_looks(cluster):
    """Cluster-scoped objects: namespace default, and a node's UID is its name, as the kubelet writes it."""
    told(cluster, "closed", kind="Node", name="n1.example.", namespace="")
    (event,) = cluster.store.list("Event", "default")
    assert event["involvedObject"] == {"kind": "Node", "name": "n1.example.", "apiVersion": "v1", "uid": "n1.example."}
    assert event["metadata"]["name"].startswith("n1.example.")
    assert ".." not in event["metadata"]["name"]


def test_events_never_hold_anybody_up(canned):
    """A server that does not take them costs nothing but a counter."""
    server = canned(lambda asked: Answer(403, captured("51")["body"]))
    events = KubernetesEvents(api_of(server.url), "remediator", "r")
    for number in range(3000):
        events.emit("Pod", "p", "x", "", "Evict", str(number), False)
    events.close(0.1)
    events._thread.join(5)
    assert not events._thread.is_alive()
    assert REGISTRY.get_sample_value("remediator_notices_dropped_total", {"target": "events"}) > 0


def test_an_operator_s_word_is_written_with_his_name(cluster, records):
    """Through the API a plan is approved by name; the same field set by kubectl afterwards is not his."""
    records.save(records.load("n1"), NodeState(rounds=3))
    records.say("n1", {"approvedPlan": "p1"}, "ann")
    records.say("n1", {"paused": True, "mode": "observe"}, "bob")
    record = records.load("n1")
    assert (record.spec.approved_plan, record.spec.approved_by, record.spec.paused_by) == ("p1", "ann", "bob")
    assert (record.state.rounds, record.spec.mode) == (3, Mode.OBSERVE)
    cluster.patch("/apis/remediator.io/v1alpha1/noderemediations/n1", {"spec": {"approvedPlan": "p2", "mode": None}})
    after = records.load("n1").spec
    assert (after.approved_plan, after.approved_by, after.mode) == ("p2", KUBECTL, None)
    records.say("n1", {"rejectedPlan": "p2", "paused": False}, "ann")
    assert (records.load("n1").spec.rejected_by, records.load("n1").spec.paused) == ("ann", False)


def test_a_word_on_a_node_without_record_makes_one(records):
    """Pausing a node that never had an episode is remembered."""
    records.say("n9", {"paused": True}, "ann")
    record = records.load("n9")
    assert (record.spec.paused, record.spec.paused_by, record.state) == (True, "ann", NodeState())
