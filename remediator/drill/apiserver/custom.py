"""CustomResourceDefinitions: a definition that is created makes its kind served."""

from remediator.drill.apiserver.resources import Column, Json, ResourceType
from remediator.drill.apiserver.store import Store


def normalised(definition: Json) -> Json:
    """The definition with what a real server fills in."""
    spec = definition["spec"]
    names = {**spec["names"]}
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", f"{names['kind']}List")
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    return {
        **definition,
        "spec": {**spec, "names": names, "conversion": spec.get("conversion", {"strategy": "None"})},
        "status": {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": stored,
        },
    }


def established(store: Store, definition: Json) -> None:
    """What the CRD controller does: accept the names, say Established, serve the kind."""
    moment = definition["metadata"]["creationTimestamp"]
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": moment, "reason": reason, "message": message}
        for kind, reason, message in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
    ]
    status = {
        **definition["status"],
        "conditions": conditions,
        "acceptedNames": definition["spec"]["names"],
    }
    serve(store, definition)
    store.update("CustomResourceDefinition", {**definition, "status": status}, subresource="status")


def serve(store: Store, definition: Json) -> None:
    """Serve every version of the definition (objects are the same in all of them)."""
    for resource in resource_types(definition):
        store.resources.add(resource)


def withdraw(store: Store, definition: Json) -> None:
    """Serve it no more: a definition that goes takes its objects with it."""
    for resource in resource_types(definition):
        for obj in store.list(resource.kind):
            store.delete(resource.kind, obj["metadata"].get("namespace"), obj["metadata"]["name"])
        store.resources.remove(resource)


def resource_types(definition: Json) -> list[ResourceType]:
    """The resource types of a definition."""
    spec = definition["spec"]
    return [_resource_type(spec, version) for version in spec["versions"] if version.get("served")]


def _resource_type(spec: Json, version: Json) -> ResourceType:
    names = spec["names"]
    columns = tuple(
        Column(c["name"], c["type"], c["jsonPath"], c.get("priority", 0), c.get("description", ""))
        for c in version.get("additionalPrinterColumns") or [{"name": "Age", "type": "date", "jsonPath": _CREATED}]
    )
    return ResourceType(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        subresources=frozenset(version.get("subresources") or {}),
        columns=columns,
        schema=version["schema"]["openAPIV3Schema"],
    )


_CREATED = ".metadata.creationTimestamp"
