"""The columns that kubectl prints for built-in kinds, and how their cells are worded. Pure.

Source: pkg/printers/internalversion/printers.go.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from remediator.drill.apiserver.pod_cells import pod_row
from remediator.drill.apiserver.resources import Json

Column = tuple[Any, ...]
"""Name, type, description, priority; priority 1 is shown with `-o wide` only."""
Cells = Callable[[Json, datetime], list[Any]]
NAME: Column = ("Name",)


def layout(kind: str) -> tuple[list[Column], Cells]:
    """Columns and cells of a built-in kind; name and age for one without columns of its own."""
    return _LAYOUTS.get(kind, (_columns("Name", "Age"), _plain))


def since(moment: str, now: datetime) -> str:
    """How long ago, as kubectl says it; `<invalid>` for the future."""
    seconds = int((now - datetime.fromisoformat(moment).astimezone(UTC)).total_seconds())
    if seconds < -2:
        return "<invalid>"
    seconds = max(0, seconds)
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    told = (
        (seconds < 600, _two(minutes, "m", seconds % 60, "s")),
        (minutes < 180, f"{minutes}m"),
        (hours < 8, _two(hours, "h", minutes % 60, "m")),
        (hours < 48, f"{hours}h"),
        (days < 8, _two(days, "d", hours % 24, "h")),
    )
    return next((text for small_enough, text in told if small_enough), f"{days}d")


def _two(big: int, unit: str, small: int, smaller: str) -> str:
    return f"{big}{unit}{small}{smaller}" if small else f"{big}{unit}"


def age(obj: Json, now: datetime) -> str:
    """Age of an object; `<unknown>` without creationTimestamp."""
    created = obj["metadata"].get("creationTimestamp")
    return since(created, now) if created else "<unknown>"


def _named(cells: Cells) -> Cells:
    return lambda obj, now: [obj["metadata"]["name"], *cells(obj, now)]


def _plain(obj: Json, now: datetime) -> list[Any]:
    return [obj["metadata"]["name"], age(obj, now)]


# --- cluster --------------------------------------------------------------------------------------------------


def _node(node: Json, now: datetime) -> list[Any]:
    status: Json = node.get("status") or {}
    conditions: list[Json] = status.get("conditions") or []
    ready = next((c["status"] for c in conditions if c["type"] == "Ready"), None)
    shown = [{"True": "Ready", None: "Unknown"}.get(ready, "NotReady")]
    if (node.get("spec") or {}).get("unschedulable"):
        shown.append("SchedulingDisabled")
    labels = node["metadata"].get("labels") or {}
    roles = [key.split("/")[1] for key in labels if key.startswith("node-role.kubernetes.io/")]
    info = status.get("nodeInfo") or {}
    addresses = {each["type"]: each["address"] for each in status.get("addresses") or []}
    return [
        ",".join(shown),
        ",".join(sorted(roles)) or "<none>",
        age(node, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", "<none>"),
        addresses.get("ExternalIP", "<none>"),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _namespace(obj: Json, now: datetime) -> list[Any]:
    return [(obj.get("status") or {}).get("phase", "Active"), age(obj, now)]


def _definition(obj: Json, now: datetime) -> list[Any]:
    return [obj["metadata"].get("creationTimestamp", "")]


# --- workloads ------------------------------------------------------------------------------------------------


def _template(obj: Json) -> list[Any]:
    """Containers and images, shown by `-o wide`."""
    spec = obj["spec"].get("jobTemplate", {}).get("spec", obj["spec"])
    containers: list[Json] = spec.get("template", {}).get("spec", {}).get("containers") or []
    names = ",".join(each.get("name", "") for each in containers)
    return [names, ",".join(each.get("image", "") for each in containers)]


def _selector(selector: Json | None) -> str:
    labels: Json = (selector or {}).get("matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "<none>"


def _wide(obj: Json) -> list[Any]:
    return [*_template(obj), _selector(obj["spec"].get("selector"))]


def _deployment(obj: Json, now: datetime) -> list[Any]:
    status: Json = obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{obj['spec'].get('replicas', 1)}"
    return [ready, status.get("updatedReplicas", 0), status.get("availableReplicas", 0), age(obj, now), *_wide(obj)]


def _replica_set(obj: Json, now: datetime) -> list[Any]:
    status: Json = obj.get("status") or {}
    counts = [obj["spec"].get("replicas", 1), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [*counts, age(obj, now), *_wide(obj)]


def _stateful_set(obj: Json, now: datetime) -> list[Any]:
    ready = (obj.get("status") or {}).get("readyReplicas", 0)
    return [f"{ready}/{obj['spec'].get('replicas', 1)}", age(obj, now), *_template(obj)]


def _daemon_set(obj: Json, now: datetime) -> list[Any]:
    status: Json = obj.get("status") or {}
    names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    nodes = obj["spec"].get("template", {}).get("spec", {}).get("nodeSelector")
    counts = [status.get(name, 0) for name in (*names, "numberAvailable")]
    return [*counts, _selector({"matchLabels": nodes}), age(obj, now), *_wide(obj)]


def _job(obj: Json, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    wanted = spec.get("completions") or (f"1 of {spec['parallelism']}" if spec.get("parallelism", 1) > 1 else 1)
    return [
        _job_status(spec, status, "deletionTimestamp" in obj["metadata"]),
        f"{status.get('succeeded', 0)}/{wanted}",
        _duration(status, now),
        age(obj, now),
        *_wide(obj),
    ]


def _job_status(spec: Json, status: Json, terminating: bool) -> str:
    for condition in status.get("conditions") or []:
        if condition["status"] == "True" and condition["type"] in ("Complete", "Failed", "Suspended"):
            return str(condition["type"])
    if terminating:
        return "Terminating"
    return "Suspended" if spec.get("suspend") else "Running"


def _duration(status: Json, now: datetime) -> str:
    started, ended = status.get("startTime"), status.get("completionTime")
    if not started:
        return ""
    return since(started, datetime.fromisoformat(ended).astimezone(UTC) if ended else now)


def _cron_job(obj: Json, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    last = status.get("lastScheduleTime")
    return [
        spec.get("schedule", ""),
        spec.get("timeZone") or "<none>",
        str(bool(spec.get("suspend"))),
        len(status.get("active") or []),
        since(last, now) if last else "<none>",
        age(obj, now),
        *_wide(obj),
    ]


def _budget(obj: Json, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    limits = [str(spec.get("minAvailable", "N/A")), str(spec.get("maxUnavailable", "N/A"))]
    return [*limits, status.get("disruptionsAllowed", 0), age(obj, now)]


# --- services, events, leases -----------------------------------------------------------------------------------


def _service(obj: Json, now: datetime) -> list[Any]:
    spec: Json = obj.get("spec") or {}
    ports = ",".join(f"{p['port']}/{p.get('protocol', 'TCP')}" for p in spec.get("ports") or []) or "<none>"
    external = ",".join(spec.get("externalIPs") or []) or "<none>"
    address = spec.get("clusterIP") or "<none>"
    kind = spec.get("type", "ClusterIP")
    return [kind, address, external, ports, age(obj, now), _selector({"matchLabels": spec.get("selector")})]


def _endpoint_slice(obj: Json, now: datetime) -> list[Any]:
    ports = ",".join(str(each.get("port", "")) for each in obj.get("ports") or []) or "<unset>"
    addresses = [address for each in obj.get("endpoints") or [] for address in each.get("addresses") or []]
    more = f" + {len(addresses) - 3} more..." if len(addresses) > 3 else ""
    shown = (",".join(addresses[:3]) + more) or "<unset>"
    return [obj.get("addressType", ""), ports, shown, age(obj, now)]


def _event(obj: Json, now: datetime) -> list[Any]:
    """The one kind whose name does not come first."""
    about: Json = obj.get("involvedObject") or {}
    series: Json = obj.get("series") or {}
    first = obj.get("firstTimestamp") or obj.get("eventTime") or obj["metadata"].get("creationTimestamp")
    last = series.get("lastObservedTime") or obj.get("lastTimestamp") or first
    source: Json = obj.get("source") or {}
    origin = source.get("component") or obj.get("reportingComponent") or ""
    return [
        since(last, now) if last else "<unknown>",
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        ", ".join(part for part in (origin, source.get("host", "")) if part),
        (obj.get("message") or "").strip(),
        since(first, now) if first else "<unknown>",
        series.get("count") or obj.get("count") or 1,
        obj["metadata"]["name"],
    ]


def _lease(obj: Json, now: datetime) -> list[Any]:
    return [(obj.get("spec") or {}).get("holderIdentity") or "", age(obj, now)]


def _config_map(obj: Json, now: datetime) -> list[Any]:
    return [len(obj.get("data") or {}) + len(obj.get("binaryData") or {}), age(obj, now)]


def _service_account(obj: Json, now: datetime) -> list[Any]:
    return [len(obj.get("secrets") or []), age(obj, now)]


_COUNTS = frozenset(
    ("Desired", "Current", "Up-to-date", "Available", "Active", "Allowed Disruptions", "Data", "Secrets", "Count")
)


def _columns(*names: str, wide: tuple[str, ...] = ()) -> list[Column]:
    """Columns; a name that ends in `+`, or is in `wide`, is shown with `-o wide` only."""
    return [_column(name.removesuffix("+"), int(name.endswith("+"))) for name in (*names, *(f"{w}+" for w in wide))]


def _column(name: str, priority: int) -> Column:
    return NAME if (name, priority) == ("Name", 0) else (name, "integer" if name in _COUNTS else "string", "", priority)


_TEMPLATE = ("Containers", "Images", "Selector")
_NODE_WIDE = ("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime")
_POD_WIDE = ("IP", "Node", "Nominated Node", "Readiness Gates")
_EVENT_COLUMNS = ("Last Seen", "Type", "Reason", "Object", "Subobject+", "Source+", "Message", "First Seen+", "Count+")
_DAEMON_COLUMNS = ("Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector", "Age")
_CRON_COLUMNS = ("Schedule", "Timezone", "Suspend", "Active", "Last Schedule", "Age")


def _pod(pod: Json, now: datetime) -> list[Any]:
    return pod_row(pod, age(pod, now), lambda moment: since(moment, now))


_BY_NAME: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Cells]] = {
    "Pod": (("Ready", "Status", "Restarts", "Age"), _POD_WIDE, _pod),
    "Node": (("Status", "Roles", "Age", "Version"), _NODE_WIDE, _node),
    "Namespace": (("Status", "Age"), (), _namespace),
    "CustomResourceDefinition": (("Created At",), (), _definition),
    "Deployment": (("Ready", "Up-to-date", "Available", "Age"), _TEMPLATE, _deployment),
    "ReplicaSet": (("Desired", "Current", "Ready", "Age"), _TEMPLATE, _replica_set),
    "StatefulSet": (("Ready", "Age"), _TEMPLATE[:2], _stateful_set),
    "DaemonSet": (_DAEMON_COLUMNS, _TEMPLATE, _daemon_set),
    "Job": (("Status", "Completions", "Duration", "Age"), _TEMPLATE, _job),
    "CronJob": (_CRON_COLUMNS, _TEMPLATE, _cron_job),
    "PodDisruptionBudget": (("Min Available", "Max Unavailable", "Allowed Disruptions", "Age"), (), _budget),
    "Service": (("Type", "Cluster-IP", "External-IP", "Port(s)", "Age"), ("Selector",), _service),
    "EndpointSlice": (("AddressType", "Ports", "Endpoints", "Age"), (), _endpoint_slice),
    "Lease": (("Holder", "Age"), (), _lease),
    "ConfigMap": (("Data", "Age"), (), _config_map),
    "ServiceAccount": (("Secrets", "Age"), (), _service_account),
}
_LAYOUTS: Mapping[str, tuple[list[Column], Cells]] = {
    "Event": (_columns(*_EVENT_COLUMNS, "Name+"), _event),
    **{kind: (_columns("Name", *names, wide=wide), _named(cells)) for kind, (names, wide, cells) in _BY_NAME.items()},
}
