"""What a real server fills in when an object is created. Pure."""

from typing import Any

from remediator.drill.apiserver.custom import normalised
from remediator.drill.apiserver.resources import Json, ResourceType

_POD: Json = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default",
    "serviceAccount": "default",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_CONTAINER: Json = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}
_TOLERATED_SECONDS = 300
_EVENT: Json = {"eventTime": None, "reportingComponent": "", "reportingInstance": ""}
_SCALED = ("Deployment", "ReplicaSet", "StatefulSet")


def completed(resource: ResourceType, obj: Json) -> Json:
    """The object as it is first stored; a status that the client sent is dropped where status is a subresource."""
    if "status" in resource.subresources:
        obj = {key: value for key, value in obj.items() if key != "status"}
    if resource.kind == "CustomResourceDefinition":
        return normalised(obj)
    if resource.kind == "Event":
        return {**obj, **{key: obj.get(key, value) for key, value in _EVENT.items()}}
    if resource.kind == "Pod":
        return _pod(obj)
    if resource.kind == "Namespace":
        return _namespace(obj)
    if resource.kind in _SCALED:
        return {**obj, "spec": {"replicas": 1, **(obj.get("spec") or {})}}
    return obj


def _pod(obj: Json) -> Json:
    spec = {**_POD, **(obj.get("spec") or {})}
    spec["containers"] = [{**_CONTAINER, **each} for each in spec.get("containers") or []]
    own = spec.get("tolerations") or []
    spec["tolerations"] = [*own, *(each for each in _node_tolerations() if each["key"] not in _keys(own))]
    return {**obj, "spec": spec, "status": {"phase": "Pending", "qosClass": qos_class(spec["containers"])}}


def _node_tolerations() -> list[Json]:
    common = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}
    return [{"key": f"node.kubernetes.io/{name}", **common} for name in ("not-ready", "unreachable")]


def _keys(tolerations: list[Json]) -> set[Any]:
    return {each.get("key") for each in tolerations}


def qos_class(containers: list[Json]) -> str:
    """Guaranteed, Burstable or BestEffort, from requests and limits of CPU and memory."""
    asked = [(each.get("resources") or {}) for each in containers]
    if not any(each.get("requests") or each.get("limits") for each in asked):
        return "BestEffort"
    guaranteed = all(
        name in (each.get("limits") or {})
        and (each.get("requests") or each["limits"]).get(name, each["limits"][name]) == each["limits"][name]
        for each in asked
        for name in ("cpu", "memory")
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _namespace(obj: Json) -> Json:
    metadata = obj["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata.get("name", "")}
    return {
        **obj,
        "metadata": {**metadata, "labels": labels},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
