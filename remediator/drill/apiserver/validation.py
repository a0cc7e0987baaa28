"""What a real API server refuses in an object that clients here write: names, taints, times, custom schemas."""

import json
import re
from collections.abc import Iterator
from typing import Any

from remediator.drill.apiserver.errors import bad_request, invalid
from remediator.drill.apiserver.resources import Json, ResourceType

_MICRO_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$")
_SECONDS = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(.*)$")
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


def validate(resource: ResourceType, obj: Json) -> None:
    """Raise the ApiError that a real server would."""
    name = obj.get("metadata", {}).get("name", "")
    if not name:
        cause = {"reason": "FieldValueRequired", "message": _NAME_REQUIRED, "field": "metadata.name"}
        raise invalid(resource, "", [cause])
    if resource.kind == "Lease":
        _check_micro_times(obj)
    causes = list(_taint_causes(obj)) if resource.kind == "Node" else list(_schema_causes(resource, obj))
    if causes:
        raise invalid(resource, name, causes)


_NAME_REQUIRED = "Required value: name or generateName is required"


def _check_micro_times(lease: Json) -> None:
    for field in ("acquireTime", "renewTime"):
        value = (lease.get("spec") or {}).get(field)
        if value is not None and not _MICRO_TIME.match(value):
            found = _SECONDS.match(value)
            rest = found[2] if found else value
            wanted = ".000000" if found else "2006"
            raise bad_request(
                f'Lease in version "v1" cannot be handled as a Lease: parsing time "{value}" as '
                f'"2006-01-02T15:04:05.000000Z07:00": cannot parse "{rest}" as "{wanted}"'
            )


def _taint_causes(node: Json) -> Iterator[Json]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate((node.get("spec") or {}).get("taints") or []):
        pair = (taint.get("key", ""), taint.get("effect", ""))
        if pair in seen:
            shown = json.dumps(
                {"Key": pair[0], "Value": taint.get("value", ""), "Effect": pair[1], "TimeAdded": None},
                separators=(",", ":"),
            )
            text = f"Duplicate value: {shown}: taints must be unique by key and effect pair"
            cause = {"reason": "FieldValueDuplicate", "message": text, "field": f"metadata.taints[{index}]"}
            # A real server validates a node's taints twice, and says it twice.
            yield from (cause, dict(cause))
        seen.add(pair)


def _schema_causes(resource: ResourceType, obj: Json) -> Iterator[Json]:
    for field in ("spec", "status"):
        schema = resource.schema.get("properties", {}).get(field)
        if schema is not None and field in obj:
            yield from check_schema(schema, obj[field], field)


def check_schema(schema: Json, value: Any, path: str) -> Iterator[Json]:
    """Causes for each mismatch of types, enums and required fields."""
    if value is None and schema.get("nullable"):
        return
    kind = schema.get("type")
    if kind in _TYPES and (not isinstance(value, _TYPES[kind]) or (kind != "boolean" and value is True)):
        found = next((name for name, types in _TYPES.items() if isinstance(value, types)), "null")
        shown = json.dumps(value)
        text = f'Invalid value: {shown}: {path} in body must be of type {kind}: "{found}"'
        yield {"reason": "FieldValueTypeInvalid", "message": text, "field": path}
    elif "enum" in schema and value not in schema["enum"]:
        choices = ", ".join(json.dumps(choice) for choice in schema["enum"])
        text = f"Unsupported value: {json.dumps(value)}: supported values: {choices}"
        yield {"reason": "FieldValueNotSupported", "message": text, "field": path}
    elif isinstance(value, dict):
        yield from _check_object(schema, value, path)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from check_schema(schema["items"], item, f"{path}[{index}]")


def _check_object(schema: Json, value: Json, path: str) -> Iterator[Json]:
    for name in schema.get("required", []):
        if name not in value:
            yield {"reason": "FieldValueRequired", "message": "Required value", "field": f"{path}.{name}"}
    properties: Json = schema.get("properties", {})
    for name, item in value.items():
        inner = properties.get(name) or schema.get("additionalProperties")
        if isinstance(inner, dict):
            yield from check_schema(inner, item, f"{path}.{name}")


def pruned(schema: Json, value: Any) -> Any:
    """A custom object without the fields its schema does not know, as a real server stores it."""
    if schema.get("x-kubernetes-preserve-unknown-fields") or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [pruned(schema.get("items", {}), item) for item in value]
    properties: Json = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    known = {name: pruned(properties[name], item) for name, item in value.items() if name in properties}
    if isinstance(others, dict):
        known |= {name: pruned(others, item) for name, item in value.items() if name not in properties}
    return known
