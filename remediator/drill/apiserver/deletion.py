"""DELETE: preconditions, graceful pods, finalizers, whole collections. What owners' absence means is not known here."""

from collections.abc import Iterable
from typing import Any

from remediator.drill.apiserver.errors import uid_mismatch, version_mismatch
from remediator.drill.apiserver.resources import Json, ResourceType
from remediator.drill.apiserver.store import Store


def check_preconditions(store: Store, obj: Json, options: Json) -> None:
    """Raise a 409 when the object is not the one that was meant."""
    wanted: Json = options.get("preconditions") or {}
    metadata, resource = obj["metadata"], store.resources.of_kind(obj["kind"])
    if (uid := wanted.get("uid")) and uid != metadata["uid"]:
        raise uid_mismatch(resource, metadata["name"], uid, metadata["uid"])
    if (version := wanted.get("resourceVersion")) and version != metadata["resourceVersion"]:
        raise version_mismatch(resource, metadata["name"], version, metadata["resourceVersion"])


def delete_pod(store: Store, pod: Json, grace_seconds: Any) -> Json:
    """Delete gracefully: the kubelet removes a pod that runs; one that is nowhere goes at once.

    Without `grace_seconds` the pod's own period counts; a negative one is 1 s, as on a real server.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    asked = spec.get("terminationGracePeriodSeconds", 30) if grace_seconds is None else int(grace_seconds)
    waits = bool(spec.get("nodeName")) and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    grace = (asked if asked >= 0 else 1) if waits else 0
    if grace == 0 and not metadata.get("finalizers"):
        return store.delete("Pod", metadata["namespace"], metadata["name"])
    return store.mark_deleted("Pod", metadata["namespace"], metadata["name"], grace)


def delete(store: Store, resource: ResourceType, obj: Json, options: Json, *, dry_run: bool) -> Json:
    """Delete one object; the answer's body is the object while it stays, else a Status with its uid."""
    check_preconditions(store, obj, options)
    metadata = obj["metadata"]
    if resource.kind == "Pod":
        return obj if dry_run else delete_pod(store, obj, options.get("gracePeriodSeconds"))
    if metadata.get("finalizers") or resource.kind == "Namespace":
        return obj if dry_run else _begin_deletion(store, resource, obj)
    if not dry_run:
        store.delete(resource.kind, metadata.get("namespace"), metadata["name"])
    details: Json = {"name": metadata["name"]}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": metadata["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _begin_deletion(store: Store, resource: ResourceType, obj: Json) -> Json:
    metadata = obj["metadata"]
    marked = store.mark_deleted(resource.kind, metadata.get("namespace"), metadata["name"], None)
    if resource.kind != "Namespace":
        return marked
    status = {**marked.get("status", {}), "phase": "Terminating"}
    return store.update("Namespace", {**marked, "status": status}, subresource="status")


def delete_collection(
    store: Store, resource: ResourceType, objects: Iterable[Json], options: Json, *, dry_run: bool
) -> Json:
    """Delete many; the answer is the list of them."""
    gone = list(objects)
    for obj in gone:
        delete(store, resource, obj, options, dry_run=dry_run)
    metadata = {"resourceVersion": str(store.version)}
    return {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata, "items": gone}
