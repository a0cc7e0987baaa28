"""JSON patch, JSON merge patch, strategic merge patch: pure functions from object and patch to object."""

import copy
from collections.abc import Mapping
from typing import Any

import jsonpatch

from remediator.drill.apiserver.errors import ApiError, bad_request, patch_failed
from remediator.drill.apiserver.resources import Json

# patchMergeKey of the Kubernetes API for lists that clients here do patch.
MERGE_KEYS: Mapping[str, str] = {
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "containerStatuses": "name",
    "env": "name",
    "ports": "containerPort",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ownerReferences": "uid",
    "taints": "key",
    "addresses": "type",
    "tolerations": "",
    "imagePullSecrets": "name",
}
_SET_LISTS = ("finalizers",)

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def apply_patch(content_type: str, obj: Json, patch: Any) -> Json:
    """The patched object; raises a 400, 415 or 422 ApiError. The original is left alone."""
    if content_type == JSON_PATCH:
        return json_patch(obj, patch)
    if not isinstance(patch, dict):
        raise bad_request("the patch must be a JSON object")
    if content_type in (MERGE_PATCH, APPLY_PATCH):
        merged: Json = merge_patch(obj, patch)
        return merged
    if content_type == STRATEGIC_PATCH:
        return strategic_merge_patch(obj, patch)
    message = f"the body of the request was in an unknown format - accepted media types include: {JSON_PATCH}"
    raise ApiError(415, f"{message}, {MERGE_PATCH}, {STRATEGIC_PATCH}, {APPLY_PATCH}", "UnsupportedMediaType", {})


def json_patch(obj: Json, patch: Any) -> Json:
    """RFC 6902; a failing test, like any step that cannot be done, is 422."""
    if not isinstance(patch, list):
        raise bad_request("a JSON patch is a list of operations")
    try:
        patched: Json = jsonpatch.apply_patch(copy.deepcopy(obj), patch)
    except jsonpatch.InvalidJsonPatch as error:
        raise bad_request(str(error)) from error
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise patch_failed() from error
    return patched


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: null removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def strategic_merge_patch(target: Json, patch: Json) -> Json:
    """As the merge patch, but lists with a merge key are merged by it, and `$patch` directives obeyed."""
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    merged = dict(target)
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = strategic_merge_patch(merged.get(key) or {}, value)
        elif isinstance(value, list):
            merged[key] = _merged_list(key, merged.get(key) or [], value)
        else:
            merged[key] = value
    return merged


def _merged_list(field: str, old: list[Any], new: list[Any]) -> list[Any]:
    if field in _SET_LISTS:
        return [*old, *(item for item in new if item not in old)]
    merge_key = MERGE_KEYS.get(field, "")
    if not merge_key or any(isinstance(item, dict) and item.get("$patch") == "replace" for item in new):
        return [item for item in new if not (isinstance(item, dict) and "$patch" in item)]
    known = {item.get(merge_key) for item in old}
    # New items come first, as a real server puts them.
    merged: dict[Any, Any] = {item.get(merge_key): {} for item in new if item.get(merge_key) not in known}
    merged |= {item.get(merge_key): item for item in old}
    for item in new:
        identity = item.get(merge_key)
        if item.get("$patch") == "delete":
            merged.pop(identity, None)
        else:
            merged[identity] = strategic_merge_patch(merged.get(identity) or {}, item)
    return list(merged.values())
