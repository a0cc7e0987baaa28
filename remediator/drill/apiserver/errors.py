"""Failures as a real API server words them: `Status` objects with reason, details and causes."""

from collections.abc import Iterable
from typing import Any

from remediator.drill.apiserver.resources import Json, ResourceType


class ApiError(Exception):
    """An answer that is not a success; `body` is the Status object."""

    def __init__(
        self,
        code: int,
        message: str,
        reason: str = "",
        details: Json | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers or {}
        self.body: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.body["reason"] = reason
        if details is not None:
            self.body["details"] = details
        self.body["code"] = code


def success(code: int) -> Json:
    """A Status that says yes."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}


def _details(resource: ResourceType, name: str, kind: str | None = None, **more: Any) -> Json:
    details: Json = {"name": name}
    if resource.group:
        details["group"] = resource.group
    return {**details, "kind": kind or resource.plural, **more}


def not_found(resource: ResourceType, name: str) -> ApiError:
    """No such object."""
    message = f'{resource.group_resource} "{name}" not found'
    return ApiError(404, message, "NotFound", _details(resource, name))


def no_such_path() -> ApiError:
    """The path names no resource."""
    return ApiError(404, "the server could not find the requested resource", "NotFound", {})


def already_exists(resource: ResourceType, name: str) -> ApiError:
    """Create met an object of that name."""
    message = f'{resource.group_resource} "{name}" already exists'
    return ApiError(409, message, "AlreadyExists", _details(resource, name))


def modified(resource: ResourceType, name: str) -> ApiError:
    """A stale resourceVersion."""
    message = (
        f'Operation cannot be fulfilled on {resource.group_resource} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return ApiError(409, message, "Conflict", _details(resource, name))


def uid_differs(resource: ResourceType, name: str, given: str, found: str) -> ApiError:
    """An update of an object that was deleted and made again."""
    message = (
        f'Operation cannot be fulfilled on {resource.group_resource} "{name}": StorageError: invalid object, Code: 4, '
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, UID in object meta: {found}"
    )
    return ApiError(409, message, "Conflict", _details(resource, name))


def uid_mismatch(resource: ResourceType, name: str, wanted: str, found: str) -> ApiError:
    """A UID precondition that names another object."""
    message = (
        f'Operation cannot be fulfilled on {resource.kind} "{name}": the UID in the precondition ({wanted}) '
        f"does not match the UID in record ({found}). The object might have been deleted and then recreated"
    )
    return ApiError(409, message, "Conflict", {"name": name, "kind": resource.kind})


def version_mismatch(resource: ResourceType, name: str, wanted: str, found: str) -> ApiError:
    """A resourceVersion precondition that names another version."""
    message = (
        f'Operation cannot be fulfilled on {resource.kind} "{name}": the ResourceVersion in the precondition '
        f"({wanted}) does not match the ResourceVersion in record ({found}). "
        "The object might have been modified"
    )
    return ApiError(409, message, "Conflict", {"name": name, "kind": resource.kind})


def bad_request(message: str) -> ApiError:
    """A request that cannot be understood."""
    return ApiError(400, message, "BadRequest")


def invalid(resource: ResourceType, name: str, causes: list[Json]) -> ApiError:
    """Validation failed; each cause has reason, message and field."""
    told = list(dict.fromkeys(f"{cause['field']}: {cause['message']}" for cause in causes))
    text = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    message = f'{resource.group_kind} "{name}" is invalid: {text}'
    return ApiError(422, message, "Invalid", _details(resource, name, resource.kind, causes=causes))


def patch_failed() -> ApiError:
    """A JSON patch whose test failed: a real server says no more than this."""
    message = "the server rejected our request due to an error in our request"
    return ApiError(422, message, "Invalid", {})


def namespace_terminating(resource: ResourceType, name: str, namespace: str) -> ApiError:
    """Nothing may be created in a namespace that goes away."""
    message = (
        f'{resource.group_resource} "{name}" is forbidden: unable to create new content in namespace '
        f"{namespace} because it is being terminated"
    )
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return ApiError(403, message, "Forbidden", _details(resource, name, causes=[cause]))


def unauthorized() -> ApiError:
    """No or an unknown token."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def too_old(version: int, oldest: int) -> ApiError:
    """A watch from before what is remembered."""
    return ApiError(410, f"too old resource version: {version} ({oldest})", "Expired")


def continue_too_old() -> ApiError:
    """A page of a list whose version is no longer remembered."""
    message = (
        "The provided continue parameter is too old to display a consistent list result. "
        "You must start a new list without the continue parameter."
    )
    return ApiError(410, message, "Expired")


def too_new(version: int, current: int) -> ApiError:
    """A resourceVersion that has not been reached."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Too large resource version: {version}, current: {current}"
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return ApiError(504, message, "Timeout", details, headers={"Retry-After": "1"})


def method_not_allowed() -> ApiError:
    """The resource does not do that."""
    return ApiError(405, "the server does not allow this method on the requested resource", "MethodNotAllowed", {})


def unsupported_media_type(accepted: Iterable[str]) -> ApiError:
    """A body in a form that this resource does not take."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return ApiError(415, message, "UnsupportedMediaType", {})


def forbidden(resource: ResourceType, name: str, why: str) -> ApiError:
    """Refused, whoever asks."""
    return ApiError(
        403, f'{resource.group_resource} "{name}" is forbidden: {why}', "Forbidden", _details(resource, name)
    )


def too_large(limit_bytes: int) -> ApiError:
    """A body that is too big to be read."""
    return ApiError(413, f"Request entity too large: limit is {limit_bytes}", "RequestEntityTooLarge")
