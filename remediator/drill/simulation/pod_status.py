"""A pod's status as its kubelet reports it in each part of its life. Pure: statuses in, statuses out."""

from datetime import datetime
from typing import Any

from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import timestamp
from remediator.drill.simulation.naming import identity
from remediator.drill.simulation.quantities import memory_of

KILLED, TERMINATED = 137, 143
"""Exit codes after SIGKILL and SIGTERM."""


def qos_class(spec: Json) -> str:
    """Kubernetes' QoS class, by memory alone."""
    resources = [container.get("resources", {}) for container in spec["containers"]]
    if not any(r.get("requests") or r.get("limits") for r in resources):
        return "BestEffort"
    same = all(r.get("limits") and r.get("requests") == r.get("limits") for r in resources)
    return "Guaranteed" if same else "Burstable"


def running_status(pod: Json, spec: Json, started: datetime, ready: datetime | None) -> Json:
    """Status of a running pod; `ready` None: its container has started and is not ready yet."""
    moments = {"PodScheduled": started, "Initialized": started, "ContainersReady": ready, "Ready": ready}
    conditions = [
        {
            "type": kind,
            "status": "True" if moment is not None else "False",
            "lastProbeTime": None,
            "lastTransitionTime": timestamp(moment or started),
        }
        for kind, moment in moments.items()
    ]
    uid = pod["metadata"].get("uid") or identity("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
    return {
        "phase": "Running",
        "conditions": conditions,
        "startTime": timestamp(started),
        "podIP": _address(uid),
        "qosClass": pod.get("status", {}).get("qosClass") or qos_class(spec),
        "containerStatuses": [_container(uid, c, started, ready=ready is not None) for c in spec["containers"]],
    }


def _address(uid: str) -> str:
    """Some address in the pods' network, the same whenever it is asked for."""
    digits = uid.replace("-", "")
    return f"10.244.{int(digits[-4:-2], 16)}.{int(digits[-2:], 16) or 1}"


def _container(uid: str, container: Json, started: datetime, *, ready: bool) -> Json:
    return {
        "name": container["name"],
        "state": {"running": {"startedAt": timestamp(started)}},
        "lastState": {},
        "ready": ready,
        "started": True,
        "restartCount": 0,
        "image": container["image"],
        "imageID": container["image"],
        "containerID": f"containerd://{identity(uid, container['name']).replace('-', '') * 2}",
    }


def with_restarts(status: Json, restarts: int, last: Json | None) -> Json:
    """The containers have been started again so often, the last one ended as `last` says."""
    more: Json = {"restartCount": restarts} | ({"lastState": {"terminated": last}} if last else {})
    return {**status, "containerStatuses": [{**each, **more} for each in status["containerStatuses"]]}


def waiting_status(status: Json, seconds: float) -> Json:
    """The kubelet waits before it starts the container again."""
    message = f"back-off {round(seconds)}s restarting failed container"
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    containers = [{**c, "state": waiting, "ready": False, "started": False} for c in status["containerStatuses"]]
    return {**status, "containerStatuses": containers}


def terminated(reason: str, exit_code: int, started: str, moment: datetime) -> Json:
    """How a container ended."""
    return {"reason": reason, "exitCode": exit_code, "startedAt": started, "finishedAt": timestamp(moment)}


def started_at(status: Json) -> str:
    """When the pod's first container last started; empty when it does not run."""
    statuses = status.get("containerStatuses") or [{}]
    found: str = (statuses[0].get("state", {}).get("running") or {}).get("startedAt", "")
    return found


def failed_status(status: Json, reason: str, exit_code: int, moment: datetime) -> Json:
    """A pod whose containers have ended and are not started again."""
    end = {"terminated": terminated(reason, exit_code, started_at(status), moment)}
    containers = [
        {**each, "state": end, "ready": False, "started": False} for each in status.get("containerStatuses") or []
    ]
    return {
        **status,
        "phase": "Failed",
        "conditions": _not_ready(status, "PodFailed", moment),
        "containerStatuses": containers,
    }


def _not_ready(status: Json, reason: str, moment: datetime) -> list[Json]:
    changed: dict[str, Any] = {"status": "False", "reason": reason, "lastTransitionTime": timestamp(moment)}
    conditions = status.get("conditions") or []
    return [{**c, **changed} if c["type"] in ("Ready", "ContainersReady") else c for c in conditions]


def evicted_status(pod: Json, usage_bytes: int, available_bytes: int, threshold_bytes: int, moment: datetime) -> Json:
    """As the kubelet's eviction leaves a pod: Failed, with its reasons in words.

    Source: pkg/kubelet/eviction/helpers.go, evictionMessage.
    """
    container = pod["spec"]["containers"][0]
    asked = memory_of(container, "requests")
    message = (
        f"The node was low on resource: memory. Threshold quantity: {threshold_bytes >> 20}Mi, "
        f"available: {available_bytes >> 10}Ki. "
    )
    if usage_bytes > asked:
        message += (
            f"Container {container['name']} was using {usage_bytes >> 10}Ki, request is {_request(asked)}, "
            "has larger consumption of memory. "
        )
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": message,
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(moment),
    }
    failed = failed_status(pod["status"], "Error", KILLED, moment)
    others = [each for each in failed["conditions"] if each["type"] != "DisruptionTarget"]
    return {**failed, "reason": "Evicted", "message": message, "conditions": [condition, *others]}


def _request(size: int) -> str:
    return f"{size >> 20}Mi" if size else "0"
