"""The HTTP side: routes, faults, request log, authentication; hands over to listing, watching, writing."""

import asyncio
import dataclasses
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any

from aiohttp import web

from remediator.drill.apiserver import discovery
from remediator.drill.apiserver.access import Access
from remediator.drill.apiserver.errors import ApiError, bad_request, method_not_allowed, no_such_path
from remediator.drill.apiserver.exchange import (
    BODY_BYTES,
    as_json,
    body_of,
    content_type,
    json_bytes,
    refusal,
    silence,
)
from remediator.drill.apiserver.faults import Fault, Faults
from remediator.drill.apiserver.listing import Form, list_bytes, object_bytes
from remediator.drill.apiserver.paths import Target, is_true, parse_path, selection
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store
from remediator.drill.apiserver.tables import as_table
from remediator.drill.apiserver.versions import shown
from remediator.drill.apiserver.watching import Watch
from remediator.drill.apiserver.writing import Writer

_LOG_LENGTH = 100_000
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}
_REVIEWS = "/apis/authorization.k8s.io/v1/"


class ApiServer:
    """One simulated API server over one store."""

    def __init__(self, store: Store, faults: Faults, access: Access) -> None:
        self.store, self.faults, self.access = store, faults, access
        self.log: deque[Json] = deque(maxlen=_LOG_LENGTH)
        self._writer = Writer(store)
        self._watches: set[Watch] = set()

    # --- one request ------------------------------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Note, fault, authenticate, answer."""
        asked = self._noted(request)
        fault = self.faults.hit(request.method, request.path_qs, asked.get("verb", ""), _resource(asked))
        if fault is not None and fault.latency_seconds:
            await asyncio.sleep(fault.latency_seconds)
        if fault is not None and fault.never_answer and not fault.lose_answer:
            return await silence(request)
        try:
            if fault is not None and fault.status is not None:
                raise refusal(fault)
            response = await self._answer(request, asked)
        except ApiError as error:
            response = as_json(error.body, status=error.code, headers=error.headers)
        asked["status"] = response.status
        if fault is not None and fault.lose_answer:
            if fault.never_answer:
                return await silence(request)
            if request.transport is not None:
                request.transport.abort()
        return response

    def _noted(self, request: web.Request) -> Json:
        """The request's line in the log; its status follows with the answer."""
        entry: Json = {
            "at": self.store.clock().isoformat(),
            "method": request.method,
            "path": request.path,
            "query": request.query_string,
            "user_agent": request.headers.get("User-Agent", ""),
            "status": None,
        }
        self.log.append(entry)
        try:
            wanted = self._attributes(request)
        except ApiError:
            return entry
        entry.update(dataclasses.asdict(wanted))
        return entry

    def _attributes(self, request: web.Request) -> Any:
        """What is asked for, as authorization and the log see it; raises 404 where nothing is served."""
        target = parse_path(request.path, self.store.resources)
        verb = _VERBS.get(request.method, "get")
        if target.name:
            return target.attributes(verb)
        if request.method == "GET":
            verb = "watch" if is_true(request.query, "watch") else "list"
        elif request.method == "DELETE":
            verb = "deletecollection"
        found = target.attributes(verb)
        return found if verb == "create" else dataclasses.replace(found, name=selection(target, request.query).name)

    async def _answer(self, request: web.Request, asked: Json) -> web.StreamResponse:
        asked["user"] = user = self.access.user(request.headers.get("Authorization", ""))
        if (found := self._discovery(request.path)) is not None:
            return as_json(found)
        if request.path.startswith(_REVIEWS) and request.method == "POST":
            return as_json(self._review(user, request.path.removeprefix(_REVIEWS), await body_of(request)), status=201)
        target = parse_path(request.path, self.store.resources)
        self.access.check(user, self._attributes(request))
        if request.method == "GET":
            return await self._read(request, target)
        status, body = await self._write(request, target)
        form = Form.of(request.headers.get("Accept", ""), request.query)
        if "uid" not in (body.get("metadata") or {}) or target.subresource == "scale":
            return as_json(body, status=status)
        return as_json(
            self._as_table(target, body, form) if form.table else shown(target.resource, body), status=status
        )

    def _review(self, user: str, plural: str, body: Json) -> Json:
        if plural == "selfsubjectaccessreviews":
            return self.access.review(user, body)
        if plural == "selfsubjectrulesreviews":
            return self.access.rules_review(user, body)
        raise no_such_path()

    def _discovery(self, path: str) -> Json | None:
        found: Json | None = None
        registry = self.store.resources
        match [step for step in path.split("/") if step]:
            case ["version"]:
                found = discovery.VERSION
            case ["api"]:
                found = discovery.core_versions()
            case ["apis"]:
                found = discovery.groups(registry)
            case ["apis", group]:
                found = discovery.one_group(registry, group)
            case ["api", version]:
                found = discovery.resources(registry, "", version)
            case ["apis", group, version]:
                found = discovery.resources(registry, group, version)
            case ["openapi", "v3"]:
                found = discovery.openapi_paths(registry)
            case ["openapi", "v3", "api", version]:
                found = discovery.openapi(registry, "", version)
            case ["openapi", "v3", "apis", group, version]:
                found = discovery.openapi(registry, group, version)
        return found

    async def _write(self, request: web.Request, target: Target) -> tuple[int, Json]:
        body, query = await body_of(request), request.query
        if request.method == "PATCH" and target.name:
            return self._writer.patch(target, content_type(request), body, query)
        if not isinstance(body, dict):
            raise bad_request("the body must be a JSON object")
        if request.method == "POST":
            return self._writer.create(target, body, query)
        if request.method == "PUT" and target.name:
            return self._writer.replace(target, body, query)
        if request.method == "DELETE":
            return self._writer.delete(target, body, query)
        raise method_not_allowed()

    async def _read(self, request: web.Request, target: Target) -> web.StreamResponse:
        form = Form.of(request.headers.get("Accept", ""), request.query)
        if is_true(request.query, "watch"):
            return await self._watch(request, Watch(self.store, selection(target, request.query), form, request.query))
        if not target.name:
            return json_bytes(list_bytes(self.store, selection(target, request.query), form, request.query))
        if target.subresource == "scale":
            return as_json(self._writer.scale(target))
        if target.subresource not in ("", "status"):
            raise method_not_allowed()
        obj = self.store.get(target.resource.kind, target.namespace, target.name)
        if form.table:
            return as_json(self._as_table(target, obj, form))
        return json_bytes(object_bytes(self.store, target.resource, obj))

    async def _watch(self, request: web.Request, watch: Watch) -> web.StreamResponse:
        self._watches.add(watch)
        try:
            return await watch.serve(request)
        finally:
            self._watches.discard(watch)

    async def stop_watches(self, app: web.Application) -> None:
        """End all streams, so that the server can go down."""
        for watch in tuple(self._watches):
            watch.stop()

    def _as_table(self, target: Target, obj: Json, form: Form) -> Json:
        version = obj["metadata"].get("resourceVersion", "")
        return as_table(target.resource, [obj], version, form.include, self.store.clock())

    # --- the drill's own doors --------------------------------------------------------------------------

    async def get_requests(self, request: web.Request) -> web.Response:
        """GET /drill/requests: what has been asked so far, oldest first; `status` None: not answered (yet)."""
        return web.json_response(list(self.log))

    async def get_faults(self, request: web.Request) -> web.Response:
        """GET /drill/faults: the rules in force, `times` counted down."""
        return web.json_response([dataclasses.asdict(rule) for rule in self.faults.rules])

    async def put_faults(self, request: web.Request) -> web.Response:
        """PUT /drill/faults: a list of other rules, in force from now on."""
        try:
            raw = await request.json()
            if not isinstance(raw, list) or not all(isinstance(each, dict) for each in raw):
                raise ValueError("faults: a list of objects is wanted, [] for none")
            rules = [Fault.parse(each) for each in raw]
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=400)
        self.faults.replace(rules)
        return web.json_response({"faults": len(rules)})


def _resource(asked: Json) -> str:
    return "/".join(part for part in (asked.get("resource", ""), asked.get("subresource", "")) if part)


async def _ok(request: web.Request) -> web.Response:
    return web.Response(text="ok")


def create_app(
    store: Store,
    *,
    faults: Faults | None = None,
    access: Access | None = None,
    clock: Callable[[], datetime] | None = None,
) -> web.Application:
    """The application; others may add routes of their own before it runs.

    `clock` takes the place of the store's; without `access` everybody may everything.
    """
    store.clock = clock or store.clock
    server = ApiServer(store, faults or Faults(), access or Access())
    app = web.Application(client_max_size=BODY_BYTES)
    for path in ("/healthz", "/livez", "/readyz"):
        app.router.add_get(path, _ok)
    app.router.add_get("/drill/requests", server.get_requests)
    app.router.add_get("/drill/faults", server.get_faults)
    app.router.add_put("/drill/faults", server.put_faults)
    for path in (
        "/version",
        "/api",
        "/apis",
        "/api/{rest:.*}",
        "/apis/{rest:.*}",
        "/openapi/v3",
        "/openapi/v3/{rest:.*}",
    ):
        app.router.add_route("*", path, server.handle)
    app.on_shutdown.append(server.stop_watches)
    return app
