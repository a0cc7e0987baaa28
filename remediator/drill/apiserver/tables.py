"""Objects as the table that kubectl prints (`Accept: application/json;as=Table;v=v1;g=meta.k8s.io`)."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from remediator.drill.apiserver.columns import NAME, Cells, Column, layout, since
from remediator.drill.apiserver.resources import Json, ResourceType
from remediator.drill.apiserver.versions import shown

_NAME = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace. Is required when creating resources, although "
    "some resources may allow a client to request the generation of an appropriate name automatically. Name is "
    "primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    "priority": 0,
}


def as_table(resource: ResourceType, objects: Iterable[Json], version: str, include: str, now: datetime) -> Json:
    """A Table of objects; `include` is None, Metadata or Object (`includeObject`)."""
    columns, cells = _custom(resource) if resource.custom else layout(resource.kind)
    rows = [{"cells": cells(obj, now), "object": _row_object(resource, obj, include)} for obj in objects]
    definitions = [_NAME if column == NAME else _definition(*column) for column in columns]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": version},
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _definition(name: str, kind: str = "string", description: str = "", priority: int = 0) -> Json:
    return {"name": name, "type": kind, "format": "", "description": description, "priority": priority}


def _row_object(resource: ResourceType, obj: Json, include: str) -> Json | None:
    if include == "None":
        return None
    if include == "Object":
        return shown(resource, obj)
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    return {**partial, "metadata": obj["metadata"]}


def _custom(resource: ResourceType) -> tuple[list[Column], Cells]:
    prefix = "Custom resource definition column (in JSONPath format): "
    columns: list[Column] = [
        NAME,
        *((c.name, c.type, c.description or prefix + c.json_path, c.priority) for c in resource.columns),
    ]

    def cells(obj: Json, now: datetime) -> list[Any]:
        shown_cells = (_custom_cell(obj, column.json_path, column.type, now) for column in resource.columns)
        return [obj["metadata"]["name"], *shown_cells]

    return columns, cells


def _custom_cell(obj: Json, path: str, kind: str, now: datetime) -> Any:
    value = json_path(obj, path)
    if value is None:
        return None
    return since(str(value), now) if kind == "date" else value


def json_path(obj: Any, path: str) -> Any:
    """The simple JSONPaths of printer columns: `.a.b[0].c`, `.metadata.labels.x\\.y`."""
    for step in re.findall(r"(?:\\.|[^.\[\]])+|\[\d+\]", path):
        if step.startswith("["):
            index = int(step[1:-1])
            obj = obj[index] if isinstance(obj, list) and index < len(obj) else None
        else:
            obj = obj.get(step.replace("\\.", ".")) if isinstance(obj, dict) else None
    return obj
