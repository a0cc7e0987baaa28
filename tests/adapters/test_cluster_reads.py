"""How the cluster is read: only what is needed, page by page, what may be a little old and what may not."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from remediator.adapters import actuator, cluster, events, kubernetes_api, leases, records
from remediator.adapters.actuator import KubernetesActuator
from remediator.adapters.cluster import KubernetesCluster
from remediator.adapters.events import KubernetesEvents
from remediator.adapters.leases import KubernetesLeases
from remediator.adapters.other_nodes import KnownNode, matching_nodes
from remediator.adapters.records import NodeRemediationRecords
from remediator.adapters.refreshing import Refreshed
from remediator.adapters.rights import Rights
from remediator.core.model import NodeFacts, Rejection, Unknown, WorkloadRef
from remediator.core.policy import TaintSpec
from remediator.core.reason import Reason
from remediator.core.state import ActionKind, NodeState
from remediator.drill.apiserver.access import Access, Grant
from remediator.drill.apiserver.custom import established, normalised
from remediator.drill.apiserver.faults import Fault
from remediator.drill.stack import CRD_FILE
from tests.adapters.canned import Answer, api_of, requests_to
from tests.adapters.world import WEB, a_store, action, node

GIB = 2**30
SERVING = {"label": "remediator.io/serving", "label_value": "true"}
ANY = {
    ActionKind.DRAIN_ENDPOINTS: SERVING,
    ActionKind.RESTORE_ENDPOINTS: SERVING,
    ActionKind.SCALE: {"workload": WEB, "replicas": 0, "replicas_before": 2},
    ActionKind.RESTORE_SCALE: {"workload": WEB, "replicas": 2},
}
RULES = [*cluster.RBAC_RULES, *records.RBAC_RULES, *leases.RBAC_RULES, *events.RBAC_RULES, *actuator.RBAC_RULES]


@pytest.fixture
def reader(simulated):
    return KubernetesCluster(api_of(simulated.url))


def test_a_snapshot_spans_the_workloads_of_the_whole_cluster(reader):
    """Replicas on other nodes count as ready, start-up is the median over all of them, peers bring their requests."""
    facts = reader.snapshot("n1")
    web = facts.workloads[WorkloadRef("shop", "Deployment", "web")]
    assert (web.desired_replicas, web.ready_replicas, web.startup_seconds) == (2, 2, 15.0)
    assert {place.node for place in web.pods} == {"n1", "n2"}
    assert [(peer.name, peer.requested_bytes) for peer in facts.peers] == [("n2", 2 * GIB)]
    assert facts.workloads[WorkloadRef("batch", "Job", "report")].backoff_limit == 0


def test_only_lists_that_somebody_needs_are_asked_for(simulated, reader):
    """No Jobs in a namespace without Jobs, nothing at all around DaemonSets, no list twice."""
    reader.snapshot("n1")
    paths = [asked["path"] for asked in requests_to(simulated.url)]
    assert not [path for path in paths if "kube-system" in path]
    assert "/apis/batch/v1/namespaces/batch/jobs" in paths
    assert "/apis/batch/v1/namespaces/shop/jobs" not in paths
    assert "/apis/apps/v1/namespaces/batch/deployments" not in paths
    assert len(paths) == len(set(paths)) + 1  # pods of all namespaces: of this node, and of all for their requests


def test_the_second_look_costs_two_requests_and_sees_the_pods_as_they_are(simulated, reader):
    """Right before an act the node and its pods are read afresh; what surrounds them may be two seconds old."""
    reader.snapshot("n1")
    before = len(requests_to(simulated.url))
    simulated.store.delete("Pod", "batch", "report-x")
    facts = reader.snapshot("n1")
    assert "batch" not in {pod.namespace for pod in facts.pods}
    assert len(requests_to(simulated.url)) - before == 2


def test_successors_are_found_after_the_last_pod_has_left(simulated):
    """A namespace that has no pod on the node any more is still looked at: where did its replacement land?"""
    reader = KubernetesCluster(api_of(simulated.url), speed=1000)  # everything a millisecond or two old
    reader.snapshot("n1")
    for name in ("web-7f-a",):
        simulated.store.delete("Pod", "shop", name)
    facts = reader.snapshot("n1")
    web = facts.workloads[WorkloadRef("shop", "Deployment", "web")]
    assert [place.node for place in web.pods] == ["n2"]


def test_long_lists_come_page_by_page(simulated, monkeypatch):
    """No answer is larger than a page, and no object is lost between two."""
    monkeypatch.setattr(kubernetes_api, "PAGE_OBJECTS", 1)
    facts = KubernetesCluster(api_of(simulated.url)).snapshot("n1")
    assert len(facts.pods) == 3
    assert all("limit=1" in asked["query"] for asked in requests_to(simulated.url) if asked["verb"] == "list")


def test_a_missing_api_is_not_a_missing_node(simulated, reader):
    """404 of something else than the node means that we know nothing."""
    simulated.faults.replace([Fault(path="endpointslices", status=404)])
    found = reader.snapshot("n1")
    assert isinstance(found, Unknown)
    assert found.reason is Reason.DATA_UNKNOWN


def test_an_object_that_makes_no_sense_is_unknown(canned):
    """A quantity nobody can read makes the snapshot Unknown, it does not raise."""
    broken = {"metadata": {"name": "n1"}, "status": {"allocatable": {"memory": "lots"}}}
    server = canned(lambda asked: broken if asked.path.endswith("/n1") else {"items": []})
    found = KubernetesCluster(api_of(server.url)).snapshot("n1")
    assert isinstance(found, Unknown)
    assert "lots" in found.why


# --- which node an alert means ------------------------------------------------------------


def test_b13_a_node_label_is_never_second_guessed(reader):
    """An explicit node that does not exist is refused, whatever address stands beside it."""
    found = reader.node_for({"node": "n9", "instance": "10.0.0.1:9100"})
    assert isinstance(found, Rejection)
    assert found.reason is Reason.NODE_UNKNOWN


def test_b13_nodename_helps_where_the_address_is_unknown(reader):
    """`instance` of a proxy leads nowhere, node_uname_info's nodename does."""
    assert reader.node_for({"instance": "10.9.9.9:9100", "nodename": "n2"}) == "n2"


def test_a_node_that_has_just_joined_is_found(simulated):
    """An unknown name is looked up once more in a fresh list."""
    reader = KubernetesCluster(api_of(simulated.url), speed=100)
    assert reader.node_for({"node": "n1"}) == "n1"
    simulated.store.create("Node", node("n3", "10.0.0.3"))
    threading.Event().wait(0.03)
    assert reader.node_for({"instance": "10.0.0.3:9100"}) == "n3"


def test_our_cordons_are_found_by_their_mark(simulated, reader):
    """A node closed by somebody else is not ours."""
    for name, annotations in (("n1", {"remediator.io/cordoned-by": "e"}), ("n2", {})):
        found = simulated.store.get("Node", None, name)
        metadata = {**found["metadata"], "annotations": annotations}
        simulated.store.update("Node", {**found, "metadata": metadata, "spec": {"unschedulable": True}})
    assert reader.isolated_by_us() == ["n1"]


def test_a_pod_s_uid_is_its_present_one(simulated, reader):
    """None when nobody has the name."""
    assert reader.pod_uid("shop", "web-7f-a") == simulated.store.get("Pod", "shop", "web-7f-a")["metadata"]["uid"]
    assert reader.pod_uid("shop", "web-7f") is None


@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@given(st.text(max_size=20), st.ip_addresses())
def test_any_label_means_some_nodes_or_none(text, address):
    """Whatever stands in a label, looking it up neither fails nor finds a node that has another name and address."""
    known = (KnownNode(NodeFacts("n1"), (str(address),)),)
    assert matching_nodes(text, known) <= {"n1"}
    named = f"[{address}]:9100" if address.version == 6 else f"{address}:9100"
    assert matching_nodes(named, known) == {"n1"}
    assert matching_nodes(str(address), known) == {"n1"}


# --- a value that is read again ------------------------------------------------------------


class Reading:
    """Counts reads; can be held up, and fail."""

    def __init__(self) -> None:
        self.now, self.count, self.fails = 0.0, 0, False
        self.open = threading.Event()
        self.open.set()
        self.pool = ThreadPoolExecutor(1)
        self.value = Refreshed(self.read, self.pool, fresh_seconds=10, usable_seconds=100, monotonic=lambda: self.now)

    def read(self) -> int:
        self.open.wait(5)
        if self.fails:
            raise OSError("no")
        self.count += 1
        return self.count

    def settle(self) -> None:
        self.pool.submit(int).result(5)


def test_a_fresh_value_is_not_read_again():
    """Within its freshness nobody asks."""
    reading = Reading()
    assert [reading.value.get(5), reading.value.get(5)] == [1, 1]


def test_an_old_value_serves_while_the_new_one_is_read():
    """Nobody waits, and only one reads."""
    reading = Reading()
    reading.value.get(5)
    reading.now = 50
    reading.open.clear()
    assert [reading.value.get(0) for _ in range(5)] == [1] * 5
    reading.open.set()
    reading.settle()
    assert reading.value.get(0) == 2


def test_a_value_that_is_too_old_is_waited_for():
    """Beyond its use only a new one will do: in time, or not at all."""
    reading = Reading()
    reading.value.get(5)
    reading.now = 200
    reading.open.clear()
    with pytest.raises(TimeoutError):
        reading.value.get(0.01)
    reading.open.set()
    assert reading.value.get(5) == 2


def test_a_failed_read_is_tried_again():
    """The old value serves as long as it may; then the failure is told."""
    reading = Reading()
    reading.value.get(5)
    reading.now, reading.fails = 50, True
    assert reading.value.get(0) == 1
    reading.settle()
    reading.now = 200
    with pytest.raises(OSError, match="no"):
        reading.value.get(5)
    reading.fails = False
    assert reading.value.get(5) == 2


# --- rights ------------------------------------------------------------


def served_with(serve, rules, namespaced=()):
    access = Access(
        tokens={"t": "remediator"},
        grants=[Grant("remediator", rules), Grant("remediator", namespaced, "remediator")],
    )
    return api_of(serve(a_store(), access).url, token="t")


def test_the_listed_rules_are_enough_and_each_is_needed(serve):
    """With exactly RBAC_RULES everything is allowed; without any one of them readiness names what is missing."""
    everywhere = [rule for rule in RULES if not rule.get("namespaced")]
    home = [rule for rule in RULES if rule.get("namespaced")]
    assert Rights(served_with(serve, everywhere, home), lambda: RULES, "remediator").ready() == ""
    missing = Rights(served_with(serve, everywhere[1:], home), lambda: RULES, "remediator").ready()
    assert "may not" in missing
    assert "leases" in Rights(served_with(serve, everywhere), lambda: RULES, "remediator").ready()


def test_a_least_privileged_account_reads_the_cluster(serve):
    """A snapshot asks for nothing that is not in the reader's own rules."""
    reader = KubernetesCluster(served_with(serve, cluster.RBAC_RULES))
    assert not isinstance(reader.snapshot("n1"), Unknown)
    assert reader.node_for({"instance": "10.0.0.2:9100"}) == "n2"
    assert reader.isolated_by_us() == []
    assert reader.pod_uid("shop", "web-7f-a")


def test_a_least_privileged_account_acts_keeps_and_tells(serve):
    """Every action, record, lease and Event is possible with exactly the rights that are listed for it."""
    optional = (*actuator.SCALE_RBAC_RULES, *actuator.FORCE_DELETE_RBAC_RULES)
    everywhere = [rule for rule in (*RULES, *optional) if not rule.get("namespaced")]
    access = Access(
        tokens={"t": "remediator"},
        grants=[Grant("remediator", everywhere), Grant("remediator", leases.RBAC_RULES, "remediator")],
    )
    store = a_store()
    served = serve(store, access)
    definition = normalised(yaml.safe_load(CRD_FILE.read_text()))
    established(store, store.create("CustomResourceDefinition", definition))
    api = api_of(served.url, token="t")
    acting = KubernetesActuator(api, TaintSpec(), pause=lambda _: None)
    # Last, for it ends the pod that the others act on.
    kinds = sorted(ActionKind, key=lambda kind: kind is ActionKind.FORCE_DELETE)
    reasons = {acting.perform(action(kind, store, **ANY.get(kind, {}))).reason for kind in kinds}
    assert Reason.FORBIDDEN not in reasons
    assert Reason.ACCEPTED in reasons
    kept = NodeRemediationRecords(api)
    assert kept.save(kept.save(kept.load("n1"), NodeState()), NodeState(rounds=1)).state.rounds == 1
    assert kept.ready() == ""
    held = KubernetesLeases(api, "remediator", "me")
    assert held.acquire("slot")
    assert held.acquire("slot")
    held.release("slot")
    told = KubernetesEvents(api, "remediator", "me")
    for _ in range(2):
        told.emit("Pod", "web-7f-a", "shop", "", "Evict", "one", True)
    told.close()
    assert [event["count"] for event in store.list("Event", "shop")] == [2]


def test_e09_a_server_without_the_eviction_api_is_not_ready(canned):
    """policy/v1 evictions are looked for; where they are missing readiness says so, and asks for no other way."""
    server = canned(lambda asked: {"resources": [{"name": "pods", "kind": "Pod"}]})
    why = Rights(api_of(server.url), lambda: actuator.RBAC_RULES, "remediator").ready()
    assert "pods/eviction" in why
    old = {"name": "pods/eviction", "group": "policy", "version": "v1beta1"}
    server.answer = lambda asked: {"resources": [old]}
    assert "policy/v1" in Rights(api_of(server.url), lambda: actuator.RBAC_RULES, "remediator").ready()


def test_rights_that_cannot_be_asked_for_are_not_there(canned):
    """A server that fails the review makes us not ready."""
    server = canned(lambda asked: Answer(500))
    assert "cannot be asked" in Rights(api_of(server.url), lambda: cluster.RBAC_RULES, "remediator").ready()


KOORDINATOR = "koordinator-system/slo-controller-config"


def with_config_map(**data: str):
    """A cluster that has Koordinator's ConfigMap."""
    store = a_store()
    store.create("Namespace", {"metadata": {"name": "koordinator-system"}})
    metadata = {"namespace": "koordinator-system", "name": "slo-controller-config"}
    store.create("ConfigMap", {"metadata": metadata, "data": data})
    return store


def test_koordinators_config_map_is_read_by_its_name(serve):
    """Its one key; no such ConfigMap, or one without the key, is none; a server that fails is unknown."""
    served = serve(with_config_map(**{"resource-threshold-config": "{}"}))
    reader = KubernetesCluster(api_of(served.url))
    assert reader.config_map(KOORDINATOR) == "{}"
    assert reader.config_map("koordinator-system/other") is None
    assert KubernetesCluster(api_of(serve(with_config_map(other="x")).url)).config_map(KOORDINATOR) is None
    served.faults.replace([Fault(path="/configmaps", status=403)])
    assert isinstance(reader.config_map(KOORDINATOR), Unknown)


def test_the_right_to_one_config_map_is_enough(serve):
    """By name, in its namespace: without it readiness says so, with it exactly that one can be read."""
    rule = cluster.config_map_rule(KOORDINATOR)
    access = Access(tokens={"t": "remediator"}, grants=[Grant("remediator", [rule], "koordinator-system")])
    served = serve(with_config_map(**{"resource-threshold-config": "{}"}), access)
    api = api_of(served.url, token="t")
    assert Rights(api, lambda: [rule], "remediator").ready() == ""
    assert KubernetesCluster(api).config_map(KOORDINATOR) == "{}"
    assert isinstance(KubernetesCluster(api).config_map("koordinator-system/other"), Unknown)
    assert "configmaps" in Rights(served_with(serve, []), lambda: [rule], "remediator").ready()
