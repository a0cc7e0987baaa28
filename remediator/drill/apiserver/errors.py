"""Failures as a real API server words them: `Status` objects with reason, details and causes."""

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


def too_old(version: int) -> ApiError:
    """A watch from before what is remembered."""
    return ApiError(410, f"too old resource version: {version}", "Expired")
