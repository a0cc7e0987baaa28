"""Reads of the cluster over real HTTP: facts, nodes by what alerts call them, locks and records."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from remediator.adapters import leases as lease_module
from remediator.adapters.cluster import KubernetesCluster
from remediator.adapters.leases import KubernetesLeases
from remediator.adapters.records import NodeRemediationRecords
from remediator.adapters.state_json import from_json, to_json
from remediator.core.fences import RecordConflictError
from remediator.core.model import Level, Phase, Rejection, Unknown
from remediator.core.reason import Reason
from remediator.core.state import EvictionRecord, NodeState
from remediator.drill.apiserver.faults import Fault
from remediator.drill.stack import CRD_FILE
from tests.adapters.conftest import pod


@pytest.fixture
def reader(api):
    return KubernetesCluster(api)


def deployment(store) -> None:
    """A Deployment whose ReplicaSet owns web-1."""
    selector = {"matchLabels": {"app": "web"}}
    spec = {"replicas": 2, "selector": selector, "template": {}}
    top = store.create("Deployment", {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec})
    above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": top["metadata"]["uid"]}
    metadata = {"name": "web-7f", "namespace": "shop", "ownerReferences": [{**above, "controller": True}]}
    owner = store.create("ReplicaSet", {"metadata": metadata, "spec": spec})
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7f", "uid": owner["metadata"]["uid"]}
    store.delete("Pod", "shop", "web-1")
    for name, where in (("web-1", "n1"), ("web-2", "n2")):
        pod(store, name, where, ownerReferences=[{**reference, "controller": True}])
    service = {"selector": {"app": "web", "remediator.io/serving": "true"}, "ports": []}
    store.create("Service", {"metadata": {"name": "web", "namespace": "shop"}, "spec": service})
    first = store.get("Pod", "shop", "web-1")["metadata"]
    target = {"kind": "Pod", "name": "web-1", "namespace": "shop", "uid": first["uid"]}
    endpoints = [{"addresses": ["10.1.0.1"], "conditions": {"ready": True}, "targetRef": target}]
    labels = {"kubernetes.io/service-name": "web"}
    body = {"metadata": {"name": "web-x", "namespace": "shop", "labels": labels}, "endpoints": endpoints}
    store.create("EndpointSlice", {**body, "addressType": "IPv4"})


def test_a_snapshot_tells_what_decisions_need(cluster, reader):
    """Owners to the top, ready pods over the cluster, measured start-up, Services, the other nodes' requests."""
    deployment(cluster.store)
    facts = reader.snapshot("n1")
    (found,) = facts.pods
    assert str(found.workload) == "shop/Deployment/web"
    workload = facts.workloads[found.workload]
    assert (workload.desired_replicas, workload.ready_replicas, workload.startup_seconds) == (2, 2, 60.0)
    assert found.request_bytes == 2**30
    (service,) = facts.services
    assert (service.name, service.ready_endpoints) == ("web", 1)
    assert {peer.name: peer.requested_bytes for peer in facts.peers} == {"n2": 2**30, "n3": 0}


def test_an_unknown_node_is_told_as_such(reader):
    """A node that is not there is not a failure of the API."""
    found = reader.snapshot("nowhere")
    assert isinstance(found, Unknown)
    assert found.reason is Reason.NODE_UNKNOWN


def test_half_a_picture_is_no_picture(cluster, reader):
    """One list that is refused makes the whole snapshot unknown."""
    cluster.faults.replace([Fault(path="/poddisruptionbudgets", status=403)])
    assert isinstance(reader.snapshot("n1"), Unknown)


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ({"node": "n1"}, "n1"),
        ({"instance": "10.0.0.1:9100"}, "n1"),
        ({"instance": "[fd00::3]:9100"}, "n3"),
        ({"instance": "[fd00:0:0::3]:9100"}, "n3"),
        ({"instance": "n2:9100"}, "n2"),
        ({"nodename": "n2"}, "n2"),
        ({"instance": "10.0.0.9:9100"}, Reason.NODE_UNKNOWN),
        ({}, Reason.ALERT_WITHOUT_NODE),
    ],
)
def test_b13_an_alert_means_one_node_or_is_refused(reader, labels, wanted):
    """By name, by address with or without port, both families; never by guess."""
    found = reader.node_for(labels)
    assert (found.reason if isinstance(found, Rejection) else found) == wanted


def test_b13_two_nodes_with_one_address_are_refused(cluster, reader):
    """Ambiguity is told, not resolved."""
    node = cluster.store.get("Node", None, "n2")
    status = {**node["status"], "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}
    cluster.store.update("Node", {**node, "status": status}, subresource="status")
    found = reader.node_for({"instance": "10.0.0.1:9100"})
    assert isinstance(found, Rejection)
    assert found.reason is Reason.NODE_AMBIGUOUS


def test_a_lease_is_held_by_one_and_taken_over_only_after_its_expiry(cluster, api, monkeypatch):
    """A second holder waits the lease's whole duration by its own clock, then takes it; a release frees it at once."""
    now = [100.0]
    monkeypatch.setattr(lease_module.time, "monotonic", lambda: now[0])
    first, second = (KubernetesLeases(api, "remediator", name) for name in ("a", "b"))
    assert first.acquire("remediator-node-x")
    assert first.acquire("remediator-node-x")
    assert not second.acquire("remediator-node-x")
    now[0] += lease_module.LEASE_SECONDS - 1
    assert not second.acquire("remediator-node-x")
    now[0] += 2
    assert second.acquire("remediator-node-x")
    assert not first.acquire("remediator-node-x")
    second.release("remediator-node-x")
    assert first.acquire("remediator-node-x")


@pytest.fixture
def records(cluster, api):
    crd = yaml.safe_load(CRD_FILE.read_text())
    api.write(api.custom.create_cluster_custom_object, "apiextensions.k8s.io", "v1", "customresourcedefinitions", crd)
    return NodeRemediationRecords(api)


def test_a_record_is_created_kept_and_read_back(records):
    """An empty record where there is none; what is saved comes back the same."""
    empty = records.load("n1")
    assert empty.state == NodeState()
    state = NodeState(phase=Phase.SETTLING, level=Level.RED, episode_id="e1", told=("level:RED",))
    records.save(empty, state)
    assert records.load("n1").state == state
    assert [record.node for record in records.all()] == ["n1"]


def test_a_stale_record_is_a_lost_fence(records):
    """Two replicas load the same record: the second writer is told that it is not the one."""
    records.save(records.load("n1"), NodeState(phase=Phase.ACTING))
    one, other = records.load("n1"), records.load("n1")
    records.save(one, NodeState(phase=Phase.SETTLING))
    with pytest.raises(RecordConflictError):
        records.save(other, NodeState(phase=Phase.COOLING_DOWN))


def test_a_missing_crd_is_told_with_the_fix(api):
    """Readiness says what to install."""
    assert "helm/remediator/crds" in NodeRemediationRecords(api).ready()


evictions = st.builds(
    EvictionRecord,
    namespace=st.text(max_size=5),
    pod=st.text(max_size=5),
    uid=st.text(max_size=5),
    workload=st.text(max_size=5),
    node=st.text(max_size=5),
    plan_id=st.text(max_size=5),
    at=st.floats(0, 2e9),
    bytes=st.integers(0, 2**50),
    gone_at=st.none() | st.floats(0, 2e9),
    uncertain=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(
    st.builds(
        NodeState,
        phase=st.sampled_from(Phase),
        level=st.none() | st.sampled_from(Level),
        rounds=st.integers(0, 5),
        due_at=st.none() | st.floats(0, 2e9),
        evictions=st.lists(evictions, max_size=3).map(tuple),
        told=st.lists(st.text(max_size=8), max_size=3).map(tuple),
    )
)
def test_a_state_survives_its_way_through_json(state):
    """What is remembered is what was written, whatever it was; unknown fields of a newer version are left out."""
    assert from_json({**to_json(state), "fromTheFuture": {"a": 1}}) == state
