"""The adapters beside the simulated controllers, scheduler and kubelets: acts over HTTP, what comes of them, and how
it reads afterwards. Time passes only when a test lets it."""

from dataclasses import dataclass
from typing import Any

import pytest

from remediator.adapters.actuator import KubernetesActuator
from remediator.adapters.cluster import KubernetesCluster
from remediator.adapters.kubernetes_api import KubernetesApi
from remediator.core.model import ClusterFacts, PodFacts, WorkloadRef
from remediator.core.policy import TaintSpec
from remediator.core.reason import Reason
from remediator.core.state import Action, ActionKind, ActionResult, ActionStatus
from tests.adapters.canned import api_of, requests_to
from tests.drill.worlds import GI, Small
from tests.simulated import Served

Json = dict[str, Any]
SERVING = {"label": "remediator.io/serving", "label_value": "true"}
API = WorkloadRef("shop", "Deployment", "api")
STORY: Json = {
    "nodes": [{"name": "node-{n}", "count": 3, "memory": "16Gi", "system": "1Gi"}],
    "workloads": [
        {
            "kind": "Deployment",
            "namespace": "shop",
            "name": "api",
            "replicas": 3,
            "request": "1Gi",
            "limit": "4Gi",
            "usage": "2Gi",
            "startup": "20s",
            "service": True,
            "serving_label": True,
            "placement": {"node-1": 1, "node-2": 1, "node-3": 1},
        },
        {
            "kind": "StatefulSet",
            "namespace": "shop",
            "name": "db",
            "request": "1Gi",
            "usage": "1Gi",
            "volumes": ["pvc"],
        },
        {"kind": "DaemonSet", "namespace": "kube-system", "name": "agent", "request": "128Mi", "usage": "128Mi"},
        {
            "kind": "Job",
            "namespace": "batch",
            "name": "report",
            "backoff_limit": 0,
            "request": "512Mi",
            "usage": "3Gi",
            "placement": {"node-1": 1},
        },
    ],
    "budgets": [{"namespace": "shop", "workload": "api", "min_available": 2}],
}


@dataclass(slots=True)
class Stage:
    """A story being served, the hands of the remediator, and fresh eyes at every look."""

    small: Small
    served: Served
    api: KubernetesApi
    actuator: KubernetesActuator

    def look(self, node: str = "node-1") -> ClusterFacts:
        """A snapshot of now: what an earlier reader remembers plays no part."""
        found = KubernetesCluster(self.api).snapshot(node)
        assert isinstance(found, ClusterFacts), found
        return found

    def pod(self, workload: str, node: str = "node-1") -> PodFacts:
        """The one living pod of a workload on the node."""
        pods = self.look(node).pods
        (only,) = [p for p in pods if p.workload and p.workload.name == workload and p.terminating_since is None]
        return only

    def act(self, kind: ActionKind, pod: PodFacts | None = None, **more: Any) -> ActionResult:
        """One action of the episode `e1`."""
        about = {"namespace": pod.namespace, "pod": pod.name, "pod_uid": pod.uid} if pod else {}
        return self.actuator.perform(Action(kind, "node-1", "e1", **about, **more))

    def pass_seconds(self, seconds: float) -> None:
        """Let the story go on, in the server's thread as the simulation does."""
        self.served.inside(lambda _: self.small.pass_seconds(seconds))

    def told(self, what: str) -> list[Json]:
        """Events of the chronicle."""
        return self.served.inside(lambda _: self.small.events(what))


@pytest.fixture
def stage(serve):
    """Begin a story; keys given replace those of STORY."""

    def begin(**keys: Any) -> Stage:
        small = Small(**{**STORY, **keys})
        served = serve(small.store)
        api = api_of(served.url)
        now = lambda: small.store.clock().timestamp()  # noqa: E731
        return Stage(small, served, api, KubernetesActuator(api, TaintSpec(), clock=now))

    return begin


def test_a_populated_cluster_reads_as_its_scenario_says(stage):
    """Node, pods, workloads with measured start-up, budgets, Services and peers: what was written is what is read."""
    facts = stage().look()
    assert (facts.node.allocatable_bytes, facts.node.ready, facts.node.memory_pressure) == (15 * GI, True, False)
    found = {pod.workload.name: pod for pod in facts.pods if pod.workload}
    assert set(found) >= {"api", "agent", "report"}
    api = found["api"]
    assert (api.request_bytes, api.limit_bytes, api.qos, api.grace_period_seconds) == (GI, 4 * GI, "Burstable", 30)
    workload = facts.workloads[API]
    assert (workload.desired_replicas, workload.ready_replicas, workload.startup_seconds) == (3, 3, 20.0)
    assert "pod-template-hash" in workload.selector
    assert facts.workloads[WorkloadRef("batch", "Job", "report")].backoff_limit == 0
    (budget,) = facts.budgets
    assert (budget.name, budget.disruptions_allowed, budget.pod_uids) == ("api", 1, frozenset({api.uid}))
    (service,) = facts.services
    assert (service.name, service.ready_endpoints) == ("api", 3)
    assert api.uid in service.pod_uids
    assert {peer.name for peer in facts.peers} == {"node-2", "node-3"}
    assert all(peer.requested_bytes >= GI + GI // 8 for peer in facts.peers)


def test_an_evicted_pod_goes_and_is_ready_elsewhere(stage):
    """Closed node, evicted pod: terminating, gone, and its successor becomes ready on another node in its own time."""
    at = stage()
    pod = at.pod("api")
    assert at.act(ActionKind.CORDON).status is ActionStatus.DONE
    assert at.act(ActionKind.EVICT, pod, grace_period_seconds=10).status is ActionStatus.DONE
    (leaving,) = [found for found in at.look().pods if found.uid == pod.uid]
    assert leaving.terminating_since == at.small.store.clock().timestamp()
    assert at.look("node-2").workloads[API].ready_replicas == 2
    at.pass_seconds(10)
    assert pod.uid not in {found.uid for found in at.look().pods}
    at.pass_seconds(20)
    workload = at.look("node-2").workloads[API]
    assert workload.ready_replicas == 3
    assert {place.node for place in workload.pods} == {"node-2", "node-3"}
    assert [event["uid"] for event in at.told("pod_terminating")] == [pod.uid]
    assert at.told("pod_bound")[0]["node"] != "node-1"
    assert not [asked for asked in requests_to(at.served.url) if asked["method"] == "DELETE"]


def test_the_budget_s_controller_holds_the_next_pod_until_the_successor_is_ready(stage):
    """minAvailable 2 of 3: one may go, the next is held by its budget, and may go once three are ready again."""
    at = stage()
    assert at.act(ActionKind.EVICT, at.pod("api", "node-1")).status is ActionStatus.DONE
    second = at.pod("api", "node-2")
    for seconds in (0, 15):
        at.pass_seconds(seconds)
        held = at.act(ActionKind.EVICT, second)
        assert (held.status, held.reason) == (ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET)
        assert at.look("node-2").budgets[0].disruptions_allowed == 0
    at.pass_seconds(10)
    assert at.act(ActionKind.EVICT, second).status is ActionStatus.DONE


def test_e05_an_ordinal_that_lives_again_is_another_pod(stage):
    """The StatefulSet's pod comes back under its name: an action on its predecessor leaves it alone."""
    at = stage()
    node = at.served.inside(lambda store: store.get("Pod", "shop", "db-0"))["spec"]["nodeName"]
    first = at.pod("db", node)
    assert first.volumes == frozenset({"pvc"})
    assert at.act(ActionKind.EVICT, first).status is ActionStatus.DONE
    at.pass_seconds(30)
    again = at.act(ActionKind.EVICT, first)
    assert (again.status, again.reason) == (ActionStatus.SKIPPED, Reason.REPLACED_SINCE)
    uid = KubernetesCluster(at.api).pod_uid("shop", "db-0")
    assert uid not in (None, first.uid)


def test_isolation_keeps_new_pods_away_and_is_told_with_its_episode(stage):
    """Cordon and taint beside the controller's own taint; undone, the node has none of the three left."""
    at = stage()
    for kind in (ActionKind.CORDON, ActionKind.TAINT):
        assert at.act(kind).status is ActionStatus.DONE
    at.pass_seconds(1)
    assert {taint.key for taint in at.look().node.taints} == {"memory-pressure", "node.kubernetes.io/unschedulable"}
    assert KubernetesCluster(at.api).isolated_by_us() == ["node-1"]
    for kind in (ActionKind.UNTAINT, ActionKind.UNCORDON):
        assert at.act(kind).status is ActionStatus.DONE
    at.pass_seconds(1)
    node = at.look().node
    assert (node.taints, node.unschedulable) == ((), False)
    assert not [key for key in node.annotations if key.startswith("remediator.io/")]
    told = [at.told(what) for what in ("cordoned", "tainted", "untainted", "uncordoned")]
    assert [[(event["node"], event["by"]) for event in events] for events in told] == [[("node-1", "e1")]] * 4


def test_a_drained_pod_takes_no_traffic_and_stays_its_workload_s(stage):
    """One endpoint fewer, no replica fewer; restored, it is back behind its Service."""
    at = stage()
    pod = at.pod("api")
    assert at.act(ActionKind.DRAIN_ENDPOINTS, pod, **SERVING).status is ActionStatus.DONE
    at.pass_seconds(1)
    facts = at.look()
    assert (facts.services[0].ready_endpoints, facts.workloads[API].ready_replicas) == (2, 3)
    assert pod.uid not in facts.services[0].pod_uids
    assert at.act(ActionKind.RESTORE_ENDPOINTS, pod, **SERVING).status is ActionStatus.DONE
    at.pass_seconds(1)
    assert at.look().services[0].ready_endpoints == 3
    assert [at.told(what)[0]["uid"] for what in ("endpoint_left", "endpoint_returned")] == [pod.uid] * 2


def test_a_scaled_workload_shrinks_and_grows_again(stage):
    """The controllers take pods away and bring them back; the count found stands on the workload meanwhile."""
    at = stage(budgets=[])
    down = at.act(ActionKind.SCALE, workload=API, replicas=1, replicas_before=3)
    assert down.status is ActionStatus.DONE
    at.pass_seconds(10)
    shrunk = at.look("node-2").workloads.get(API) or at.look("node-3").workloads.get(API) or at.look().workloads[API]
    assert (shrunk.desired_replicas, shrunk.ready_replicas) == (1, 1)
    assert at.act(ActionKind.RESTORE_SCALE, workload=API, replicas=3, replicas_before=1).status is ActionStatus.DONE
    at.pass_seconds(30)
    assert len([event for event in at.told("pod_ready") if event["workload"] == str(API)]) == 2


def test_the_kubelet_s_eviction_reads_as_one(stage):
    """Phase, reason, DisruptionTarget and the end's moment of its victim; MemoryPressure of the node."""
    points = [{"at": 0, "bytes": 0}, {"at": 30, "bytes": "9800Mi"}]
    at = stage(host_processes=[{"node": "node-1", "points": points}], kubelet_threshold="500Mi")
    at.pass_seconds(30)
    facts = at.look()
    assert facts.node.memory_pressure
    (victim,) = [pod for pod in facts.pods if pod.status_reason == "Evicted"]
    assert (victim.phase, victim.disruption_target, victim.ready) == ("Failed", "TerminationByKubelet", False)
    assert "low on resource: memory" in victim.status_message
    assert victim.ended_at == at.small.world.store.clock().timestamp() - (30 - at.told("kubelet_eviction")[0]["at"])


def test_a_kill_at_the_limit_reads_as_a_termination(stage):
    """OOMKilled, 137, when, and how often: by pod, as the limit-OOM filter needs it."""
    growing = [{"at": 0, "bytes": "1Gi"}, {"at": 20, "bytes": "5Gi"}]
    first = {key: value for key, value in STORY["workloads"][0].items() if key != "usage"}
    at = stage(workloads=[{**first, "usage_points": growing}])
    at.pass_seconds(20)
    (pod,) = [pod for pod in at.look().pods if pod.workload == API]
    (killed,) = pod.terminations
    assert (killed.reason, killed.exit_code, killed.restart_count) == ("OOMKilled", 137, 1)
    assert not pod.ready
    assert at.told("oom_kill")[0]["at"] == pytest.approx(killed.finished_at - at.small.store.clock().timestamp() + 20)
