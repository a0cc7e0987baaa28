"""From Pod and Node objects to facts. Pure; knows the API's shapes and nothing of decisions."""

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from remediator.adapters.quantities import memory_bytes, unix_seconds
from remediator.core.model import NodeFacts, PodFacts, PodPlacement, Taint, Termination, WorkloadRef

Json = dict[str, Any]
KOORDINATOR_RESOURCES = ("kubernetes.io/batch-memory", "kubernetes.io/mid-memory")
_MIRROR = "kubernetes.io/config.mirror"
_MIRRORED = "kubernetes.io/config.hash"
OwnerOf = Callable[[Json], WorkloadRef | None]


def node_facts(node: Json, requested_bytes: int = 0) -> NodeFacts:
    """A Node object's facts."""
    metadata, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    conditions = {c["type"]: c["status"] for c in status.get("conditions") or []}
    allocatable = status.get("allocatable") or {}
    return NodeFacts(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        taints=tuple(Taint(t["key"], t.get("value", ""), t["effect"]) for t in spec.get("taints") or []),
        unschedulable=bool(spec.get("unschedulable")),
        ready=conditions.get("Ready", "True") == "True",
        memory_pressure=conditions.get("MemoryPressure") == "True",
        allocatable_bytes=memory_bytes(allocatable.get("memory")),
        requested_bytes=requested_bytes,
        extended_allocatable={
            name: memory_bytes(allocatable[name]) for name in KOORDINATOR_RESOURCES if name in allocatable
        },
    )


def pod_facts(pod: Json, owner_of: OwnerOf) -> PodFacts:
    """A Pod object's facts."""
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    conditions = {c["type"]: c for c in status.get("conditions") or []}
    containers = spec.get("containers") or []
    target = conditions.get("DisruptionTarget") or {}
    return PodFacts(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=_uid(metadata),
        node=spec.get("nodeName") or "",
        phase=status.get("phase") or "Unknown",
        status_reason=status.get("reason") or "",
        status_message=status.get("message") or "",
        ready=(conditions.get("Ready") or {}).get("status") == "True",
        terminating_since=_terminating_since(metadata),
        created_at=unix_seconds(metadata.get("creationTimestamp")) or 0.0,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        workload=owner_of(pod),
        mirror=_MIRROR in (metadata.get("annotations") or {}),
        priority=spec.get("priority"),
        priority_class=spec.get("priorityClassName") or "",
        qos=status.get("qosClass") or "",
        request_bytes=pod_requests(spec),
        limit_bytes=_limit(containers),
        volumes=_volumes(spec),
        grace_period_seconds=int(spec.get("terminationGracePeriodSeconds", 30)),
        node_selector=spec.get("nodeSelector") or {},
        tolerations=tuple({k: str(v) for k, v in t.items()} for t in spec.get("tolerations") or []),
        terminations=tuple(_terminations(status)),
        disruption_target=str(target.get("reason") or "") if target.get("status") == "True" else "",
        finalizers=tuple(metadata.get("finalizers") or ()),
        extended_requests=extended_requests(spec),
        ended_at=_ended_at(status, target),
    )


def _uid(metadata: Json) -> str:
    """The UID by which the kubelet knows the pod: a static pod's cgroup is named after its configuration.

    The API object of a static pod is only its mirror, with a UID of its own that nobody measures. It is never acted on.
    """
    annotations = metadata.get("annotations") or {}
    hashed = annotations.get(_MIRRORED) if _MIRROR in annotations else None
    return str(hashed or metadata["uid"])


def _terminating_since(metadata: Json) -> float | None:
    """When deletion was asked for: deletionTimestamp is that moment plus the grace period."""
    deletion = unix_seconds(metadata.get("deletionTimestamp"))
    return None if deletion is None else deletion - float(metadata.get("deletionGracePeriodSeconds") or 0)


def pod_requests(spec: Json, resource: str = "memory") -> int:
    """What the scheduler counts: containers and restartable init containers, at least the largest init container."""
    restartable, largest = 0, 0
    for container in spec.get("initContainers") or []:
        size = _request(container, resource)
        if container.get("restartPolicy") == "Always":
            restartable += size
        else:
            largest = max(largest, restartable + size)
    running = restartable + sum(_request(container, resource) for container in spec.get("containers") or [])
    overhead = memory_bytes((spec.get("overhead") or {}).get(resource))
    return max(running, largest) + overhead


def _request(container: Json, resource: str) -> int:
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    return memory_bytes(requests.get(resource, limits.get(resource)))


def _limit(containers: list[Json]) -> int | None:
    """Sum of the limits; None when a container has none, for then the pod has none."""
    limits = [((c.get("resources") or {}).get("limits") or {}).get("memory") for c in containers]
    return None if not limits or None in limits else sum(memory_bytes(limit) for limit in limits)


def extended_requests(spec: Json) -> Mapping[str, int]:
    """Requests of Koordinator's extended memory, bytes by resource; those that are 0 are left out."""
    found = {name: pod_requests(spec, name) for name in KOORDINATOR_RESOURCES}
    return {name: size for name, size in found.items() if size}


def _volumes(spec: Json) -> frozenset[str]:
    kinds = set()
    for volume in spec.get("volumes") or []:
        if "persistentVolumeClaim" in volume or "ephemeral" in volume:
            kinds.add("pvc")
        elif "hostPath" in volume:
            kinds.add("hostPath")
        elif "emptyDir" in volume and (volume["emptyDir"] or {}).get("medium") != "Memory":
            kinds.add("emptyDir")
    return frozenset(kinds)


def _terminations(status: Json) -> list[Termination]:
    found = []
    for container in status.get("containerStatuses") or []:
        for state in (container.get("lastState") or {}, container.get("state") or {}):
            ended = state.get("terminated")
            if ended:
                found.append(
                    Termination(
                        container=container["name"],
                        reason=ended.get("reason") or "",
                        exit_code=int(ended.get("exitCode", 0)),
                        finished_at=unix_seconds(ended.get("finishedAt")) or 0.0,
                        restart_count=int(container.get("restartCount", 0)),
                    )
                )
    return found


def _ended_at(status: Json, target: Json) -> float | None:
    if status.get("phase") not in ("Failed", "Succeeded"):
        return None
    moments = [unix_seconds(target.get("lastTransitionTime"))]
    moments += [termination.finished_at for termination in _terminations(status)]
    moments.append(unix_seconds(status.get("startTime")))
    return next((moment for moment in moments if moment), None)


def startup_seconds(pods: list[Json]) -> float | None:
    """Median of Ready time minus container start over a workload's pods.

    Pods whose containers were restarted say nothing of starting up and are left out; None when none is left.
    """
    measured = [seconds for pod in pods if (seconds := _startup(pod)) is not None]
    return median(measured) if measured else None


def _startup(pod: Json) -> float | None:
    status = pod.get("status") or {}
    ready = next((c for c in status.get("conditions") or [] if c["type"] == "Ready" and c["status"] == "True"), None)
    statuses = status.get("containerStatuses") or []
    if ready is None or not statuses or any(container.get("restartCount") for container in statuses):
        return None
    started = [((c.get("state") or {}).get("running") or {}).get("startedAt") for c in statuses]
    moments = [unix_seconds(moment) for moment in started if moment]
    became_ready = unix_seconds(ready.get("lastTransitionTime"))
    if became_ready is None or not moments:
        return None
    # Readiness lost and regained long after the start measures something else.
    seconds = became_ready - min(moment for moment in moments if moment is not None)
    return seconds if 0 <= seconds <= 3600 else None


def placement(pod: Json) -> PodPlacement:
    """Where a pod of a workload runs."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or [])
    return PodPlacement(
        uid=metadata["uid"],
        node=pod["spec"].get("nodeName") or "",
        ready=ready,
        created_at=unix_seconds(metadata.get("creationTimestamp")) or 0.0,
        restarts=sum(int(c.get("restartCount", 0)) for c in status.get("containerStatuses") or []),
    )


def alive(pod: Json) -> bool:
    """Counts as a replica: neither terminating nor finished."""
    phase = (pod.get("status") or {}).get("phase")
    return "deletionTimestamp" not in pod["metadata"] and phase not in ("Failed", "Succeeded")
