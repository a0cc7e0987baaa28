"""Objects of a real API server become facts."""

import pytest

from remediator.adapters.pod_facts import node_facts, pod_facts, pod_requests
from remediator.adapters.quantities import memory_bytes
from remediator.adapters.surroundings import Namespace, Owners, budgets, selects, services, slim, workloads
from remediator.core.model import Taint, WorkloadRef
from tests.adapters.canned import captured

MIB = 2**20
PODS = captured("04")["body"]["items"]


def owners() -> Owners:
    return Owners([Namespace(replica_sets=captured("06")["body"]["items"], jobs=[captured("08")["body"]])])


def test_a_real_node_is_read():
    """Name, allocatable memory, conditions, and later its cordon with the controller's own taint."""
    node = node_facts(captured("02")["body"])
    assert (node.name, node.ready, node.unschedulable) == ("node-5", True, False)
    assert node.allocatable_bytes == memory_bytes(captured("02")["body"]["status"]["allocatable"]["memory"])
    cordoned = node_facts(captured("24")["body"])
    assert cordoned.unschedulable
    assert Taint("node.kubernetes.io/unschedulable", "", "NoSchedule") in cordoned.taints


def test_real_pods_lead_to_the_workload_that_people_know():
    """A ReplicaSet's pod belongs to its Deployment; StatefulSets and Jobs own theirs directly."""
    found = {str(pod_facts(pod, owners().workload_of).workload) for pod in PODS}
    assert "capture/Deployment/web" in found
    assert not [name for name in found if "ReplicaSet" in name]


def test_every_real_pod_is_read_whole():
    """UID, request, grace and phase of each; no pod of a real answer fails to be read."""
    for pod in PODS:
        facts = pod_facts(pod, owners().workload_of)
        assert facts.uid == pod["metadata"]["uid"]
        assert facts.request_bytes == sum(
            memory_bytes(((c.get("resources") or {}).get("requests") or {}).get("memory"))
            for c in pod["spec"]["containers"]
        )
        assert facts.created_at > 1_700_000_000


def test_a_terminating_pod_tells_since_when():
    """deletionTimestamp is the end of the grace period, not its beginning."""
    pod = captured("18")["body"]
    facts = pod_facts(pod, lambda _: None)
    grace = pod["metadata"]["deletionGracePeriodSeconds"]
    assert facts.terminating_since is not None
    assert facts.terminating_since + grace > facts.created_at


def test_real_endpoints_follow_the_label():
    """The pod whose serving label went is no longer behind its Service; the others are."""
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}}}

    def ready(capture):
        slices = captured(capture)["body"]["items"]
        name = slices[0]["metadata"]["labels"]["kubernetes.io/service-name"]
        service = {**body, "metadata": {"name": name, "namespace": "capture"}}
        (found,) = services([Namespace(services=[service], endpoint_slices=[slim(s) for s in slices])])
        return found.pod_uids

    drained = captured("34")["body"]["metadata"]["uid"]
    assert drained in ready("09")
    assert drained not in ready("35")
    assert ready("09") & ready("35")


def test_real_budgets_are_matched_to_pods():
    """The budget's selector picks the web pods of the node; what it allows is read from its status."""
    items = captured("10")["body"]["items"]
    found = budgets({"capture": Namespace(budgets=[slim(item) for item in items])}, PODS)
    assert found
    web = {pod["metadata"]["uid"] for pod in PODS if pod["metadata"]["labels"].get("app") == "web"}
    assert all(budget.pod_uids <= web for budget in found if budget.name == "web")


def test_what_is_not_read_is_not_kept():
    """Pod templates and managed fields make most of a list's weight."""
    kept = slim(captured("06")["body"]["items"][0])
    assert "template" not in kept["spec"]
    assert kept["spec"]["selector"]["matchLabels"]
    assert "managedFields" not in kept["metadata"]


def minimal(**more):
    spec = more.pop("spec", {"containers": [{"name": "c"}]})
    return {"metadata": {"namespace": "x", "name": "p", "uid": "u", **more}, "spec": spec}


def test_d08_an_evicted_pod_without_any_status_is_read():
    """Evicted pods pile up without containerStatuses, conditions, or a start: none of it is needed."""
    facts = pod_facts(minimal() | {"status": {"phase": "Failed", "reason": "Evicted"}}, lambda _: None)
    assert (facts.phase, facts.status_reason, facts.terminations, facts.ended_at) == ("Failed", "Evicted", (), None)
    assert pod_facts(minimal(), lambda _: None).phase == "Unknown"


def test_a_static_pod_goes_by_the_uid_its_cgroup_has():
    """The mirror's own UID is measured by nobody; the kubelet names the cgroup after the configuration's hash."""
    marks = {"kubernetes.io/config.mirror": "0123abc", "kubernetes.io/config.hash": "0123abc"}
    facts = pod_facts(minimal(annotations=marks), lambda _: None)
    assert (facts.mirror, facts.uid) == (True, "0123abc")


@pytest.mark.parametrize(
    ("spec", "mib"),
    [
        ({"containers": [("100Mi", None), ("50Mi", None)]}, 150),
        ({"containers": [("100Mi", None)], "initContainers": [("300Mi", None)]}, 300),
        ({"containers": [("100Mi", None)], "initContainers": [("30Mi", "Always")]}, 130),
        ({"containers": [("100Mi", None)], "initContainers": [("30Mi", "Always"), ("90Mi", None)]}, 130),
        ({"containers": [("100Mi", None)], "overhead": {"memory": "20Mi"}}, 120),
    ],
)
def test_requests_are_counted_as_the_scheduler_counts(spec, mib):
    """Sidecars add, the largest init container is a floor, the runtime's overhead comes on top."""
    made = {"overhead": spec.get("overhead")}
    for part in ("containers", "initContainers"):
        made[part] = [
            {"name": str(i), "resources": {"requests": {"memory": memory}}, "restartPolicy": policy}
            for i, (memory, policy) in enumerate(spec.get(part, []))
        ]
    assert pod_requests(made) == mib * MIB


def test_a_pod_without_a_limit_on_one_container_has_none():
    """The sum of limits means something only when every container has one."""

    def limited(*limits):
        resources = [{"limits": {"memory": limit}} if limit else {} for limit in limits]
        spec = {"containers": [{"name": str(i), "resources": found} for i, found in enumerate(resources)]}
        return pod_facts(minimal(spec=spec), lambda _: None)

    assert limited("1Gi", "1Gi").limit_bytes == 2048 * MIB
    assert limited("1Gi", None).limit_bytes is None
    assert limited("1Gi", "1Gi").request_bytes == 2048 * MIB


@pytest.mark.parametrize(
    ("volume", "kinds"),
    [
        ({"persistentVolumeClaim": {"claimName": "c"}}, {"pvc"}),
        ({"ephemeral": {}}, {"pvc"}),
        ({"hostPath": {"path": "/x"}}, {"hostPath"}),
        ({"emptyDir": {}}, {"emptyDir"}),
        ({"emptyDir": {"medium": "Memory"}}, set()),
        ({"configMap": {"name": "c"}}, set()),
    ],
)
def test_volumes_that_hold_data_are_told(volume, kinds):
    """A tmpfs or a configuration holds nothing that an eviction would lose."""
    spec = {"containers": [{"name": "c"}], "volumes": [{"name": "v", **volume}]}
    assert pod_facts(minimal(spec=spec), lambda _: None).volumes == kinds


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "api"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "FromTheFuture"}]}, False),
    ],
)
def test_selectors_select_as_the_api_says(selector, matches):
    """policy/v1: an empty selector selects everything, none selects nothing."""
    assert selects(selector, {"app": "web"}) is matches


def test_a_real_deployment_s_selector_is_its_replica_set_s():
    """What a pod must keep is what the ReplicaSet selects by, pod-template-hash included."""
    (replica_set,) = captured("06")["body"]["items"]
    pod = next(p for p in PODS if p["metadata"]["labels"].get("app") == "web")
    here = Namespace(pods=[pod], replica_sets=[slim(replica_set)])
    found = workloads([here])[WorkloadRef("capture", "Deployment", "web")]
    assert found.selector == replica_set["spec"]["selector"]["matchLabels"]
    assert "pod-template-hash" in found.selector
