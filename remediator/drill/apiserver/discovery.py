"""What clients ask before they ask anything: versions, groups, resources."""

from remediator.drill.apiserver.errors import no_such_path
from remediator.drill.apiserver.resources import Json, Registry, ResourceType

VERSION: Json = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.2",
    "gitCommit": "drill",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "go1.27.3",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
# Served without objects behind them.
_REVIEWS = {
    "authorization.k8s.io": {
        "selfsubjectaccessreviews": "SelfSubjectAccessReview",
        "selfsubjectrulesreviews": "SelfSubjectRulesReview",
    }
}


def core_versions() -> Json:
    """GET /api."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def groups(registry: Registry) -> Json:
    """GET /apis."""
    found: dict[str, list[str]] = {}
    for name, version in [*registry.group_versions(), *((review, "v1") for review in _REVIEWS)]:
        found.setdefault(name, []).append(version)
    offered = [group(name, versions) for name, versions in found.items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": offered}


def group(name: str, versions: list[str]) -> Json:
    """One group of GET /apis."""
    offered = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": offered, "preferredVersion": offered[0]}


def one_group(registry: Registry, name: str) -> Json:
    """GET /apis/GROUP; 404 for a group that is not there."""
    versions = [version for found, version in registry.group_versions() if found == name]
    versions += ["v1"] if name in _REVIEWS else []
    if not versions:
        raise no_such_path()
    return {"kind": "APIGroup", "apiVersion": "v1", **group(name, versions)}


def resources(registry: Registry, group_name: str, version: str) -> Json:
    """GET /api/v1 and /apis/GROUP/VERSION; 404 for a group that is not there."""
    listed = [entry for r in registry if (r.group, r.version) == (group_name, version) for entry in _entries(r)]
    if (group_name, version) in ((reviews, "v1") for reviews in _REVIEWS):
        common: Json = {"namespaced": False, "verbs": ["create"]}
        reviews = _REVIEWS[group_name].items()
        listed = [{"name": plural, "singularName": kind.lower(), "kind": kind, **common} for plural, kind in reviews]
    if not listed:
        raise no_such_path()
    name = f"{group_name}/{version}" if group_name else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": listed}


# --- OpenAPI: no schemas, only that the server itself validates fields, so that kubectl need not ----------------


def openapi_paths(registry: Registry) -> Json:
    """GET /openapi/v3."""
    paths = ["api/v1", *(f"apis/{name}/{version}" for name, version in registry.group_versions())]
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}


def openapi(registry: Registry, group_name: str, version: str) -> Json:
    """GET /openapi/v3/…: of each resource the PATCH operation; 404 for a group that is not there."""
    found = [r for r in registry if (r.group, r.version) == (group_name, version)]
    if not found:
        raise no_such_path()
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
        "paths": {_object_path(resource): {"patch": _patch_operation(resource)} for resource in found},
        "components": {"schemas": {}},
    }


def _object_path(resource: ResourceType) -> str:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    return (
        f"{root}/namespaces/{{namespace}}/{resource.plural}/{{name}}"
        if resource.namespaced
        else (f"{root}/{resource.plural}/{{name}}")
    )


def _patch_operation(resource: ResourceType) -> Json:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    parameters = [{"name": name, "in": "query"} for name in ("dryRun", "fieldManager", "fieldValidation", "force")]
    return {
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": kind,
    }


def _entries(resource: ResourceType) -> list[Json]:
    entry: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _VERBS,
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    return [entry, *(_subresource(resource, sub) for sub in sorted(resource.subresources))]


def _subresource(resource: ResourceType, sub: str) -> Json:
    special: dict[str, Json] = {
        "eviction": {"group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]},
        "binding": {"kind": "Binding", "verbs": ["create"]},
        "scale": {
            "group": "autoscaling",
            "version": "v1",
            "kind": "Scale",
            "verbs": ["get", "patch", "update"],
        },
    }
    plain: Json = {"kind": resource.kind, "verbs": ["get", "patch", "update"]}
    shown = special.get(sub, plain)
    return {
        "name": f"{resource.plural}/{sub}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **shown,
    }
