"""Bodies on the wire, in and out: JSON and YAML read with a real server's limits, answers typed as it types them."""

import asyncio
import json
from typing import Any

import yaml
from aiohttp import web

from remediator.drill.apiserver.errors import ApiError, bad_request, too_large, unsupported_media_type
from remediator.drill.apiserver.faults import Fault
from remediator.drill.apiserver.resources import Json

BODY_BYTES = 3 * 1024**2
_OBJECT_BYTES = 3 * 1024**2 // 2
_YAML = ("application/yaml", "application/apply-patch+yaml")
_ALIVE_SECONDS = 1.0


def refusal(fault: Fault) -> ApiError:
    """The answer of a fault that refuses."""
    message, reason = fault.message
    details: Json = {}
    headers = {}
    if fault.retry_after_seconds is not None:
        details["retryAfterSeconds"] = fault.retry_after_seconds
        headers["Retry-After"] = str(fault.retry_after_seconds)
    return ApiError(fault.status or 500, message, reason, details, headers)


async def silence(request: web.Request) -> web.StreamResponse:
    """Say nothing until the client has left."""
    while request.transport is not None and not request.transport.is_closing():
        await asyncio.sleep(_ALIVE_SECONDS)
    raise web.HTTPGatewayTimeout


def json_bytes(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """An answer that is JSON already, typed as a real server types it: without charset."""
    return web.Response(body=body, status=status, headers={"Content-Type": "application/json", **(headers or {})})


def as_json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """An answer of one object."""
    return json_bytes(json.dumps(body, separators=(",", ":")).encode(), status, headers)


def content_type(request: web.Request) -> str:
    """What the body is said to be, without parameters."""
    return request.headers.get("Content-Type", "application/json").split(";")[0].strip()


async def body_of(request: web.Request) -> Any:
    """The body as a value, {} when there is none; raises 400, 413, 415, or etcd's 500 for what is too big."""
    try:
        data = await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise too_large(BODY_BYTES) from None
    if len(data) > _OBJECT_BYTES:
        raise ApiError(500, "etcdserver: request is too large")
    if not data:
        return {}
    if content_type(request) == "application/vnd.kubernetes.protobuf":
        raise unsupported_media_type(["application/json", "application/yaml"])
    try:
        return yaml.safe_load(data) if content_type(request) in _YAML else json.loads(data)
    except (ValueError, yaml.YAMLError) as error:
        raise bad_request(f"the body cannot be read: {error}") from error
