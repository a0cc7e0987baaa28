"""Objects as the table that kubectl prints (`Accept: application/json;as=Table;v=v1;g=meta.k8s.io`)."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from remediator.drill.apiserver.resources import Json, ResourceType

_NAME = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace. Is required when creating resources, although "
    "some resources may allow a client to request the generation of an appropriate name automatically. Name is "
    "primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    "priority": 0,
}


def as_table(resource: ResourceType, objects: Iterable[Json], version: str, include: str, now: datetime) -> Json:
    """A Table of objects; `include` is None, Metadata or Object (`includeObject`)."""
    columns, cells = _layout(resource)
    rows = [
        {"cells": [obj["metadata"]["name"], *cells(obj, now)], "object": _row_object(obj, include)} for obj in objects
    ]
    definitions = [_NAME, *(_definition(*column) for column in columns)]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": version},
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _definition(name: str, kind: str, description: str = "", priority: int = 0) -> Json:
    return {"name": name, "type": kind, "format": "", "description": description, "priority": priority}


def _row_object(obj: Json, include: str) -> Json | None:
    if include == "None":
        return None
    if include == "Object":
        return obj
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    return {**partial, "metadata": obj["metadata"]}


_Column = tuple[Any, ...]
_Cells = Callable[[Json, datetime], list[Any]]


def _layout(resource: ResourceType) -> tuple[list[_Column], _Cells]:
    if resource.custom:
        return _custom(resource)
    return _LAYOUTS.get(resource.kind, ([("Age", "string")], lambda obj, now: [age(obj, now)]))


def _custom(resource: ResourceType) -> tuple[list[_Column], _Cells]:
    prefix = "Custom resource definition column (in JSONPath format): "
    columns = [(c.name, c.type, c.description or prefix + c.json_path, c.priority) for c in resource.columns]

    def cells(obj: Json, now: datetime) -> list[Any]:
        return [_custom_cell(obj, column.json_path, column.type, now) for column in resource.columns]

    return columns, cells


def _custom_cell(obj: Json, path: str, kind: str, now: datetime) -> Any:
    value = json_path(obj, path)
    if value is None:
        return None
    return since(str(value), now) if kind == "date" else value


def json_path(obj: Any, path: str) -> Any:
    """The simple JSONPaths of printer columns: `.a.b[0].c`, `.metadata.labels.x\\.y`."""
    for step in re.findall(r"(?:\\.|[^.\[\]])+|\[\d+\]", path):
        if step.startswith("["):
            index = int(step[1:-1])
            obj = obj[index] if isinstance(obj, list) and index < len(obj) else None
        else:
            obj = obj.get(step.replace("\\.", ".")) if isinstance(obj, dict) else None
    return obj


def since(moment: str, now: datetime) -> str:
    """How long ago, as kubectl says it; `<invalid>` for the future."""
    seconds = int((now - datetime.fromisoformat(moment).astimezone(UTC)).total_seconds())
    if seconds < -2:
        return "<invalid>"
    seconds = max(0, seconds)
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 48:
        return f"{hours}h"
    return f"{days}d"


def age(obj: Json, now: datetime) -> str:
    """Age of an object."""
    return since(obj["metadata"]["creationTimestamp"], now)


def _pod(pod: Json, now: datetime) -> list[Any]:
    status, spec = pod.get("status", {}), pod["spec"]
    statuses: list[Json] = status.get("containerStatuses") or []
    ready = sum(bool(s.get("ready")) for s in statuses)
    restarts = str(sum(s.get("restartCount", 0) for s in statuses))
    where = [status.get("podIP") or "<none>", spec.get("nodeName") or "<none>", "<none>", "<none>"]
    return [f"{ready}/{len(spec['containers'])}", _pod_status(pod), restarts, age(pod, now), *where]


def _pod_status(pod: Json) -> str:
    status = pod.get("status", {})
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    for container in status.get("containerStatuses") or []:
        state = container.get("state", {})
        for kind in ("waiting", "terminated"):
            if reason := state.get(kind, {}).get("reason"):
                return str(reason)
    phase = {"Succeeded": "Completed"}.get(status.get("phase", ""), status.get("phase", "Pending"))
    return str(status.get("reason") or phase)


def _node(node: Json, now: datetime) -> list[Any]:
    conditions: list[Json] = node.get("status", {}).get("conditions") or []
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    shown = ["Ready" if ready else "NotReady"]
    if node.get("spec", {}).get("unschedulable"):
        shown.append("SchedulingDisabled")
    roles = [k.split("/")[1] for k in node["metadata"].get("labels", {}) if k.startswith("node-role.kubernetes.io/")]
    info = node.get("status", {}).get("nodeInfo") or {}
    addresses = {a["type"]: a["address"] for a in node.get("status", {}).get("addresses") or []}
    return [
        ",".join(shown),
        ",".join(sorted(roles)) or "<none>",
        age(node, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", "<none>"),
        addresses.get("ExternalIP", "<none>"),
        info.get("osImage", "<unknown>"),
        info.get("kernelVersion", "<unknown>"),
        info.get("containerRuntimeVersion", "<unknown>"),
    ]


def _workload(obj: Json, now: datetime) -> list[Any]:
    status = obj.get("status", {})
    ready = f"{status.get('readyReplicas', 0)}/{obj['spec'].get('replicas', 1)}"
    return [ready, status.get("updatedReplicas", 0), status.get("availableReplicas", 0), age(obj, now)]


def _replica_set(obj: Json, now: datetime) -> list[Any]:
    status = obj.get("status", {})
    return [
        obj["spec"].get("replicas", 1),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(obj, now),
    ]


def _stateful_set(obj: Json, now: datetime) -> list[Any]:
    return [_workload(obj, now)[0], age(obj, now)]


def _daemon_set(obj: Json, now: datetime) -> list[Any]:
    status = obj.get("status", {})
    fields = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
    return [*(status.get(field, 0) for field in fields), age(obj, now)]


def _job(obj: Json, now: datetime) -> list[Any]:
    status = obj.get("status", {})
    wanted = obj["spec"].get("completions", obj["spec"].get("parallelism", 1))
    running = "Complete" if status.get("succeeded", 0) >= wanted else "Running"
    return [running, f"{status.get('succeeded', 0)}/{wanted}", age(obj, now)]


def _service(obj: Json, now: datetime) -> list[Any]:
    spec = obj["spec"]
    ports = ",".join(f"{p['port']}/{p.get('protocol', 'TCP')}" for p in spec.get("ports") or []) or "<none>"
    return [spec.get("type", "ClusterIP"), spec.get("clusterIP", "None"), "<none>", ports, age(obj, now)]


def _budget(obj: Json, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status", {})
    return [
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        status.get("disruptionsAllowed", 0),
        age(obj, now),
    ]


def _event(obj: Json, now: datetime) -> list[Any]:
    involved: Json = obj.get("involvedObject") or obj.get("regarding") or {}
    last = obj.get("lastTimestamp") or obj.get("eventTime") or obj["metadata"]["creationTimestamp"]
    who = f"{involved.get('kind', '').lower()}/{involved.get('name', '')}"
    return [since(last, now), obj.get("type", ""), obj.get("reason", ""), who, obj.get("message", "")]


def _lease(obj: Json, now: datetime) -> list[Any]:
    return [obj.get("spec", {}).get("holderIdentity", ""), age(obj, now)]


def _columns(*names: str, wide: tuple[str, ...] = ()) -> list[_Column]:
    return [*((name, "string", "", 0) for name in names), *((name, "string", "", 1) for name in wide)]


_LAYOUTS: dict[str, tuple[list[_Column], _Cells]] = {
    "Pod": (
        _columns("Ready", "Status", "Restarts", "Age", wide=("IP", "Node", "Nominated Node", "Readiness Gates")),
        _pod,
    ),
    "Node": (
        _columns(
            "Status",
            "Roles",
            "Age",
            "Version",
            wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    "Deployment": (_columns("Ready", "Up-to-date", "Available", "Age"), _workload),
    "ReplicaSet": (_columns("Desired", "Current", "Ready", "Age"), _replica_set),
    "StatefulSet": (_columns("Ready", "Age"), _stateful_set),
    "DaemonSet": (_columns("Desired", "Current", "Ready", "Age"), _daemon_set),
    "Job": (_columns("Status", "Completions", "Age"), _job),
    "Service": (_columns("Type", "Cluster-IP", "External-IP", "Port(s)", "Age"), _service),
    "PodDisruptionBudget": (
        _columns("Min Available", "Max Unavailable", "Allowed Disruptions", "Age"),
        _budget,
    ),
    "Event": (_columns("Last Seen", "Type", "Reason", "Object", "Message"), _event),
    "Lease": (_columns("Holder", "Age"), _lease),
}
