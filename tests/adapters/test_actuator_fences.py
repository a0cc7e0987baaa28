"""Fences of the actions: races, lost answers, throttling, marks of ours and of others, replicas remembered."""

import pytest

from remediator.adapters.actuator import KubernetesActuator
from remediator.core.policy import TaintSpec
from remediator.core.reason import Reason
from remediator.core.state import ActionKind, ActionStatus
from remediator.drill.apiserver.faults import Fault
from tests.adapters.canned import Answer, api_of, captured, requests_to
from tests.adapters.world import EPISODE, WEB, action

OURS = {"key": "memory-pressure", "value": "critical", "effect": "NoSchedule"}
GPU = {"key": "gpu", "value": "true", "effect": "NoSchedule"}
SERVING = "remediator.io/serving"


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def actuator(simulated, pauses):
    """Acts on the simulated cluster, and notes its pauses instead of sleeping."""
    return acting_on(simulated.url, pauses)


def acting_on(url, pauses, **timeouts):
    return KubernetesActuator(api_of(url, **timeouts), TaintSpec(), lambda: 1_000.0, pause=pauses.append)


def marks(node):
    return {k: v for k, v in (node["metadata"].get("annotations") or {}).items() if k.startswith("remediator.io/")}


# --- evict ----------------------------------------------------------------------------------------------------------


def test_an_eviction_without_a_uid_is_never_asked(simulated, actuator):
    """No UID, no request."""
    result = actuator.perform(action(ActionKind.EVICT, pod="web-7f-a", namespace="shop"))
    assert result.status is ActionStatus.REFUSED
    assert not requests_to(simulated.url)


def test_e01_a_budget_and_throttling_are_told_apart(canned, pauses):
    """429 with the cause DisruptionBudget is asked once; 429 without is asked again after the pause it names."""
    server = canned(lambda asked: Answer(429, captured("11")["body"]))
    held = acting_on(server.url, pauses).perform(action(ActionKind.EVICT, pod_uid="u"))
    assert (held.status, held.reason) == (ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET)
    assert (len(server.asked), pauses) == (1, [])
    server.answer = lambda asked: Answer(429, {"reason": "TooManyRequests"}, {"Retry-After": "1"})
    throttled = acting_on(server.url, pauses).perform(action(ActionKind.EVICT, pod_uid="u"))
    assert (throttled.status, throttled.reason) == (ActionStatus.RETRY_LATER, Reason.THROTTLED)
    assert (len(server.asked), pauses) == (1 + 3, [1.0, 1.0])


def test_e04_two_budgets_end_it_at_once_and_etcd_is_asked_three_times(canned, pauses):
    """500 with the words of two budgets is final; any other 500 is tried at most twice more."""
    server = canned(lambda asked: Answer(500, captured("13")["body"]))
    final = acting_on(server.url, pauses).perform(action(ActionKind.EVICT, pod_uid="u"))
    assert (final.status, final.reason, len(server.asked)) == (ActionStatus.REFUSED, Reason.TWO_BUDGETS, 1)
    alive = {"metadata": {"uid": "u"}}
    server.asked.clear()
    server.answer = lambda asked: alive if asked.method == "GET" else Answer(500, {"message": "etcdserver: timed out"})
    failed = acting_on(server.url, pauses).perform(action(ActionKind.EVICT, pod_uid="u"))
    assert (failed.status, failed.reason) == (ActionStatus.FAILED, Reason.API_ERROR)
    assert [asked.method for asked in server.asked] == ["POST"] * 3 + ["GET"]


def test_a_lost_answer_is_read_off_the_pod(simulated, pauses):
    """The eviction took effect and its answer was lost: the terminating pod says so, and it is not asked again."""
    simulated.faults.replace([Fault(method="POST", path="eviction", lose_answer=True)])
    result = acting_on(simulated.url, pauses).perform(action(ActionKind.EVICT, simulated.store))
    assert (result.status, result.reason) == (ActionStatus.DONE, Reason.ACCEPTED)
    assert "in spite of" in result.detail
    assert sum(asked["method"] == "POST" for asked in requests_to(simulated.url)) == 1


def test_no_answer_and_a_living_pod_leave_it_open(simulated, pauses):
    """A request that hangs may still take effect, so the outcome is UNKNOWN, and the pod is not asked again."""
    simulated.faults.replace([Fault(method="POST", path="eviction", never_answer=True)])
    acting = acting_on(simulated.url, pauses, write_timeout_seconds=0.2)
    result = acting.perform(action(ActionKind.EVICT, simulated.store))
    assert (result.status, result.reason) == (ActionStatus.UNKNOWN, Reason.TIMED_OUT)


def test_an_unreachable_server_has_evicted_nobody(canned, pauses):
    """A connection that is refused is a failure, not an eviction that may have happened."""
    server = canned(lambda asked: {})
    server.stop()
    acting = acting_on(server.url, pauses, read_budget_seconds=0.1)
    result = acting.perform(action(ActionKind.EVICT, pod_uid="u"))
    assert (result.status, result.reason) == (ActionStatus.FAILED, Reason.API_ERROR)


def test_e09_without_the_eviction_api_nothing_is_deleted_instead(canned, pauses):
    """404 of the resource itself is a failure of the API; there is no delete fallback."""
    server = canned(lambda asked: Answer(404, b"404 page not found"))
    result = acting_on(server.url, pauses).perform(action(ActionKind.EVICT, pod_uid="u"))
    assert (result.status, result.reason) == (ActionStatus.FAILED, Reason.API_ERROR)
    assert [asked.method for asked in server.asked] == ["POST"]


def test_e10_no_action_ever_deletes(simulated, actuator):
    """All kinds of actions but the one that is off by default send no DELETE, and evict through policy/v1 only."""
    for kind in set(ActionKind) - {ActionKind.FORCE_DELETE}:
        given = {"workload": WEB, "replicas": 0, "replicas_before": 2} if "scale" in kind.value else {}
        label = {"label": SERVING, "label_value": "true"} if "endpoints" in kind.value else {}
        actuator.perform(action(kind, simulated.store, **given, **label))
    asked = requests_to(simulated.url)
    assert len({request["path"] for request in asked}) > 4
    assert not [request for request in asked if request["method"] == "DELETE"]


def test_a_grace_of_zero_is_not_a_forced_deletion(simulated, actuator):
    """Zero seconds would remove the object while its containers run: one second is asked for."""
    actuator.perform(action(ActionKind.EVICT, simulated.store, grace_period_seconds=0))
    assert simulated.store.get("Pod", "shop", "web-7f-a")["metadata"]["deletionGracePeriodSeconds"] == 1


# --- cordon and taint -----------------------------------------------------------------------------------------------


def test_cordon_and_taint_come_and_go_with_their_marks(simulated, actuator):
    """Closed, tainted and marked; after the undo the node is as it was."""
    before = simulated.store.get("Node", None, "n1")
    for kind in (ActionKind.CORDON, ActionKind.TAINT):
        assert actuator.perform(action(kind)).status is ActionStatus.DONE
    closed = simulated.store.get("Node", None, "n1")
    assert closed["spec"] == {"unschedulable": True, "taints": [OURS]}
    assert marks(closed)["remediator.io/cordoned-by"] == EPISODE
    assert marks(closed)["remediator.io/prior-unschedulable"] == "false"
    for kind in (ActionKind.UNTAINT, ActionKind.UNCORDON):
        assert actuator.perform(action(kind)).status is ActionStatus.DONE
    after = simulated.store.get("Node", None, "n1")
    assert not after["spec"].get("taints")
    assert not after["spec"].get("unschedulable")
    assert marks(after) == marks(before)


def test_f01_a_human_s_cordon_outlives_ours(simulated, actuator):
    """A node that was closed before us is closed after us."""
    node = simulated.store.get("Node", None, "n1")
    simulated.store.update("Node", {**node, "spec": {"unschedulable": True}})
    for kind in (ActionKind.CORDON, ActionKind.UNCORDON):
        actuator.perform(action(kind))
    after = simulated.store.get("Node", None, "n1")
    assert after["spec"]["unschedulable"] is True
    assert not marks(after)


def test_f01_a_taint_like_ours_that_a_human_set_stays(simulated, actuator):
    """The taint was there before: it serves, and it is not ours to take away."""
    node = simulated.store.get("Node", None, "n1")
    simulated.store.update("Node", {**node, "spec": {"taints": [OURS]}})
    assert actuator.perform(action(ActionKind.TAINT)).reason is Reason.ALREADY_DONE
    assert actuator.perform(action(ActionKind.UNTAINT)).reason is Reason.NOT_OURS
    assert simulated.store.get("Node", None, "n1")["spec"]["taints"] == [OURS]


@pytest.mark.parametrize("kind", [ActionKind.TAINT, ActionKind.UNTAINT])
def test_f02_a_taint_that_comes_between_read_and_patch_survives(simulated, actuator, monkeypatch, kind):
    """Another tool adds a taint right after we read the node: the patch fails its test, is built anew, both survive."""
    node = simulated.store.get("Node", None, "n1")
    simulated.store.update("Node", {**node, "spec": {"taints": [GPU]}})
    if kind is ActionKind.UNTAINT:
        actuator.perform(action(ActionKind.TAINT))
    late = {"key": "late", "value": "", "effect": "NoExecute"}
    write, raced = actuator._api.write, []

    def write_after_somebody(call, *arguments, **options):
        if not raced:
            raced.append(True)
            now = simulated.store.get("Node", None, "n1")
            taints = [late, *now["spec"]["taints"]]
            simulated.store.update("Node", {**now, "spec": {**now["spec"], "taints": taints}})
        return write(call, *arguments, **options)

    monkeypatch.setattr(actuator._api, "write", write_after_somebody)
    assert actuator.perform(action(kind)).status is ActionStatus.DONE
    keys = [taint["key"] for taint in simulated.store.get("Node", None, "n1")["spec"]["taints"]]
    assert keys == (["late", "gpu", "memory-pressure"] if kind is ActionKind.TAINT else ["late", "gpu"])


def test_races_that_never_end_are_given_up(simulated, actuator, monkeypatch):
    """Somebody changes the node each time: after a bounded number of tries it is left for a later pass."""
    write, tries = actuator._api.write, []

    def write_after_somebody(call, *arguments, **options):
        tries.append(True)
        now = simulated.store.get("Node", None, "n1")
        simulated.store.update("Node", {**now, "metadata": {**now["metadata"], "labels": {"n": str(len(tries))}}})
        return write(call, *arguments, **options)

    monkeypatch.setattr(actuator._api, "write", write_after_somebody)
    result = actuator.perform(action(ActionKind.CORDON))
    assert (result.status, result.reason, len(tries)) == (ActionStatus.RETRY_LATER, Reason.CONFLICT, 5)
    assert not simulated.store.get("Node", None, "n1")["spec"].get("unschedulable")


def test_a_cordon_whose_answer_was_lost_is_found_done(simulated, actuator):
    """The patch took effect, its answer did not come: the node is read again and carries our mark."""
    simulated.faults.replace([Fault(method="PATCH", path="/nodes/n1", lose_answer=True, times=1)])
    result = actuator.perform(action(ActionKind.CORDON))
    assert (result.status, result.reason) == (ActionStatus.DONE, Reason.ALREADY_DONE)
    assert sum(asked["method"] == "PATCH" for asked in requests_to(simulated.url)) == 1


def test_an_uncordon_without_our_mark_touches_nothing(simulated, actuator):
    """Only what we marked is undone."""
    node = simulated.store.get("Node", None, "n1")
    simulated.store.update("Node", {**node, "spec": {"unschedulable": True}})
    assert actuator.perform(action(ActionKind.UNCORDON)).reason is Reason.NOT_OURS
    assert simulated.store.get("Node", None, "n1")["spec"]["unschedulable"] is True


def test_actions_on_a_node_that_is_gone_are_over(actuator):
    """404 of the node: there is nothing to close, nothing to open."""
    gone = action(ActionKind.CORDON)
    object.__setattr__(gone, "node", "gone")
    assert actuator.perform(gone).reason is Reason.ALREADY_GONE


def test_missing_rights_are_told_once_and_not_tried_again(canned, pauses):
    """403 without a terminating namespace ends the action with FORBIDDEN after one request."""
    server = canned(lambda asked: Answer(403, captured("51")["body"]))
    result = acting_on(server.url, pauses).perform(action(ActionKind.CORDON))
    assert (result.status, result.reason, len(server.asked)) == (ActionStatus.FAILED, Reason.FORBIDDEN, 1)


# --- endpoints ------------------------------------------------------------------------------------------------------


def serving(simulated, value="true", **annotations):
    pod = simulated.store.get("Pod", "shop", "web-7f-a")
    metadata = {**pod["metadata"], "labels": {**pod["metadata"]["labels"], SERVING: value}}
    if annotations:
        metadata["annotations"] = annotations
    simulated.store.update("Pod", {**pod, "metadata": metadata})
    given = {"label": SERVING, "label_value": "true"}
    return [action(k, simulated.store, **given) for k in (ActionKind.DRAIN_ENDPOINTS, ActionKind.RESTORE_ENDPOINTS)]


@pytest.mark.parametrize("annotations", [{}, {"team": "a"}])
def test_a_drained_pod_loses_the_label_and_gets_it_back(simulated, actuator, annotations):
    """The label goes, a mark says by which episode; both are as before when it is restored."""
    drain, restore = serving(simulated, **annotations)
    before = simulated.store.get("Pod", "shop", "web-7f-a")["metadata"]
    assert actuator.perform(drain).reason is Reason.ACCEPTED
    drained = simulated.store.get("Pod", "shop", "web-7f-a")["metadata"]
    assert SERVING not in drained["labels"]
    assert drained["annotations"] == {**annotations, "remediator.io/drained-by": EPISODE}
    assert actuator.perform(drain).reason is Reason.ALREADY_DONE
    assert actuator.perform(restore).reason is Reason.ACCEPTED
    after = simulated.store.get("Pod", "shop", "web-7f-a")["metadata"]
    assert (after["labels"], after.get("annotations") or {}) == (before["labels"], before.get("annotations") or {})
    assert actuator.perform(restore).reason is Reason.ALREADY_DONE


def test_a_label_that_somebody_else_took_is_not_ours(simulated, actuator):
    """Nothing is marked as drained by us that a human took out of service."""
    drain, _ = serving(simulated)
    pod = simulated.store.get("Pod", "shop", "web-7f-a")
    simulated.store.update("Pod", {**pod, "metadata": {**pod["metadata"], "labels": {"app": "web"}}})
    result = actuator.perform(drain)
    assert (result.status, result.reason) == (ActionStatus.SKIPPED, Reason.NOT_OURS)


def test_a_label_that_somebody_set_otherwise_is_left_alone(simulated, actuator):
    """A human's value is neither removed nor overwritten."""
    drain, restore = serving(simulated, value="maintenance")
    assert actuator.perform(drain).reason is Reason.CONFLICT
    assert actuator.perform(restore).reason is Reason.ALREADY_DONE
    assert simulated.store.get("Pod", "shop", "web-7f-a")["metadata"]["labels"][SERVING] == "maintenance"


# --- scale ----------------------------------------------------------------------------------------------------------


def web(simulated):
    return simulated.store.get("Deployment", "shop", "web")


DOWN = {"workload": WEB, "replicas": 0, "replicas_before": 2}
BACK = {"workload": WEB, "replicas": 2}


def test_a_workload_is_scaled_down_and_gets_its_replicas_back(simulated, actuator):
    """The count found stands in an annotation until it is given back; repeating either changes nothing."""
    assert actuator.perform(action(ActionKind.SCALE, **DOWN)).reason is Reason.ACCEPTED
    assert actuator.perform(action(ActionKind.SCALE, **DOWN)).reason is Reason.ALREADY_DONE
    assert web(simulated)["spec"]["replicas"] == 0
    assert marks(web(simulated)) == {"remediator.io/replicas-before": "2", "remediator.io/replicas-set": "0"}
    assert actuator.perform(action(ActionKind.RESTORE_SCALE, **BACK)).reason is Reason.ACCEPTED
    assert web(simulated)["spec"]["replicas"] == 2
    assert not marks(web(simulated))


def test_a_count_that_changed_since_the_plan_is_not_overwritten(simulated, actuator):
    """An autoscaler was quicker: the plan is made again with the count as it is now."""
    simulated.store.update("Deployment", {**web(simulated), "spec": {**web(simulated)["spec"], "replicas": 5}})
    result = actuator.perform(action(ActionKind.SCALE, **DOWN))
    assert (result.status, result.reason) == (ActionStatus.RETRY_LATER, Reason.CONFLICT)
    assert web(simulated)["spec"]["replicas"] == 5


def test_a_human_s_count_is_respected_on_the_way_back(simulated, actuator):
    """Somebody scaled it meanwhile: hands off, and our marks go."""
    actuator.perform(action(ActionKind.SCALE, **DOWN))
    simulated.store.update("Deployment", {**web(simulated), "spec": {**web(simulated)["spec"], "replicas": 1}})
    result = actuator.perform(action(ActionKind.RESTORE_SCALE, **BACK))
    assert (result.status, result.reason) == (ActionStatus.SKIPPED, Reason.NOT_OURS)
    assert web(simulated)["spec"]["replicas"] == 1
    assert not marks(web(simulated))


def test_a_restore_whose_answer_was_lost_is_found_done(simulated, actuator):
    """The replicas were given back, the answer did not come: once more finds them there."""
    actuator.perform(action(ActionKind.SCALE, **DOWN))
    simulated.faults.replace([Fault(method="PATCH", path="/scale", lose_answer=True, times=1)])
    assert actuator.perform(action(ActionKind.RESTORE_SCALE, **BACK)).status is ActionStatus.DONE
    assert web(simulated)["spec"]["replicas"] == 2
    assert not marks(web(simulated))


def test_what_cannot_be_scaled_is_refused(actuator):
    """A DaemonSet has no replicas."""
    workload = type(WEB)("shop", "DaemonSet", "agent")
    assert actuator.perform(action(ActionKind.SCALE, workload=workload, replicas=0)).status is ActionStatus.REFUSED
