"""POST, PUT, PATCH, DELETE: what each does to the store. No HTTP here."""

from collections.abc import Mapping
from typing import Any

from remediator.drill.apiserver import custom, times
from remediator.drill.apiserver.defaults import completed
from remediator.drill.apiserver.deletion import delete, delete_collection
from remediator.drill.apiserver.errors import (
    bad_request,
    invalid,
    method_not_allowed,
    modified,
    namespace_terminating,
    not_found,
)
from remediator.drill.apiserver.eviction import evict
from remediator.drill.apiserver.listing import selected
from remediator.drill.apiserver.patches import APPLY_PATCH, apply_patch
from remediator.drill.apiserver.paths import Target, selection
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.scaling import bind, scale_of, with_replicas
from remediator.drill.apiserver.schemas import stored_form, unknown_fields
from remediator.drill.apiserver.store import Store
from remediator.drill.apiserver.validation import validate, version_cause
from remediator.drill.apiserver.versions import kept, shown

Answer = tuple[int, Json]
_SERVER_SET = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "deletionTimestamp")
# A real server makes these by PUT too, and takes no PUT of those without the version it changes.
_MADE_BY_PUT = ("Lease", "Event")
_DEFINITION = "CustomResourceDefinition"
_NEVER_UNCONDITIONAL = ("Lease", "PodDisruptionBudget", _DEFINITION)


def is_dry_run(query: Mapping[str, str]) -> bool:
    """`?dryRun=All`."""
    return "All" in query.get("dryRun", "")


class Writer:
    """All changes that clients can make."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # --- POST -----------------------------------------------------------------------------------------------

    def create(self, target: Target, body: Json, query: Mapping[str, str]) -> Answer:
        """An object, an eviction or a binding -> (status, body)."""
        if target.subresource in ("eviction", "binding"):
            self._check_namespace(target, target.name)
            act = evict if target.subresource == "eviction" else bind
            return 201, act(self._store, target.namespace or "", target.name, body, dry_run=is_dry_run(query))
        if target.name:
            raise method_not_allowed()
        metadata = {k: v for k, v in (body.get("metadata") or {}).items() if k not in _SERVER_SET}
        obj = completed(target.resource, kept(target.resource, {**body, "metadata": metadata}))
        obj = self._accepted(target, obj, query)
        if target.namespace is None and target.resource.namespaced:
            raise method_not_allowed()
        self._check_namespace(target, obj["metadata"].get("name") or obj["metadata"].get("generateName", ""))
        created = self._store.create(target.resource.kind, obj, dry_run=is_dry_run(query))
        if target.resource.kind == _DEFINITION and not is_dry_run(query):
            custom.established(self._store, created)
        return 201, created

    def _accepted(self, target: Target, obj: Json, query: Mapping[str, str]) -> Json:
        """The object as it will be stored; raises 400 or 422 for what a real server refuses."""
        resource, kind = target.resource, target.resource.kind
        obj = times.normalised(kind, resource.version, self._placed(target, obj))
        unknown = unknown_fields(resource, obj)
        if unknown and query.get("fieldValidation") == "Strict":
            told = ", ".join(f'unknown field "{path}"' for path in unknown)
            refusal = f'{kind} in version "{resource.version}" cannot be handled as a {kind}'
            raise bad_request(f"{refusal}: strict decoding error: {told}")
        obj = stored_form(resource, obj)
        named = {"name": (obj["metadata"].get("generateName") or "").rstrip("-."), **obj["metadata"]}
        validate(resource, {**obj, "metadata": named})
        return obj

    @staticmethod
    def _placed(target: Target, obj: Json) -> Json:
        """The object with the place that the path gives it; raises 400 when it says another."""
        metadata = dict(obj.get("metadata") or {})
        if target.namespace is not None:
            if metadata.get("namespace", target.namespace) != target.namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            metadata["namespace"] = target.namespace
        if target.name:
            if (name := metadata.get("name", target.name)) != target.name:
                raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
            metadata["name"] = target.name
        return {**obj, "metadata": metadata}

    def _check_namespace(self, target: Target, name: str) -> None:
        if target.namespace is None:
            return
        namespace = self._store.find("Namespace", None, target.namespace)
        if namespace is None:
            raise not_found(self._store.resources.of_kind("Namespace"), target.namespace)
        if "deletionTimestamp" in namespace["metadata"]:
            raise namespace_terminating(target.resource, name, target.namespace)

    # --- PUT and PATCH --------------------------------------------------------------------------------------

    def replace(self, target: Target, body: Json, query: Mapping[str, str]) -> Answer:
        """PUT of an object, its status or its scale."""
        if target.subresource == "scale":
            return 200, self._scale(target, body, query)
        kind = target.resource.kind
        if self._store.find(kind, target.namespace, target.name) is None and kind in _MADE_BY_PUT:
            return self.create(Target(target.resource, target.namespace), body, query)
        self._store.get(kind, target.namespace, target.name)
        obj = self._accepted(target, kept(target.resource, body), query)
        if not obj["metadata"].get("resourceVersion") and (target.resource.custom or kind in _NEVER_UNCONDITIONAL):
            raise invalid(target.resource, target.name, [version_cause()])
        return 200, self._update(target, obj, query)

    def patch(self, target: Target, content_type: str, patch: Any, query: Mapping[str, str]) -> Answer:
        """PATCH of an object, its status or its scale; apply creates what is not there."""
        resource = target.resource
        old = self._store.find(resource.kind, target.namespace, target.name)
        if old is None and content_type == APPLY_PATCH and isinstance(patch, dict) and not target.subresource:
            return self.create(Target(resource, target.namespace), patch, query)
        if old is None:
            raise not_found(resource, target.name)
        if target.subresource == "scale":
            scaled = apply_patch(content_type, scale_of(old), patch)
            return 200, self._scale(target, scaled, query)
        new = kept(resource, apply_patch(content_type, shown(resource, old), patch, custom=resource.custom))
        self._check_version(target, old, patch)
        new["metadata"] = {**new["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}
        return 200, self._update(target, self._accepted(target, new, query), query)

    @staticmethod
    def _check_version(target: Target, old: Json, patch: Any) -> None:
        given = (patch.get("metadata") or {}).get("resourceVersion") if isinstance(patch, dict) else None
        if given and given != old["metadata"]["resourceVersion"]:
            raise modified(target.resource, target.name)

    def _update(self, target: Target, obj: Json, query: Mapping[str, str]) -> Json:
        status = "status" if target.subresource == "status" else ""
        if target.resource.kind == "Pod":
            obj = _with_probe_times(obj)
        updated = self._store.update(target.resource.kind, obj, subresource=status, dry_run=is_dry_run(query))
        if is_dry_run(query):
            return updated
        if target.resource.kind == _DEFINITION:
            custom.serve(self._store, updated)
        return self._collected(target, updated)

    def _collected(self, target: Target, obj: Json) -> Json:
        """An object that was only held by its finalizers goes with the last of them."""
        metadata = obj["metadata"]
        waits = target.resource.kind == "Pod" and metadata.get("deletionGracePeriodSeconds", 0) > 0
        held = metadata.get("finalizers") or target.resource.kind == "Namespace"
        if "deletionTimestamp" in metadata and not held and not waits:
            self._store.delete(target.resource.kind, metadata.get("namespace"), metadata["name"])
        return obj

    # --- scale ----------------------------------------------------------------------------------------------

    def scale(self, target: Target) -> Json:
        """GET of the scale subresource."""
        return scale_of(self._store.get(target.resource.kind, target.namespace, target.name))

    def _scale(self, target: Target, scale: Json, query: Mapping[str, str]) -> Json:
        obj = self._store.get(target.resource.kind, target.namespace, target.name)
        wanted = with_replicas(target.resource, obj, scale)
        return scale_of(self._store.update(target.resource.kind, wanted, dry_run=is_dry_run(query)))

    # --- DELETE ---------------------------------------------------------------------------------------------

    def delete(self, target: Target, options: Json, query: Mapping[str, str]) -> Answer:
        """One object, or, without a name, all that the selectors select."""
        if target.subresource:
            raise method_not_allowed()
        dry_run = is_dry_run(query) or bool(options.get("dryRun"))
        if (grace := query.get("gracePeriodSeconds")) is not None:
            options = {"gracePeriodSeconds": grace, **options}
        if not target.name:
            objects = selected(self._store, selection(target, query))
            return 200, delete_collection(self._store, target.resource, objects, options, dry_run=dry_run)
        obj = self._store.get(target.resource.kind, target.namespace, target.name)
        answer = delete(self._store, target.resource, obj, options, dry_run=dry_run)
        if target.resource.kind == _DEFINITION and self._store.find(_DEFINITION, None, target.name) is None:
            custom.withdraw(self._store, obj)
        return 200, answer


def _with_probe_times(pod: Json) -> Json:
    """A pod condition always carries lastProbeTime, null when nobody set it."""
    status = pod.get("status") or {}
    conditions = [
        {"type": c.get("type"), "status": c.get("status"), "lastProbeTime": None, **c}
        for c in status.get("conditions") or []
    ]
    return {**pod, "status": {**status, "conditions": conditions}} if conditions else pod
