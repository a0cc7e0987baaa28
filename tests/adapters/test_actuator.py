"""Acts on the cluster, over real HTTP: every answer of the API, and nobody else's marks touched."""

import pytest
import requests

from remediator.adapters.actuator import CORDONED_BY, KubernetesActuator, RecordingActuator
from remediator.core.actions import Action, ActionKind, ActionStatus
from remediator.core.policy import TaintSpec
from remediator.core.reason import Reason
from remediator.drill.apiserver.faults import Fault
from tests.adapters.conftest import pod

SERVING = "remediator.io/serving"


@pytest.fixture
def actuator(api):
    return KubernetesActuator(api, TaintSpec(), clock=lambda: 1000.0)


def action(kind: ActionKind, cluster=None, **more) -> Action:
    uid = cluster.store.get("Pod", "shop", "web-1")["metadata"]["uid"] if cluster else ""
    given = {"namespace": "shop", "pod": "web-1", "pod_uid": uid} if cluster else {}
    return Action(kind, "n1", "episode-1", **{**given, **more})


def node(cluster):
    return cluster.store.get("Node", None, "n1")


def budget(store, name="web", allowed=0):
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    made = store.create("PodDisruptionBudget", {"metadata": {"name": name, "namespace": "shop"}, "spec": spec})
    status = {"disruptionsAllowed": allowed, "observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 1}
    store.update("PodDisruptionBudget", {**made, "status": status}, subresource="status")


def asked(cluster, **wanted) -> list[dict]:
    log = requests.get(f"{cluster.url}/drill/requests", timeout=5).json()
    return [entry for entry in log if all(entry.get(key) == value for key, value in wanted.items())]


def test_an_accepted_eviction_terminates_the_pod_with_the_grace_asked_for(cluster, actuator):
    """The UID is the precondition, and the grace period reaches the API."""
    result = actuator.perform(action(ActionKind.EVICT, cluster, grace_period_seconds=5))
    assert (result.status, result.reason) == (ActionStatus.DONE, Reason.ACCEPTED)
    assert cluster.store.get("Pod", "shop", "web-1")["metadata"]["deletionGracePeriodSeconds"] == 5


def test_e01_a_budget_is_told_apart_from_throttling(cluster, actuator):
    """429 with the cause DisruptionBudget blames the pod; 429 without it blames nobody."""
    budget(cluster.store)
    held = actuator.perform(action(ActionKind.EVICT, cluster))
    assert (held.status, held.reason) == (ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET)
    cluster.faults.replace([Fault(method="POST", path="/eviction", status=429)])
    throttled = actuator.perform(action(ActionKind.EVICT, cluster))
    assert (throttled.status, throttled.reason) == (ActionStatus.RETRY_LATER, Reason.THROTTLED)


def test_e04_two_budgets_are_final_and_a_plain_500_is_tried_again_at_most_twice(cluster, actuator):
    """More than one budget: never again for this pod. etcd hiccups: at most two more requests."""
    budget(cluster.store, "one", 1)
    budget(cluster.store, "two", 1)
    final = actuator.perform(action(ActionKind.EVICT, cluster))
    assert (final.status, final.reason) == (ActionStatus.REFUSED, Reason.TWO_BUDGETS)
    before = len(asked(cluster, subresource="eviction"))
    cluster.store.delete("PodDisruptionBudget", "shop", "one")
    cluster.faults.replace([Fault(method="POST", path="/eviction", status=500)])
    failed = actuator.perform(action(ActionKind.EVICT, cluster))
    assert failed.status in (ActionStatus.FAILED, ActionStatus.RETRY_LATER)
    log = requests.get(f"{cluster.url}/drill/requests", timeout=5).json()
    tries = [entry for entry in log if entry["path"].endswith("/eviction")]
    assert len(tries) - before <= 3


def test_e05_a_successor_of_the_same_name_is_left_alone(cluster, actuator):
    """The pod was replaced between ranking and request: 409, dropped, the successor lives."""
    old = action(ActionKind.EVICT, cluster)
    cluster.store.delete("Pod", "shop", "web-1")
    pod(cluster.store, "web-1")
    result = actuator.perform(old)
    assert (result.status, result.reason) == (ActionStatus.SKIPPED, Reason.REPLACED_SINCE)
    assert "deletionTimestamp" not in cluster.store.get("Pod", "shop", "web-1")["metadata"]


def test_a_pod_that_is_gone_is_not_counted_as_ours(cluster, actuator):
    """404 is no success of ours."""
    gone = action(ActionKind.EVICT, cluster)
    cluster.store.delete("Pod", "shop", "web-1")
    assert actuator.perform(gone).reason is Reason.ALREADY_GONE


def test_a_terminating_namespace_is_told_apart_from_missing_rights(cluster, actuator):
    """Both are 403; only one of them is our own fault."""
    cluster.store.mark_deleted("Namespace", None, "shop", None)
    assert actuator.perform(action(ActionKind.EVICT, cluster)).reason is Reason.NAMESPACE_TERMINATING
    cluster.faults.replace([Fault(method="POST", path="/eviction", status=403)])
    assert actuator.perform(action(ActionKind.EVICT, cluster)).reason is Reason.FORBIDDEN


def test_a_lost_answer_is_looked_up_by_uid(cluster, actuator):
    """The connection broke after the eviction took effect: the pod itself says so."""
    cluster.faults.replace([Fault(method="POST", path="/eviction", lose_answer=True, times=1)])
    result = actuator.perform(action(ActionKind.EVICT, cluster))
    assert result.status is ActionStatus.DONE
    assert len(asked(cluster, verb="create", subresource="eviction")) == 1


def test_e10_nothing_is_ever_deleted(cluster, actuator):
    """Pods leave through the Eviction API alone."""
    for kind in (ActionKind.EVICT, ActionKind.CORDON, ActionKind.TAINT, ActionKind.UNTAINT, ActionKind.UNCORDON):
        actuator.perform(action(kind, cluster if kind is ActionKind.EVICT else None))
    assert not asked(cluster, method="DELETE")


def test_a_forced_deletion_is_of_that_pod_only(cluster, actuator):
    """At once for the pod of this UID, however long it was terminating; a successor of its name is left alone."""
    stuck = action(ActionKind.FORCE_DELETE, cluster)
    actuator.perform(action(ActionKind.EVICT, cluster, grace_period_seconds=30))
    assert cluster.store.find("Pod", "shop", "web-1") is not None
    assert actuator.perform(stuck).status is ActionStatus.DONE
    assert cluster.store.find("Pod", "shop", "web-1") is None
    pod(cluster.store, "web-1")
    again = actuator.perform(stuck)
    assert (again.status, again.reason) == (ActionStatus.SKIPPED, Reason.ALREADY_GONE)
    assert cluster.store.find("Pod", "shop", "web-1") is not None


def test_f02_other_peoples_taints_survive(cluster, actuator):
    """Tainting and untainting leave every other taint where it was."""
    gpu = {"key": "gpu", "value": "true", "effect": "NoSchedule"}
    cluster.store.update("Node", {**node(cluster), "spec": {"taints": [gpu]}})
    actuator.perform(action(ActionKind.TAINT))
    assert [t["key"] for t in node(cluster)["spec"]["taints"]] == ["gpu", "memory-pressure"]
    actuator.perform(action(ActionKind.UNTAINT))
    assert node(cluster)["spec"]["taints"] == [gpu]


def test_f01_a_node_closed_by_a_human_stays_closed(cluster, actuator):
    """What was unschedulable before us is unschedulable after us; our marks are gone."""
    cluster.store.update("Node", {**node(cluster), "spec": {"unschedulable": True}})
    assert actuator.perform(action(ActionKind.CORDON)).status is ActionStatus.DONE
    assert node(cluster)["metadata"]["annotations"][CORDONED_BY] == "episode-1"
    actuator.perform(action(ActionKind.UNCORDON))
    assert node(cluster)["spec"]["unschedulable"] is True
    assert CORDONED_BY not in node(cluster)["metadata"].get("annotations", {})


def test_a_cordon_is_given_back_whole(cluster, actuator):
    """Cordon and uncordon leave the node as it was found; doing either twice changes nothing."""
    before = node(cluster)["spec"]
    for kind in (ActionKind.CORDON, ActionKind.CORDON, ActionKind.UNCORDON):
        assert actuator.perform(action(kind)).status is ActionStatus.DONE
    assert node(cluster)["spec"] == before
    assert actuator.perform(action(ActionKind.UNCORDON)).reason is Reason.NOT_OURS


def test_endpoints_are_drained_and_restored_by_one_label(cluster, actuator):
    """The serving label goes and comes back; nothing else of the pod changes."""
    label = {"label": SERVING, "label_value": "true"}
    assert actuator.perform(action(ActionKind.DRAIN_ENDPOINTS, cluster, **label)).status is ActionStatus.DONE
    assert cluster.store.get("Pod", "shop", "web-1")["metadata"]["labels"] == {"app": "web"}
    assert actuator.perform(action(ActionKind.DRAIN_ENDPOINTS, cluster, **label)).reason is Reason.ALREADY_DONE
    assert actuator.perform(action(ActionKind.RESTORE_ENDPOINTS, cluster, **label)).status is ActionStatus.DONE
    assert cluster.store.get("Pod", "shop", "web-1")["metadata"]["labels"][SERVING] == "true"


def test_a_replaced_pod_is_not_drained(cluster, actuator):
    """The label of a successor is never touched."""
    old = action(ActionKind.DRAIN_ENDPOINTS, cluster, label=SERVING, label_value="true")
    cluster.store.delete("Pod", "shop", "web-1")
    pod(cluster.store, "web-1")
    assert actuator.perform(old).reason is Reason.REPLACED_SINCE
    assert SERVING in cluster.store.get("Pod", "shop", "web-1")["metadata"]["labels"]


def test_observing_touches_nothing(cluster):
    """The recording actuator says what it would do and has nothing to do it with."""
    result = RecordingActuator(lambda: 1.0).perform(action(ActionKind.EVICT, cluster))
    assert (result.status, result.reason) == (ActionStatus.DONE, Reason.DRY_RUN)
    assert not asked(cluster, subresource="eviction")
