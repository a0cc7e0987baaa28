"""The HTTP side: routes, faults, request log, authentication; hands over to listing, watching, writing."""

import asyncio
import dataclasses
import json
from collections import deque
from typing import Any

from aiohttp import web

from remediator.drill.apiserver import discovery
from remediator.drill.apiserver.access import Access
from remediator.drill.apiserver.errors import ApiError, bad_request
from remediator.drill.apiserver.faults import Fault, Faults
from remediator.drill.apiserver.listing import Form, list_bytes
from remediator.drill.apiserver.paths import Target, is_true, parse_path, selection
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.apiserver.tables import as_table
from remediator.drill.apiserver.watching import Watch
from remediator.drill.apiserver.writing import Writer

_LOG_LENGTH = 100_000
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}


class ApiServer:
    """One simulated API server over one store."""

    def __init__(self, store: Store, faults: Faults, access: Access) -> None:
        self.store, self.faults, self.access = store, faults, access
        self.log: deque[Json] = deque(maxlen=_LOG_LENGTH)
        self._writer = Writer(store)

    # --- one request ------------------------------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Fault, authenticate, answer, log."""
        fault = self.faults.hit(request.method, request.path_qs)
        if fault is not None and fault.latency_seconds:
            await asyncio.sleep(fault.latency_seconds)
        asked: Json = {}
        if fault is not None and fault.never_answer:
            self._note(request, None, asked)
            await asyncio.Event().wait()
        try:
            if fault is not None and fault.status is not None:
                raise _refusal(fault)
            response = await self._answer(request, asked)
        except ApiError as error:
            response = web.json_response(error.body, status=error.code, headers=error.headers)
        self._note(request, response.status, asked)
        if fault is not None and fault.lose_answer and request.transport is not None:
            request.transport.abort()
        return response

    def _note(self, request: web.Request, status: int | None, asked: Json) -> None:
        entry: Json = {
            "at": timestamp(self.store.clock()),
            "method": request.method,
            "path": request.path,
            "query": request.query_string,
            "user_agent": request.headers.get("User-Agent", ""),
            "status": status,
        }
        self.log.append(entry | asked)

    async def _answer(self, request: web.Request, asked: Json) -> web.StreamResponse:
        user = self.access.user(request.headers.get("Authorization", ""))
        if (found := self._discovery(request.path)) is not None:
            return web.json_response(found)
        if request.path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
            return web.json_response(self.access.review(user, await _body(request)), status=201)
        target = parse_path(request.path, self.store.resources)
        watching = is_true(request.query, "watch")
        verb = _VERBS.get(request.method, "get")
        if request.method == "GET" and not target.name:
            verb = "watch" if watching else "list"
        wanted = target.attributes(verb)
        asked.update(dataclasses.asdict(wanted), user=user)
        self.access.check(user, wanted)
        return await self._serve(request, target, watching=watching)

    def _discovery(self, path: str) -> Json | None:
        found: Json | None = None
        match [step for step in path.split("/") if step]:
            case ["version"]:
                found = discovery.VERSION
            case ["api"]:
                found = discovery.core_versions()
            case ["apis"]:
                found = discovery.groups(self.store.resources)
            case ["apis", group]:
                found = discovery.one_group(self.store.resources, group)
            case ["api", version]:
                found = discovery.resources(self.store.resources, "", version)
            case ["apis", group, version]:
                found = discovery.resources(self.store.resources, group, version)
        return found

    async def _serve(self, request: web.Request, target: Target, *, watching: bool) -> web.StreamResponse:
        if request.method == "GET":
            return await self._read(request, target, watching=watching)
        if request.method == "POST":
            status, body = self._writer.create(target, await _body(request), request.query)
        elif request.method == "PUT":
            status, body = self._writer.replace(target, await _body(request), request.query)
        elif request.method == "PATCH":
            content_type = request.headers.get("Content-Type", "").split(";")[0].strip()
            status, body = self._writer.patch(target, content_type, await _body(request), request.query)
        elif request.method == "DELETE" and target.name:
            status, body = self._writer.delete(target, await _body(request), request.query)
        else:
            message = "the server does not allow this method on the requested resource"
            raise ApiError(405, message, "MethodNotAllowed", {})
        form = Form.of(request.headers.get("Accept", ""), request.query)
        if form.table and "metadata" in body and "uid" in body["metadata"]:
            body = self._as_table(target, body, form)
        return web.json_response(body, status=status)

    async def _read(self, request: web.Request, target: Target, *, watching: bool) -> web.StreamResponse:
        form = Form.of(request.headers.get("Accept", ""), request.query)
        if watching:
            return await Watch(self.store, selection(target, request.query), form, request.query).serve(request)
        if not target.name:
            body = list_bytes(self.store, selection(target, request.query), form, request.query)
            return web.Response(body=body, content_type="application/json")
        if target.subresource == "scale":
            return web.json_response(self._writer.scale(target))
        obj = self.store.get(target.resource.kind, target.namespace, target.name)
        return web.json_response(self._as_table(target, obj, form) if form.table else obj)

    def _as_table(self, target: Target, obj: Json, form: Form) -> Json:
        version = obj["metadata"]["resourceVersion"]
        return as_table(target.resource, [obj], version, form.include, self.store.clock())

    # --- the drill's own doors --------------------------------------------------------------------------

    async def get_requests(self, request: web.Request) -> web.Response:
        """GET /drill/requests: what has been asked so far."""
        return web.json_response(list(self.log))

    async def put_faults(self, request: web.Request) -> web.Response:
        """PUT /drill/faults: other rules from now on."""
        try:
            rules = [Fault.parse(raw) for raw in await request.json()]
        except (ValueError, TypeError) as error:
            return web.json_response({"error": str(error)}, status=400)
        self.faults.replace(rules)
        return web.json_response({"faults": len(rules)})


def _refusal(fault: Fault) -> ApiError:
    message, reason = fault.message
    return ApiError(fault.status or 500, message, reason, {})


async def _body(request: web.Request) -> Any:
    text = await request.text()
    if not text:
        return {}
    try:
        return json.loads(text)
    except ValueError as error:
        raise bad_request(f"the body is not JSON: {error}") from error


async def _ok(request: web.Request) -> web.Response:
    return web.Response(text="ok")


def create_app(store: Store, *, faults: Faults | None = None, access: Access | None = None) -> web.Application:
    """The application; others may add routes of their own before it runs."""
    server = ApiServer(store, faults or Faults(), access or Access())
    app = web.Application(client_max_size=8 * 1024**2)
    for path in ("/healthz", "/livez", "/readyz"):
        app.router.add_get(path, _ok)
    app.router.add_get("/drill/requests", server.get_requests)
    app.router.add_put("/drill/faults", server.put_faults)
    for path in ("/version", "/api", "/apis", "/api/{rest:.*}", "/apis/{rest:.*}"):
        app.router.add_route("*", path, server.handle)
    return app
