"""Watches: a stream of changes as JSON lines, with selectors, bookmarks, tables and time-outs."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from remediator.drill.apiserver.errors import ApiError
from remediator.drill.apiserver.listing import Form, selected
from remediator.drill.apiserver.paths import Selection, is_true, number
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store
from remediator.drill.apiserver.tables import as_table

_BOOKMARK_SECONDS = 30.0
_DEFAULT_TIMEOUT_SECONDS = 1800
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Watch:
    """One client's stream."""

    def __init__(self, store: Store, wanted: Selection, form: Form, query: Mapping[str, str]) -> None:
        self._store, self._wanted, self._form, self._query = store, wanted, form, query
        self._seen: set[tuple[str, str]] = set()
        self._queue: asyncio.Queue[tuple[str, Json]] = asyncio.Queue()
        self._first_table = True

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Stream until the client leaves or the time is up. Raises 410 as an ERROR event."""
        stop = self._store.subscribe(self._changed)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        try:
            await response.prepare(request)
            await self._begin(response)
            await self._follow(response)
        except (ConnectionResetError, asyncio.CancelledError):
            pass
        finally:
            stop()
        return response

    def _changed(self, change: str, kind: str, obj: Json) -> None:
        if kind == self._wanted.target.resource.kind:
            self._queue.put_nowait((change, obj))

    async def _begin(self, response: web.StreamResponse) -> None:
        """Everything that is there (no version, or 0), or what has changed since a version."""
        since = number(self._query, "resourceVersion", 0)
        initial = is_true(self._query, "sendInitialEvents")
        if since == 0 or initial:
            for obj in selected(self._store, self._wanted):
                await self._send(response, "ADDED", obj)
            if initial:
                await self._bookmark(response, {"annotations": {_INITIAL_EVENTS_END: "true"}})
            return
        try:
            changes = self._store.changes_since(since)
        except ApiError as error:
            await self._write(response, "ERROR", error.body)
            return
        # What matched before is not known; a MODIFIED that no longer matches is told as DELETED.
        self._seen = {self._key(obj) for obj in selected(self._store, self._wanted)}
        for _, change, kind, obj in changes:
            if kind == self._wanted.target.resource.kind:
                await self._send(response, change, obj, known=change != "ADDED")

    async def _follow(self, response: web.StreamResponse) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + number(self._query, "timeoutSeconds", _DEFAULT_TIMEOUT_SECONDS)
        while (left := end - loop.time()) > 0:
            try:
                change, obj = await asyncio.wait_for(self._queue.get(), min(left, _BOOKMARK_SECONDS))
            except TimeoutError:
                if is_true(self._query, "allowWatchBookmarks"):
                    await self._bookmark(response, {})
                continue
            await self._send(response, change, obj)

    async def _send(self, response: web.StreamResponse, change: str, obj: Json, *, known: bool = False) -> None:
        key, takes = self._key(obj), self._wanted.takes(obj)
        known = known or key in self._seen
        if change == "DELETED" or not takes:
            self._seen.discard(key)
            if known:
                await self._write(response, "DELETED", obj)
            return
        self._seen.add(key)
        await self._write(response, "MODIFIED" if known and change == "MODIFIED" else "ADDED", obj)

    @staticmethod
    def _key(obj: Json) -> tuple[str, str]:
        return obj["metadata"].get("namespace") or "", obj["metadata"]["name"]

    async def _bookmark(self, response: web.StreamResponse, metadata: Json) -> None:
        resource = self._wanted.target.resource
        body = {"kind": resource.kind, "apiVersion": resource.api_version}
        marked = {**metadata, "resourceVersion": str(self._store.version), "creationTimestamp": None}
        await self._write(response, "BOOKMARK", {**body, "metadata": marked})

    async def _write(self, response: web.StreamResponse, change: str, obj: Any) -> None:
        if self._form.table and change in ("ADDED", "MODIFIED", "DELETED"):
            obj = self._table(obj)
        line = json.dumps({"type": change, "object": obj}, separators=(",", ":")) + "\n"
        await response.write(line.encode())

    def _table(self, obj: Json) -> Json:
        version = obj["metadata"]["resourceVersion"]
        resource = self._wanted.target.resource
        table = as_table(resource, [obj], version, self._form.include, self._store.clock())
        if not self._first_table:
            table["columnDefinitions"] = None
        self._first_table = False
        return table
