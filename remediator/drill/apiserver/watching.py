"""Watches: a stream of changes as JSON lines, with selectors, bookmarks, tables and time-outs."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping

from aiohttp import web

from remediator.drill.apiserver.errors import ApiError
from remediator.drill.apiserver.listing import Form, object_bytes, selected
from remediator.drill.apiserver.paths import Selection, is_true, number
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Change, Store
from remediator.drill.apiserver.tables import as_table

_BOOKMARK_SECONDS = 30.0
_LOOK_AROUND_SECONDS = 5.0
_DEFAULT_TIMEOUT_SECONDS = 1800
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_Event = tuple[str, Json]


class Watch:
    """One client's stream."""

    def __init__(self, store: Store, wanted: Selection, form: Form, query: Mapping[str, str]) -> None:
        self._store, self._wanted, self._form, self._query = store, wanted, form, query
        self._queue: asyncio.Queue[_Event | None] = asyncio.Queue()
        self._first_table = True

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Stream until the client leaves, the time is up or `stop` is called; 410 is told as an ERROR event."""
        number(self._query, "timeoutSeconds", 0)  # refused before anything is streamed
        unfollow = self._begin()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        try:
            await response.prepare(request)
            await self._stream(request, response)
        except ConnectionResetError:
            pass
        finally:
            unfollow()
        # The client may be gone already.
        with contextlib.suppress(ConnectionResetError):
            await response.write_eof()
        return response

    def stop(self) -> None:
        """End the stream: the server goes down."""
        self._queue.put_nowait(None)

    def _begin(self) -> Callable[[], None]:
        """Queue what the client does not know yet and follow on, in one step: nothing falls between or comes twice."""
        since, initial = number(self._query, "resourceVersion", 0), is_true(self._query, "sendInitialEvents")
        if since == 0 or initial:
            for obj in selected(self._store, self._wanted):
                self._queue.put_nowait(("ADDED", obj))
            if initial:
                self._queue.put_nowait(self._bookmark({"annotations": {_INITIAL_EVENTS_END: "true"}}))
        else:
            try:
                for change in self._store.changes_since(since):
                    self._changed(change)
            except ApiError as error:
                self._queue.put_nowait(("ERROR", error.body))
                self._queue.put_nowait(None)
        return self._store.follow(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind == self._wanted.target.resource.kind and (event := self._event(change)) is not None:
            self._queue.put_nowait(event)

    def _event(self, change: Change) -> _Event | None:
        """As this client sees it: entering its selection looks like ADDED, leaving it like DELETED."""
        before = change.old is not None and self._wanted.takes(change.old)
        after = change.type != "DELETED" and self._wanted.takes(change.obj)
        if after:
            return "MODIFIED" if before else "ADDED", change.obj
        if not before or change.old is None:
            return None
        version = {"resourceVersion": str(change.version)}
        return "DELETED", {**change.old, "metadata": {**change.old["metadata"], **version}}

    async def _stream(self, request: web.Request, response: web.StreamResponse) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + number(self._query, "timeoutSeconds", _DEFAULT_TIMEOUT_SECONDS)
        mark_at = loop.time() + _BOOKMARK_SECONDS
        bookmarks = is_true(self._query, "allowWatchBookmarks")
        while (left := end - loop.time()) > 0 or not self._queue.empty():
            event = await self._next(min(left, _LOOK_AROUND_SECONDS))
            if event is None:
                return
            if event[0]:
                await self._write(response, *event)
            elif request.transport is None or request.transport.is_closing():
                return
            if bookmarks and loop.time() >= mark_at:
                mark_at = loop.time() + _BOOKMARK_SECONDS
                await self._write(response, *self._bookmark({}))
        if bookmarks:
            await self._write(response, *self._bookmark({}))

    async def _next(self, seconds: float) -> _Event | None:
        """The next event; ("", {}) when none comes in time, None when the stream is over."""
        if not self._queue.empty():
            return self._queue.get_nowait()
        try:
            return await asyncio.wait_for(self._queue.get(), seconds)
        except TimeoutError:
            return "", {}

    def _bookmark(self, metadata: Json) -> _Event:
        resource = self._wanted.target.resource
        marked = {**metadata, "resourceVersion": str(self._store.version), "creationTimestamp": None}
        return "BOOKMARK", {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": marked}

    async def _write(self, response: web.StreamResponse, change: str, obj: Json) -> None:
        if change not in ("ADDED", "MODIFIED", "DELETED"):
            body = json.dumps(obj, separators=(",", ":")).encode()
        elif self._form.table:
            body = json.dumps(self._table(obj), separators=(",", ":")).encode()
        else:
            body = object_bytes(self._store, self._wanted.target.resource, obj)
        await response.write(b'{"type":"%s","object":%s}\n' % (change.encode(), body))

    def _table(self, obj: Json) -> Json:
        version = obj["metadata"]["resourceVersion"]
        resource = self._wanted.target.resource
        table = as_table(resource, [obj], version, self._form.include, self._store.clock())
        if not self._first_table:
            table["columnDefinitions"] = None
        self._first_table = False
        return table
