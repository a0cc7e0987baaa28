"""The EndpointSlice controller: a Service's slice holds what matches its selector, with its readiness.

A pod that loses a label of the selector leaves the slice at once; whether its controller keeps it is not asked here.
"""

from remediator.drill.apiserver.eviction import is_ready
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.selectors import selector_matches
from remediator.drill.apiserver.store import Store
from remediator.drill.simulation.naming import suffix


def endpoint_slice(store: Store, service: Json) -> None:
    """Create or correct the one slice of a Service."""
    metadata, selector = service["metadata"], service["spec"].get("selector")
    if not selector:
        return
    pods = [
        pod
        for pod in store.list("Pod", metadata["namespace"])
        if pod["status"].get("phase") == "Running"
        and pod["status"].get("podIP")
        and selector_matches({"matchLabels": selector}, pod["metadata"].get("labels") or {})
    ]
    body = {"addressType": "IPv4", "endpoints": [_endpoint(pod) for pod in pods], "ports": _ports(service)}
    name = f"{metadata['name']}-{suffix('slice', metadata['namespace'], metadata['name'])}"
    old = store.find("EndpointSlice", metadata["namespace"], name)
    if old is None:
        store.create("EndpointSlice", {"metadata": _slice_metadata(service, name), **body})
    elif old["endpoints"] != body["endpoints"] or old["ports"] != body["ports"]:
        store.update("EndpointSlice", {**old, **body})


def _ports(service: Json) -> list[Json]:
    return [
        {"name": port.get("name", ""), "protocol": port.get("protocol", "TCP"), "port": port["port"]}
        for port in service["spec"].get("ports") or []
    ]


def _slice_metadata(service: Json, name: str) -> Json:
    metadata = service["metadata"]
    owner = {"apiVersion": "v1", "kind": "Service", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "name": name,
        "generateName": f"{metadata['name']}-",
        "namespace": metadata["namespace"],
        "labels": {
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            "kubernetes.io/service-name": metadata["name"],
        },
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
    }


def _endpoint(pod: Json) -> Json:
    terminating = "deletionTimestamp" in pod["metadata"]
    ready = is_ready(pod)
    target = {key: pod["metadata"][key] for key in ("namespace", "name", "uid")}
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready and not terminating, "serving": ready, "terminating": terminating},
        "targetRef": {"kind": "Pod", **target},
        "nodeName": pod["spec"]["nodeName"],
    }
