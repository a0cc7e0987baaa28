"""A custom resource's openAPIV3Schema: what it refuses, what it does not know, what is stored. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any

from remediator.drill.apiserver.resources import Json, ResourceType

_HEAD = ("kind", "apiVersion", "metadata")


def stored_form(resource: ResourceType, obj: Json) -> Json:
    """A custom object without what its schema does not know; others as they are."""
    if not resource.custom:
        return obj
    head = {key: obj[key] for key in _HEAD if key in obj}
    rest = {key: value for key, value in obj.items() if key not in _HEAD}
    return {**head, **pruned(resource.schema, rest)}


def schema_causes(resource: ResourceType, obj: Json) -> Iterator[Json]:
    """Causes for every mismatch of a custom object with its schema."""
    properties: Json = resource.schema.get("properties") or {}
    for name in resource.schema.get("required") or []:
        if name not in obj:
            yield _cause("FieldValueRequired", "Required value", name)
    for name, schema in properties.items():
        if name not in _HEAD and name in obj:
            yield from check_schema(schema, obj[name], name)


def unknown_fields(resource: ResourceType, obj: Json) -> list[str]:
    """Paths that pruning would take away: what `fieldValidation=Strict` refuses."""
    rest = {key: value for key, value in obj.items() if key not in _HEAD}
    return list(_unknown(resource.schema, rest, "")) if resource.custom else []


def _unknown(schema: Json, value: Any, path: str) -> Iterator[str]:
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(schema.get("items") or {}, item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            inner = _property(schema, name)
            where = f"{path}.{name}" if path else name
            if inner is None:
                yield where
            else:
                yield from _unknown(inner, item, where)


def _property(schema: Json, name: str) -> Json | None:
    """The schema of a member; None when the schema does not know it."""
    found = (schema.get("properties") or {}).get(name)
    if found is None:
        found = schema.get("additionalProperties")
    if found is True:
        return {"x-kubernetes-preserve-unknown-fields": True}
    return found if isinstance(found, dict) else None


def pruned(schema: Json, value: Any) -> Any:
    """A value without the fields its schema does not know, as a real server stores it."""
    if schema.get("x-kubernetes-preserve-unknown-fields") or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [pruned(schema.get("items") or {}, item) for item in value]
    members = ((name, item, _property(schema, name)) for name, item in value.items())
    return {name: pruned(inner, item) for name, item, inner in members if inner is not None}


# --- validation -----------------------------------------------------------------------------------------------


def check_schema(schema: Json, value: Any, path: str) -> Iterator[Json]:
    """Causes for each mismatch of types, enums, bounds and required fields."""
    if value is None and schema.get("nullable"):
        return
    wanted, found = schema.get("type"), _type_of(value)
    if wanted and wanted != found and (wanted, found) != ("number", "integer"):
        text = f'Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'
        yield _cause("FieldValueTypeInvalid", text, path)
    elif "enum" in schema and value not in schema["enum"]:
        choices = ", ".join(json.dumps(choice) for choice in schema["enum"])
        text = f"Unsupported value: {json.dumps(value)}: supported values: {choices}"
        yield _cause("FieldValueNotSupported", text, path)
    elif isinstance(value, dict):
        yield from _check_object(schema, value, path)
    elif isinstance(value, list):
        yield from _check_list(schema, value, path)
    else:
        yield from _check_bounds(schema, value, path)


def _type_of(value: Any) -> str:
    names = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in names if isinstance(value, kind)), "null")


def _check_object(schema: Json, value: Json, path: str) -> Iterator[Json]:
    for name in schema.get("required") or []:
        if name not in value:
            yield _cause("FieldValueRequired", "Required value", f"{path}.{name}")
    for name, item in value.items():
        if (inner := _property(schema, name)) is not None:
            yield from check_schema(inner, item, f"{path}.{name}")


def _check_list(schema: Json, value: list[Any], path: str) -> Iterator[Json]:
    if (most := schema.get("maxItems")) is not None and len(value) > most:
        yield _cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path)
    for index, item in enumerate(value):
        yield from check_schema(schema.get("items") or {}, item, f"{path}[{index}]")


def _check_bounds(schema: Json, value: Any, path: str) -> Iterator[Json]:
    shown = f"Invalid value: {json.dumps(value)}: {path} in body"
    if isinstance(value, str):
        if (pattern := schema.get("pattern")) and not re.search(pattern, value):
            yield _cause("FieldValueInvalid", f"{shown} should match '{pattern}'", path)
        if len(value) < schema.get("minLength", 0):
            yield _cause("FieldValueInvalid", f"{shown} should be at least {schema['minLength']} chars long", path)
        if (most := schema.get("maxLength")) is not None and len(value) > most:
            yield _cause("FieldValueTooLong", f"Too long: may not be more than {most} bytes", path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if (least := schema.get("minimum")) is not None and value < least:
            yield _cause("FieldValueInvalid", f"{shown} should be greater than or equal to {least}", path)
        if (most := schema.get("maximum")) is not None and value > most:
            yield _cause("FieldValueInvalid", f"{shown} should be less than or equal to {most}", path)


def _cause(reason: str, message: str, field: str) -> Json:
    return {"reason": reason, "message": message, "field": field}
