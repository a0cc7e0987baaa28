"""POST, PUT, PATCH, DELETE: what each does to the store. No HTTP here."""

import copy
from collections.abc import Mapping
from typing import Any

from remediator.drill.apiserver import custom
from remediator.drill.apiserver.errors import (
    ApiError,
    bad_request,
    modified,
    namespace_terminating,
    not_found,
)
from remediator.drill.apiserver.eviction import check_preconditions, delete_pod, evict
from remediator.drill.apiserver.patches import apply_patch
from remediator.drill.apiserver.paths import Target
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store
from remediator.drill.apiserver.validation import pruned, validate


def is_dry_run(query: Mapping[str, str]) -> bool:
    """`?dryRun=All`."""
    return "All" in query.get("dryRun", "")


class Writer:
    """All changes that clients can make."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, target: Target, body: Json, query: Mapping[str, str]) -> tuple[int, Json]:
        """POST of an object or of a subresource -> (status, body)."""
        if target.subresource == "eviction":
            self._check_namespace(target, target.name)
            namespace = target.namespace or ""
            return 201, evict(self._store, namespace, target.name, body, dry_run=is_dry_run(query))
        if target.subresource:
            raise ApiError(405, "the server does not allow this method on the requested resource", "MethodNotAllowed")
        obj = self._defaulted(target, body)
        validate_named = {**obj, "metadata": {**obj["metadata"]}}
        validate_named["metadata"].setdefault("name", obj["metadata"].get("generateName"))
        validate(target.resource, validate_named)
        self._check_namespace(target, validate_named["metadata"]["name"])
        if is_dry_run(query):
            return 201, obj
        created = self._store.create(target.resource.kind, obj)
        if target.resource.kind == "CustomResourceDefinition":
            custom.established(self._store, created)
        return 201, created

    def _defaulted(self, target: Target, body: Json) -> Json:
        metadata = {k: v for k, v in (body.get("metadata") or {}).items() if k not in _SERVER_SET}
        if target.namespace is not None:
            if metadata.get("namespace", target.namespace) != target.namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            metadata["namespace"] = target.namespace
        obj = {**copy.deepcopy(body), "metadata": metadata}
        if "status" in target.resource.subresources:
            obj.pop("status", None)
        if target.resource.kind == "CustomResourceDefinition":
            obj = custom.normalised(obj)
        if target.resource.kind == "Event" and not target.resource.group:
            obj = {**obj, **{k: obj.get(k, v) for k, v in _EVENT_DEFAULTS.items()}}
        return self._stored_form(target, obj)

    def _stored_form(self, target: Target, obj: Json) -> Json:
        """A custom object loses what its schema does not know."""
        if not target.resource.custom:
            return obj
        properties = target.resource.schema.get("properties", {})
        kept = {
            key: value for key, value in obj.items() if key in ("kind", "apiVersion", "metadata") or key in properties
        }
        return {
            key: value if key in ("kind", "apiVersion", "metadata") else pruned(properties[key], value)
            for key, value in kept.items()
        }

    def _check_namespace(self, target: Target, name: str) -> None:
        if target.namespace is None:
            return
        namespace = self._store.find("Namespace", None, target.namespace)
        if namespace is None:
            raise not_found(self._store.resources.of_kind("Namespace"), target.namespace)
        if "deletionTimestamp" in namespace["metadata"]:
            raise namespace_terminating(target.resource, name, target.namespace)

    def replace(self, target: Target, body: Json, query: Mapping[str, str]) -> tuple[int, Json]:
        """PUT of an object, its status or its scale."""
        if target.subresource == "scale":
            return 200, self._scale(target, body)
        metadata = {**(body.get("metadata") or {}), "name": target.name}
        if target.namespace is not None:
            metadata["namespace"] = target.namespace
        obj = self._stored_form(target, {**body, "metadata": metadata})
        validate(target.resource, obj)
        if is_dry_run(query):
            return 200, obj
        return 200, self._update(target, obj)

    def _update(self, target: Target, obj: Json) -> Json:
        status = "status" if target.subresource == "status" else ""
        if target.resource.kind == "Pod":
            obj = _with_probe_times(obj)
        updated = self._store.update(target.resource.kind, obj, subresource=status)
        return self._collected(target, updated)

    def _collected(self, target: Target, obj: Json) -> Json:
        """An object that was only held by its finalizers goes with the last of them."""
        metadata = obj["metadata"]
        waits = target.resource.kind == "Pod" and metadata.get("deletionGracePeriodSeconds", 0) > 0
        if "deletionTimestamp" in metadata and not metadata.get("finalizers") and not waits:
            self._store.delete(target.resource.kind, metadata.get("namespace"), metadata["name"])
        return obj

    def patch(self, target: Target, content_type: str, patch: Any, query: Mapping[str, str]) -> tuple[int, Json]:
        """PATCH of an object, its status or its scale; apply creates what is not there."""
        kind = target.resource.kind
        old = self._store.find(kind, target.namespace, target.name)
        if old is None and content_type.startswith("application/apply-patch"):
            return self.create(Target(target.resource, target.namespace), patch, query)
        if old is None:
            raise not_found(target.resource, target.name)
        if target.subresource == "scale":
            return 200, self._scale(target, apply_patch(content_type, self.scale(target), patch))
        self._check_version(target, old, patch)
        new = self._stored_form(target, apply_patch(content_type, old, patch))
        if isinstance(patch, dict):
            new["metadata"] = {**new["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}
        validate(target.resource, new)
        if is_dry_run(query):
            return 200, new
        return 200, self._update(target, new)

    @staticmethod
    def _check_version(target: Target, old: Json, patch: Any) -> None:
        given = (patch.get("metadata") or {}).get("resourceVersion") if isinstance(patch, dict) else None
        if given and given != old["metadata"]["resourceVersion"]:
            raise modified(target.resource, target.name)

    def scale(self, target: Target) -> Json:
        """GET of the scale subresource."""
        obj = self._store.get(target.resource.kind, target.namespace, target.name)
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

    def _scale(self, target: Target, scale: Json) -> Json:
        obj = self._store.get(target.resource.kind, target.namespace, target.name)
        spec = {**obj["spec"], "replicas": scale["spec"].get("replicas", 0)}
        version = (scale.get("metadata") or {}).get("resourceVersion") or obj["metadata"]["resourceVersion"]
        metadata = {**obj["metadata"], "resourceVersion": version}
        self._store.update(target.resource.kind, {**obj, "metadata": metadata, "spec": spec})
        return self.scale(target)

    def delete(self, target: Target, options: Json, query: Mapping[str, str]) -> tuple[int, Json]:
        """DELETE of one object; pods go gracefully, finalizers are respected."""
        kind = target.resource.kind
        obj = self._store.get(kind, target.namespace, target.name)
        check_preconditions(self._store, obj, options)
        if is_dry_run(query) or options.get("dryRun"):
            return 200, obj
        if kind == "Pod":
            grace = options.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
            return 200, delete_pod(self._store, obj, grace)
        if obj["metadata"].get("finalizers") or kind == "Namespace":
            return 200, self._store.mark_deleted(kind, target.namespace, target.name, None)
        self._store.delete(kind, target.namespace, target.name)
        details: Json = {"name": target.name}
        if target.resource.group:
            details["group"] = target.resource.group
        details |= {"kind": target.resource.plural, "uid": obj["metadata"]["uid"]}
        answer = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        }
        return 200, answer


_SERVER_SET = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "deletionTimestamp",
)
_EVENT_DEFAULTS: Json = {"eventTime": None, "reportingComponent": "", "reportingInstance": ""}


def _with_probe_times(pod: Json) -> Json:
    """A pod condition always carries lastProbeTime, null when nobody set it."""
    status = pod.get("status") or {}
    conditions = [
        {"type": c.get("type"), "status": c.get("status"), "lastProbeTime": None, **c}
        for c in status.get("conditions") or []
    ]
    return {**pod, "status": {**status, "conditions": conditions}} if conditions else pod
