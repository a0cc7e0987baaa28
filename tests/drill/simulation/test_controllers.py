"""Controllers: what is missing is made, what is gone is forgotten, what is settled is left alone."""

from typing import Any

import pytest

from remediator.drill.apiserver.eviction import is_ready
from tests.drill.worlds import Json, Small, workload

SERVING = "remediator.io/serving"


def endpoints(small: Small, service: str = "api") -> dict[str, bool]:
    """Ready by pod name, of a Service's slice."""
    (found,) = [
        each
        for each in small.store.list("EndpointSlice", "shop")
        if each["metadata"]["labels"]["kubernetes.io/service-name"] == service
    ]
    return {each["targetRef"]["name"]: each["conditions"]["ready"] for each in found["endpoints"]}


def names(small: Small) -> list[str]:
    """Names of all pods."""
    return [pod["metadata"]["name"] for pod in small.pods()]


def budget(small: Small) -> Json:
    """Status of the only budget."""
    (found,) = small.store.list("PodDisruptionBudget", "shop")
    status: Json = found["status"]
    return status


def test_settled_cluster_is_left_alone() -> None:
    """When nothing happens, no object is written: resource versions stand still."""
    small = Small(
        workloads=[
            workload(replicas=2, service=True),
            workload("StatefulSet", "db", replicas=2),
            workload("Job", "etl", replicas=2),
            workload("DaemonSet", "agent"),
        ],
        budgets=[{"namespace": "shop", "workload": "api", "min_available": 1}],
    ).pass_seconds(5)
    before = small.store.version
    small.pass_seconds(60)
    assert small.store.version == before


def test_deleted_pod_of_a_deployment_is_replaced() -> None:
    """A pod on its way out no longer counts: its successor comes at once, under another name."""
    small = Small(workloads=[workload(replicas=2, shutdown="10s")])
    before = names(small)
    small.evict(before[0])
    small.pass_seconds(2)
    assert len(names(small)) == 3
    small.pass_seconds(20)
    assert len(names(small)) == 2
    assert before[0] not in names(small)
    assert small.store.get("Deployment", "shop", "api")["status"]["readyReplicas"] == 2


def test_scaling_down_takes_the_least_useful_pod() -> None:
    """An unscheduled or unready pod goes before one that serves."""
    small = Small(workloads=[workload(startup="60s")])
    first = small.pod()["metadata"]["name"]
    small.change("Deployment", small.store.get("Deployment", "shop", "api"), replicas=2)
    small.pass_seconds(5)
    small.change("Deployment", small.store.get("Deployment", "shop", "api"), replicas=1)
    small.pass_seconds(10)
    assert names(small) == [first]
    small.change("Deployment", small.store.get("Deployment", "shop", "api"), replicas=0)
    small.pass_seconds(10)
    assert names(small) == []


def test_pod_without_the_serving_label_leaves_its_service_and_keeps_its_controller() -> None:
    """Removed from the slice at once, kept by the ReplicaSet, back when the label is back; the chronicle tells both."""
    small = Small(workloads=[workload(replicas=2, service=True, serving_label=True)])
    pod = small.pods()[0]
    name = pod["metadata"]["name"]
    assert endpoints(small) == dict.fromkeys(names(small), True)
    small.label(pod, **{SERVING: None})
    small.pass_seconds(2)
    assert name not in endpoints(small)
    assert len(names(small)) == 2
    small.label(small.store.get("Pod", "shop", name), **{SERVING: "true"})
    small.pass_seconds(2)
    assert endpoints(small) == dict.fromkeys(names(small), True)
    told = [(each["what"], each["name"]) for each in small.world.chronicle.events if "endpoint" in each["what"]]
    expected = ["endpoints_drained", "endpoint_left", "endpoints_restored", "endpoint_returned"]
    assert told == [(what, name) for what in expected]


def test_endpoints_follow_readiness() -> None:
    """A pod that starts is in the slice as not ready, a terminating one no longer takes traffic."""
    small = Small(workloads=[workload(replicas=2, service=True, startup="20s", shutdown="10s")])
    leaving = names(small)[0]
    small.evict(leaving)
    small.pass_seconds(3)
    found = endpoints(small)
    assert found[leaving] is False
    assert sorted(found.values()) == [False, False, True]
    small.pass_seconds(30)
    assert list(endpoints(small).values()) == [True, True]


def test_statefulset_is_ordered_and_sticky() -> None:
    """The same name comes again, only when the old pod is gone; the next only when the one before is Ready."""
    small = Small(workloads=[workload("StatefulSet", "db", replicas=3, startup="10s", shutdown="5s")])
    assert names(small) == ["db-0", "db-1", "db-2"]
    old = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in small.pods()}
    for name in ("db-0", "db-1"):
        small.evict(name)
    small.pass_seconds(3)
    assert {p["metadata"]["name"]: p["metadata"]["uid"] for p in small.pods()} == old
    small.pass_seconds(7)
    assert names(small) == ["db-0", "db-2"]
    small.pass_seconds(30)
    new = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in small.pods() if is_ready(pod)}
    assert set(new) == set(old)
    assert [new[name] == old[name] for name in sorted(new)] == [False, False, True]


def test_statefulset_scales_down_from_the_end() -> None:
    """The highest ordinal goes first, one at a time."""
    small = Small(workloads=[workload("StatefulSet", "db", replicas=3, shutdown="5s")])
    small.change("StatefulSet", small.store.get("StatefulSet", "shop", "db"), replicas=1)
    small.pass_seconds(3)
    assert [p["metadata"]["name"] for p in small.pods() if "deletionTimestamp" in p["metadata"]] == ["db-2"]
    small.pass_seconds(20)
    assert names(small) == ["db-0"]


def test_job_replaces_an_evicted_pod_and_counts_it() -> None:
    """The Job's finalizer holds the pod until it is counted as failed; the work goes on in another pod."""
    small = Small(workloads=[workload("Job", "etl", replicas=2, shutdown="3s")])
    pod = small.pods()[0]
    assert pod["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    small.evict(pod["metadata"]["name"])
    small.pass_seconds(15)
    status = small.store.get("Job", "shop", "etl")["status"]
    assert (status["active"], status["failed"], status["terminating"]) == (2, 1, 0)
    assert pod["metadata"]["name"] not in names(small)


def test_job_fails_beyond_its_backoff_limit() -> None:
    """backoffLimit 0: one failure ends the Job, and its other pods with it."""
    small = Small(workloads=[workload("Job", "etl", replicas=2, backoff_limit=0, shutdown="3s")])
    small.evict(names(small)[0])
    small.pass_seconds(20)
    job = small.store.get("Job", "shop", "etl")
    assert [(c["type"], c["reason"]) for c in job["status"]["conditions"]] == [("Failed", "BackoffLimitExceeded")]
    assert job["status"]["active"] == 0
    assert names(small) == []


def test_job_completes() -> None:
    """Pods that succeed are counted once, and not replaced when all completions are there."""
    small = Small(workloads=[workload("Job", "etl", replicas=2)])
    for pod in small.pods():
        small.store.update("Pod", {**pod, "status": {**pod["status"], "phase": "Succeeded"}}, subresource="status")
    small.pass_seconds(5)
    status = small.store.get("Job", "shop", "etl")["status"]
    assert (status["succeeded"], status["active"]) == (2, 0)
    assert status["conditions"][0]["type"] == "Complete"
    assert len(names(small)) == 2


def test_daemonset_runs_on_every_node_it_tolerates() -> None:
    """One pod per node; a cordon does not matter to it, a foreign taint keeps new ones away and leaves old ones."""
    nodes = [{"name": "node-{n}", "count": 2, "memory": "16Gi"}]
    small = Small(nodes=nodes, workloads=[workload("DaemonSet", "agent")])
    assert sorted(pod["spec"]["nodeName"] for pod in small.pods()) == ["node-1", "node-2"]
    taint = {"key": "memory-pressure", "value": "critical", "effect": "NoSchedule"}
    small.change("Node", small.store.get("Node", None, "node-1"), unschedulable=True)
    small.change("Node", small.store.get("Node", None, "node-2"), taints=[taint])
    small.pass_seconds(3)
    assert len(small.pods()) == 2
    for pod in small.pods():
        small.store.delete("Pod", "shop", pod["metadata"]["name"])
    small.pass_seconds(5)
    assert [pod["spec"]["nodeName"] for pod in small.pods()] == ["node-1"]


@pytest.mark.parametrize(
    ("limits", "before", "after"),
    [
        ({"min_available": 2}, (1, 3, 2, 3), (0, 2, 2, 3)),
        ({"max_unavailable": 1}, (1, 3, 2, 3), (0, 2, 2, 3)),
        ({"min_available": 3}, (0, 3, 3, 3), (0, 3, 3, 3)),
    ],
)
def test_budget_status(limits: dict[str, Any], before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """Allowed, healthy, desired and expected follow the pods, and an accepted eviction counts at once."""
    small = Small(
        workloads=[workload(replicas=3, startup="20s")], budgets=[{"namespace": "shop", "workload": "api", **limits}]
    )

    def figures() -> tuple[int, ...]:
        keys = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
        return tuple(budget(small)[key] for key in keys)

    assert figures() == before
    if before[0]:
        small.evict(names(small)[0])
        assert budget(small)["disruptionsAllowed"] == 0
        assert list(budget(small)["disruptedPods"]) == [small.events("pod_terminating")[0]["name"]]
        small.pass_seconds(2)
        assert figures() == after
        small.pass_seconds(40)
        assert "disruptedPods" not in budget(small)
    assert figures() == before


def test_cordon_taints_and_uncordon_untaints() -> None:
    """The node controller's own taint follows spec.unschedulable; other taints stay in their order."""
    taint = {"key": "mine", "value": "x", "effect": "NoSchedule"}
    small = Small()
    marks = {"remediator.io/cordoned-by": "episode-1"}
    node = small.store.get("Node", None, "node-1")
    node = {**node, "metadata": {**node["metadata"], "annotations": marks}}
    small.change("Node", node, unschedulable=True, taints=[taint])
    small.pass_seconds(2)
    node = small.store.get("Node", None, "node-1")
    assert [each["key"] for each in node["spec"]["taints"]] == ["mine", "node.kubernetes.io/unschedulable"]
    assert [(e["what"], e["by"]) for e in small.world.chronicle.events] == [
        ("cordoned", "episode-1"),
        ("tainted", "episode-1"),
    ]
    small.change("Node", node, unschedulable=False)
    small.pass_seconds(2)
    assert small.store.get("Node", None, "node-1")["spec"]["taints"] == [taint]


def test_what_an_owner_leaves_behind_is_collected() -> None:
    """A deleted Deployment takes its ReplicaSet and pods with it, a deleted Service its slice."""
    small = Small(workloads=[workload(service=True)])
    small.store.delete("Deployment", "shop", "api")
    small.store.delete("Service", "shop", "api")
    small.pass_seconds(10)
    assert names(small) == []
    assert not small.store.list("ReplicaSet")
    assert not small.store.list("EndpointSlice")
