"""GET of many: lists with limit and continue, tables, and the bytes of both."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass

from remediator.drill.apiserver.errors import ApiError
from remediator.drill.apiserver.paths import Selection, number
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store
from remediator.drill.apiserver.tables import as_table


@dataclass(frozen=True, slots=True)
class Form:
    """How the client wants to see objects."""

    table: bool = False
    include: str = "Metadata"

    @staticmethod
    def of(accept: str, query: Mapping[str, str]) -> "Form":
        """From the Accept header; kubectl asks for tables."""
        wants_table = any("as=Table" in part and "g=meta.k8s.io" in part for part in accept.split(","))
        return Form(wants_table, query.get("includeObject") or "Metadata")


def selected(store: Store, wanted: Selection) -> list[Json]:
    """The objects, sorted; pods of one node come from their index."""
    if (node := wanted.node) is not None:
        objects = store.pods_on(node)
    else:
        objects = store.list(wanted.target.resource.kind, wanted.target.namespace)
    return [obj for obj in objects if wanted.takes(obj)]


def list_bytes(store: Store, wanted: Selection, form: Form, query: Mapping[str, str]) -> bytes:
    """The list, or table, as JSON."""
    objects = selected(store, wanted)
    page, metadata = _page(objects, query, str(store.version))
    resource = wanted.target.resource
    if form.table:
        table = as_table(resource, page, metadata["resourceVersion"], form.include, store.clock())
        table["metadata"] = metadata
        return json.dumps(table, separators=(",", ":")).encode()
    head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata}
    opened = json.dumps(head, separators=(",", ":")).encode()[:-1]
    if resource.custom:
        items = [json.dumps(obj, separators=(",", ":")).encode() for obj in page]
    else:
        items = [store.encoded(obj) for obj in page]
    return opened + b',"items":[' + b",".join(items) + b"]}"


def _page(objects: list[Json], query: Mapping[str, str], version: str) -> tuple[list[Json], Json]:
    limit = number(query, "limit", 0)
    start = 0
    if token := query.get("continue"):
        version, start = _decode(token)
    if limit <= 0 or start + limit >= len(objects):
        return objects[start:], {"resourceVersion": version}
    token = base64.urlsafe_b64encode(f"{version}:{start + limit}".encode()).decode()
    rest = len(objects) - start - limit
    metadata = {"resourceVersion": version, "continue": token, "remainingItemCount": rest}
    return objects[start : start + limit], metadata


def _decode(token: str) -> tuple[str, int]:
    try:
        version, start = base64.urlsafe_b64decode(token.encode()).decode().split(":")
        return version, int(start)
    except ValueError:
        raise ApiError(400, "continue key is not valid", "BadRequest") from None
