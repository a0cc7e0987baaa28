"""Subresources that are small objects of their own: scale and binding."""

from remediator.drill.apiserver.errors import ApiError, invalid, success
from remediator.drill.apiserver.resources import Json, ResourceType
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.apiserver.validation import replicas_cause


def scale_of(obj: Json) -> Json:
    """The scale subresource of a workload."""
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    labels = (obj["spec"].get("selector") or {}).get("matchLabels") or {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: obj["metadata"][key] for key in kept},
        "spec": {"replicas": obj["spec"].get("replicas", 1)},
        "status": {
            "replicas": obj.get("status", {}).get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        },
    }


def with_replicas(resource: ResourceType, obj: Json, scale: Json) -> Json:
    """The workload as a Scale wants it, at the version the Scale is about; raises 422."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        raise invalid(resource, obj["metadata"]["name"], [replicas_cause(replicas)])
    version = (scale.get("metadata") or {}).get("resourceVersion") or obj["metadata"]["resourceVersion"]
    return {
        **obj,
        "metadata": {**obj["metadata"], "resourceVersion": version},
        "spec": {**obj["spec"], "replicas": replicas},
    }


def bind(store: Store, namespace: str, name: str, body: Json, *, dry_run: bool) -> Json:
    """POST pods/NAME/binding: what a scheduler does. Raises 409 for a pod that has a node."""
    pod = store.get("Pod", namespace, name)
    node = (body.get("target") or {}).get("name", "")
    if placed := pod["spec"].get("nodeName"):
        message = (
            f'Operation cannot be fulfilled on pods/binding "{name}": pod {name} is already assigned to node "{placed}"'
        )
        raise ApiError(409, message, "Conflict", {"name": name, "kind": "pods/binding"})
    if not dry_run:
        bound = store.update("Pod", {**pod, "spec": {**pod["spec"], "nodeName": node}})
        store.update("Pod", {**bound, "status": _scheduled(store, bound)}, subresource="status")
    return success(201)


def _scheduled(store: Store, pod: Json) -> Json:
    status: Json = pod.get("status") or {}
    told = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(store.clock()),
    }
    others = [each for each in status.get("conditions") or [] if each["type"] != told["type"]]
    return {**status, "conditions": [*others, told]}
