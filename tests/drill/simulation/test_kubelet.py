"""A pod's life on its node, and its end in all its forms."""

from typing import Any

import pytest

from tests.drill.worlds import GI, MI, Json, Small, workload


def usage(small: Small, pod: Json) -> int:
    """Bytes a pod holds now."""
    return small.world.kubelets.usage(pod)


def ready(pod: Json) -> str:
    """Status of the Ready condition."""
    return next((c["status"] for c in pod["status"].get("conditions") or [] if c["type"] == "Ready"), "absent")


def ask_to_go(small: Small, pod: Json, grace: int) -> None:
    """What the API server does with an accepted eviction."""
    small.store.mark_deleted("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"], grace)


def script(*points: tuple[str, str]) -> list[Json]:
    """A host process on node-1."""
    return [{"node": "node-1", "points": [{"at": at, "bytes": size} for at, size in points]}]


def test_first_pods_have_been_running_for_an_hour() -> None:
    """When the story begins everything is Ready and holds its memory; nobody is young."""
    small = Small(workloads=[workload(startup="60s")])
    pod = small.pod()
    assert ready(pod) == "True"
    assert pod["metadata"]["creationTimestamp"] == "2026-11-30T23:00:00Z"
    assert usage(small, pod) == GI


def test_new_pod_is_ready_after_its_startup_time() -> None:
    """It runs at once, takes its memory little by little, and is Ready when its start-up time is over, not before."""
    small = Small(workloads=[workload(startup="20s")])
    small.store.delete("Pod", "shop", small.pod()["metadata"]["name"])
    small.pass_seconds(3)
    started = small.seconds
    small.pass_seconds(10)
    assert (small.pod()["status"]["phase"], ready(small.pod())) == ("Running", "False")
    assert 0 < usage(small, small.pod()) < GI
    small.pass_seconds(12)
    assert ready(small.pod()) == "True"
    assert usage(small, small.pod()) == GI
    (event,) = small.events("pod_ready")
    assert event["at"] == pytest.approx(started + 19, abs=2)


def test_termination_gives_memory_back_gradually() -> None:
    """Between SIGTERM and the end memory falls step by step; then the pod is gone."""
    small = Small(workloads=[workload(shutdown="10s")])
    pod = small.pod()
    ask_to_go(small, pod, 30)
    seen = [usage(small.pass_seconds(2), pod) for _ in range(5)]
    assert seen == sorted(seen, reverse=True)
    assert GI > seen[1] > seen[3] > 0
    small.pass_seconds(3)
    assert small.store.find("Pod", "shop", pod["metadata"]["name"]) is None or small.pod() != pod
    (gone,) = small.events("pod_gone")
    assert gone["uid"] == pod["metadata"]["uid"]


def test_grace_period_cuts_a_long_shutdown_short() -> None:
    """A pod that would take a minute is killed when its grace period is over."""
    small = Small(workloads=[workload(shutdown="60s")])
    ask_to_go(small, small.pod(), 5)
    small.pass_seconds(7)
    assert [event["at"] for event in small.events("pod_gone")] == [6.0]


def test_last_collection_may_raise_memory_first() -> None:
    """With a shutdown rise memory goes up before it comes down, without a jump."""
    small = Small(workloads=[workload(shutdown="20s", shutdown_rise=0.2)])
    pod = small.pod()
    ask_to_go(small, pod, 30)
    seen = [usage(small.pass_seconds(1), pod) for _ in range(20)]
    assert max(seen) > 1.15 * GI
    assert max(abs(b - a) for a, b in zip([GI, *seen], seen, strict=False)) < 0.2 * GI
    assert seen[-1] < 0.2 * GI


def test_finalizer_of_somebody_holds_a_stopped_pod() -> None:
    """Its memory is back, its phase is final, the object stays until the finalizer is taken off."""
    small = Small(workloads=[workload(shutdown="2s")])
    pod = small.pod()
    small.store.update("Pod", {**pod, "metadata": {**pod["metadata"], "finalizers": ["example.com/hold"]}})
    ask_to_go(small, small.store.get("Pod", "shop", pod["metadata"]["name"]), 30)
    small.pass_seconds(20)
    held = small.store.get("Pod", "shop", pod["metadata"]["name"])
    assert (held["status"]["phase"], usage(small, held)) == ("Failed", 0)
    small.store.update("Pod", {**held, "metadata": {**held["metadata"], "finalizers": []}})
    small.pass_seconds(2)
    assert small.store.find("Pod", "shop", pod["metadata"]["name"]) is None


def growing(**keys: Any) -> Json:
    """A workload that grows over its limit of 2 GiB at second 20."""
    points = [{"at": 0, "bytes": "1Gi"}, {"at": "40s", "bytes": "3Gi"}]
    return {**workload(limit="2Gi", startup="5s", **keys), "usage": 0, "usage_points": points}


def test_pod_over_its_limit_is_killed_and_restarted_later_and_later() -> None:
    """OOMKilled with exit code 137, a restart counted; from the second time on the kubelet backs off."""
    small = Small(workloads=[growing()]).pass_seconds(22)
    (status,) = small.pod()["status"]["containerStatuses"]
    assert status["lastState"]["terminated"]["reason"] == "OOMKilled"
    assert status["lastState"]["terminated"]["exitCode"] == 137
    assert (status["restartCount"], status["ready"]) == (1, False)
    small.pass_seconds(8)
    (status,) = small.pod()["status"]["containerStatuses"]
    assert status["restartCount"] == 2
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert len(small.events("oom_kill")) == 2
    small.pass_seconds(6)
    assert "running" in small.pod()["status"]["containerStatuses"][0]["state"]


def test_job_pod_over_its_limit_fails_and_is_replaced() -> None:
    """restartPolicy Never: the pod ends Failed, counts against the Job, and a new one is made."""
    small = Small(workloads=[growing(kind="Job", name="etl")]).pass_seconds(24)
    failed = [pod for pod in small.pods() if pod["status"]["phase"] == "Failed"]
    assert failed[0]["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "OOMKilled"
    assert small.store.get("Job", "shop", "etl")["status"]["failed"] == len(failed)
    assert len(small.events("oom_kill")) == len(failed)


PLENTY = {"kubelet_threshold": "1Gi", "host_processes": script(("0s", "0"), ("60s", "9Gi"), ("10m", "9Gi"))}


def test_kubelet_evicts_in_its_own_order_below_its_threshold() -> None:
    """The pod over its request with the lowest priority fails as Evicted, with message and DisruptionTarget."""
    small = Small(
        workloads=[
            workload(name="within", usage="2Gi", request="2Gi"),
            workload(name="over-prod", usage="2Gi", request="1Gi", priority=100),
            workload(name="over-batch", usage="2Gi", request="1Gi", priority=1),
        ],
        **PLENTY,
    )
    order = [row["name"].rsplit("-", 2)[0] for row in small.world.ranking("node-1")]
    assert order == ["over-batch", "over-prod", "within"]
    small.pass_seconds(62)
    (event,) = small.events("kubelet_eviction")
    evicted = small.store.get("Pod", "shop", event["name"])
    status = evicted["status"]
    assert event["workload"] == "shop/Deployment/over-batch"
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"].startswith("The node was low on resource: memory. Threshold quantity: 1024Mi, available: ")
    assert "Container main was using 2097152Ki, request is 1024Mi, has larger consumption" in status["message"]
    condition = status["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "TerminationByKubelet")
    assert usage(small, evicted) == 0


def test_memory_pressure_is_said_and_tainted_and_taken_back_after_five_minutes() -> None:
    """Condition and taint come when the kubelet evicts, and go 5 minutes after memory was last short."""
    keys = PLENTY | {"host_processes": script(("0s", "0"), ("60s", "14Gi"), ("70s", "0"))}
    small = Small(workloads=[workload(usage="512Mi")], **keys).pass_seconds(64)

    def pressure() -> tuple[str, list[str]]:
        node = small.store.get("Node", None, "node-1")
        condition = next(c for c in node["status"]["conditions"] if c["type"] == "MemoryPressure")
        return condition["status"], [taint["key"] for taint in node["spec"].get("taints") or []]

    assert pressure() == ("True", ["node.kubernetes.io/memory-pressure"])
    small.pass_seconds(290)
    assert pressure()[0] == "True"
    small.pass_seconds(30)
    assert pressure() == ("False", [])
    assert not small.events("tainted")


def test_kernel_kills_when_nothing_is_left() -> None:
    """A host process faster than the kubelet makes the kernel kill by its points: BestEffort before Burstable."""
    small = Small(
        workloads=[
            workload(name="burst", usage="3Gi", request="3Gi"),
            workload(name="best", usage="1Gi", request=0),
        ],
        host_processes=script(("10s", "0"), ("11s", "11776Mi"), ("10m", "11776Mi")),
    ).pass_seconds(12)
    (event,) = small.events("oom_kill")
    assert event["workload"] == "shop/Deployment/best"
    assert small.world.memory["node-1"].counters.oom_kills == 1
    assert small.world.memory["node-1"].available_bytes >= 0


def test_host_process_is_killed_when_no_pod_has_more_points() -> None:
    """Only Guaranteed pods beside it: the script itself dies, and the pods live on."""
    small = Small(
        workloads=[workload(name="db", usage="4Gi", request="5Gi", limit="5Gi")],
        host_processes=script(("10s", "0"), ("11s", "14Gi"), ("10m", "14Gi")),
    ).pass_seconds(12)
    assert small.events("host_process_killed")[0]["name"] == "script"
    assert not small.events("oom_kill")
    assert small.world.memory["node-1"].used_bytes == 5 * GI


def test_page_cache_is_in_the_working_set_and_not_in_used() -> None:
    """Files a pod reads raise what the kubelet sees of it, and leave MemAvailable alone."""
    plain = Small(workloads=[workload()])
    cached = Small(workloads=[workload(page_cache="512Mi", shmem="256Mi")])
    assert cached.world.memory["node-1"].used_bytes == plain.world.memory["node-1"].used_bytes
    held = cached.world.pod_memory("node-1", cached.pod())
    assert held.working_set == GI + 512 * MI
    assert (held.anon, held.shmem) == (GI - 256 * MI, 256 * MI)
