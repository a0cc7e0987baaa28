"""GET of many: lists with limit and continue, tables, and the bytes of both."""

import base64
import bisect
import json
from collections.abc import Mapping
from dataclasses import dataclass

from remediator.drill.apiserver.errors import bad_request, continue_too_old, too_new
from remediator.drill.apiserver.paths import Selection, number
from remediator.drill.apiserver.resources import Json, ResourceType
from remediator.drill.apiserver.store import Store
from remediator.drill.apiserver.tables import as_table
from remediator.drill.apiserver.versions import is_shown_as_kept, shown

Key = tuple[str, str]


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
    if (version := number(query, "resourceVersion", 0)) > store.version:
        raise too_new(version, store.version)
    page, metadata = _page(store, wanted, query)
    resource = wanted.target.resource
    if form.table:
        table = as_table(resource, page, metadata["resourceVersion"], form.include, store.clock())
        return _encoded({**table, "metadata": metadata})
    head = _encoded({"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata})
    items = [item_bytes(store, resource, obj) for obj in page]
    return head[:-1] + b',"items":[' + b",".join(items) + b"]}"


def item_bytes(store: Store, resource: ResourceType, obj: Json) -> bytes:
    """An object inside a list: built-in ones go without kind and apiVersion there."""
    if resource.custom:
        return object_bytes(store, resource, obj)
    if is_shown_as_kept(resource):
        return store.encoded(obj)
    return _encoded({key: value for key, value in shown(resource, obj).items() if key not in ("kind", "apiVersion")})


def object_bytes(store: Store, resource: ResourceType, obj: Json) -> bytes:
    """An object by itself."""
    if not is_shown_as_kept(resource):
        return _encoded(shown(resource, obj))
    head = _encoded({"kind": resource.kind, "apiVersion": resource.api_version})
    return head[:-1] + b"," + store.encoded(obj)[1:]


def _encoded(body: Json) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _page(store: Store, wanted: Selection, query: Mapping[str, str]) -> tuple[list[Json], Json]:
    objects, version = selected(store, wanted), store.version
    # From its cache (resourceVersion=0) a real server gives everything, whatever the limit.
    limit = 0 if query.get("resourceVersion") == "0" else number(query, "limit", 0)
    if token := query.get("continue"):
        version, last = _decode(token)
        if not store.remembers(version):
            raise continue_too_old()
        objects = objects[bisect.bisect_right([_key(obj) for obj in objects], last) :]
    if limit <= 0 or limit >= len(objects):
        return objects, {"resourceVersion": str(version)}
    page = objects[:limit]
    metadata: Json = {"resourceVersion": str(version), "continue": _encode(version, _key(page[-1]))}
    if not wanted.narrowed:
        metadata["remainingItemCount"] = len(objects) - limit
    return page, metadata


def _key(obj: Json) -> Key:
    return obj["metadata"].get("namespace") or "", obj["metadata"]["name"]


def _encode(version: int, last: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps([version, *last]).encode()).decode()


def _decode(token: str) -> tuple[int, Key]:
    try:
        version, namespace, name = json.loads(base64.urlsafe_b64decode(token.encode()))
        return int(version), (str(namespace), str(name))
    except (ValueError, TypeError):
        raise bad_request("continue key is not valid") from None
