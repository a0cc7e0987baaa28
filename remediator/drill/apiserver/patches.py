"""JSON patch, JSON merge patch, strategic merge patch: pure functions from object and patch to object."""

import copy
from collections.abc import Mapping
from typing import Any

import jsonpatch

from remediator.drill.apiserver.errors import bad_request, patch_failed, unsupported_media_type
from remediator.drill.apiserver.resources import Json

# patchMergeKey of the Kubernetes API for lists that clients here do patch; other lists are replaced.
MERGE_KEYS: Mapping[str, tuple[str, ...]] = {
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "hostIPs": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "ports": ("containerPort", "port"),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_SET_LISTS = ("finalizers",)
_DELETE_FROM = "$deleteFromPrimitiveList/"

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def apply_patch(content_type: str, obj: Json, patch: Any, *, custom: bool = False) -> Json:
    """The patched object; raises a 400, 415 or 422 ApiError. The original is left alone.

    `custom` resources know no strategic merge patch; server-side apply is taken as a merge.
    """
    accepted = [JSON_PATCH, MERGE_PATCH, *([] if custom else [STRATEGIC_PATCH]), APPLY_PATCH]
    if content_type not in accepted:
        raise unsupported_media_type(accepted)
    if content_type == JSON_PATCH:
        return json_patch(obj, patch)
    if not isinstance(patch, dict):
        raise bad_request("the patch must be a JSON object")
    if content_type == STRATEGIC_PATCH or (content_type == APPLY_PATCH and not custom):
        return strategic_merge_patch(obj, patch)
    merged: Json = merge_patch(obj, patch)
    return merged


def json_patch(obj: Json, patch: Any) -> Json:
    """RFC 6902; a failing test, like any step that cannot be done, is 422."""
    if not isinstance(patch, list):
        raise bad_request("a JSON patch is a list of operations")
    patched: Json = copy.deepcopy(obj)
    try:
        for step in patch:
            if not _tests_for_nothing(patched, step):
                patched = jsonpatch.apply_patch(patched, [step], in_place=True)
    except jsonpatch.InvalidJsonPatch as error:
        raise bad_request(str(error)) from error
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError) as error:
        raise patch_failed() from error
    return patched


def _tests_for_nothing(obj: Json, step: Any) -> bool:
    """`test` for null holds where nothing is: so does the library of a real server."""
    if not isinstance(step, dict) or step.get("op") != "test" or step.get("value", "") is not None:
        return False
    pointer = jsonpatch.JsonPointer(step["path"])
    parent, key = pointer.to_last(obj)
    return isinstance(parent, dict) and key not in parent


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
        if key.startswith(_DELETE_FROM):
            field = key.removeprefix(_DELETE_FROM)
            merged[field] = [item for item in merged.get(field) or [] if item not in value]
        elif not key.startswith("$"):
            _merge_field(merged, key, value)
    return merged


def _merge_field(merged: Json, key: str, value: Any) -> None:
    if value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
        merged.pop(key, None)
    elif isinstance(value, dict):
        merged[key] = strategic_merge_patch(merged.get(key) or {}, value)
    elif isinstance(value, list):
        merged[key] = _merged_list(key, merged.get(key) or [], value)
    else:
        merged[key] = value


def _merged_list(field: str, old: list[Any], new: list[Any]) -> list[Any]:
    if field in _SET_LISTS:
        return [*old, *(item for item in new if item not in old)]
    merge_key = _merge_key(field, new)
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


def _merge_key(field: str, items: list[Any]) -> str:
    """The field that tells the items of a list apart; "" for a list that is replaced as a whole."""
    keys = MERGE_KEYS.get(field, ())
    return next((key for key in keys if all(isinstance(item, dict) and key in item for item in items)), "")
