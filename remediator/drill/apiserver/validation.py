"""What a real API server refuses in an object that clients here write: names, labels, taints, events, leases."""

import json
import re
from collections.abc import Iterator

from remediator.drill.apiserver.errors import invalid
from remediator.drill.apiserver.resources import Json, ResourceType
from remediator.drill.apiserver.schemas import schema_causes

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LABEL_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_KEY_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME_TOLD = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_VALUE_TOLD = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation "
    f"is '{_LABEL_VALUE}')"
)
_KEY_TOLD = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY_NAME}')"
)
_ANNOTATIONS_BYTES = 256 * 1024
_EVENT_TEXT = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}


def validate(resource: ResourceType, obj: Json) -> None:
    """Raise the 422 that a real server would."""
    causes = list(_causes(resource, obj))
    if causes:
        raise invalid(resource, obj.get("metadata", {}).get("name", ""), causes)


def _causes(resource: ResourceType, obj: Json) -> Iterator[Json]:
    yield from _metadata_causes(resource, obj.get("metadata") or {})
    if resource.custom:
        yield from schema_causes(resource, obj)
    elif resource.kind == "Node":
        yield from _taint_causes(obj)
    elif resource.kind == "Event":
        yield from _event_causes(obj)
    elif resource.kind == "Lease":
        yield from _lease_causes(obj.get("spec") or {})


def _metadata_causes(resource: ResourceType, metadata: Json) -> Iterator[Json]:
    name = metadata.get("name") or ""
    if not name:
        yield _cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name")
    elif resource.kind != "Event" and len(name) > 253:
        yield _invalid(name, "must be no more than 253 characters", "metadata.name")
    elif resource.kind != "Event" and not re.fullmatch(_SUBDOMAIN, name):
        yield _invalid(name, _NAME_TOLD, "metadata.name")
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    for field, names in (("metadata.labels", labels), ("metadata.annotations", annotations)):
        for key in names:
            yield from _key_causes(key, field)
    for value in labels.values():
        if len(value) > 63:
            yield _invalid(value, "must be no more than 63 bytes", "metadata.labels")
        elif not re.fullmatch(_LABEL_VALUE, value):
            yield _invalid(value, _VALUE_TOLD, "metadata.labels")
    if sum(len(key) + len(str(value)) for key, value in annotations.items()) > _ANNOTATIONS_BYTES:
        text = f"Too long: may not be more than {_ANNOTATIONS_BYTES} bytes"
        yield _cause("FieldValueTooLong", text, "metadata.annotations")


def _key_causes(key: str, field: str) -> Iterator[Json]:
    prefix, slash, name = key.rpartition("/")
    if slash and not re.fullmatch(_SUBDOMAIN, prefix):
        yield _invalid(key, f"prefix part {_NAME_TOLD}", field)
    if len(name) > 63:
        yield _invalid(key, "name part must be no more than 63 bytes", field)
    elif not re.fullmatch(_KEY_NAME, name):
        yield _invalid(key, _KEY_TOLD, field)


def _taint_causes(node: Json) -> Iterator[Json]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate((node.get("spec") or {}).get("taints") or []):
        pair = (taint.get("key", ""), taint.get("effect", ""))
        if pair in seen:
            shown = json.dumps(
                {"Key": pair[0], "Value": taint.get("value", ""), "Effect": pair[1], "TimeAdded": None},
                separators=(",", ":"),
            )
            text = f"Duplicate value: {shown}: taints must be unique by key and effect pair"
            cause = _cause("FieldValueDuplicate", text, f"metadata.taints[{index}]")
            # A real server validates a node's taints twice, and says it twice.
            yield from (cause, dict(cause))
        seen.add(pair)


def _event_causes(event: Json) -> Iterator[Json]:
    """An event lies where its object lies; a cluster-scoped object's in `default`. Source: validation/events.go."""
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace") or ""
    is_new = bool(event.get("eventTime"))
    allowed = ("default", "kube-system") if is_new else ("default",)
    if namespace not in (allowed if not about else (about,)) and not (is_new and about):
        yield _invalid(about, "does not match event.namespace", "involvedObject.namespace")
    if not is_new:
        return
    for field, told in (("reportingComponent", "reportingController"), *((name, name) for name in _EVENT_TEXT)):
        value = event.get(field) or ""
        if not value and field != "message":
            yield _cause("FieldValueRequired", "Required value", told)
        if len(value) > (most := _EVENT_TEXT.get(field, 253)):
            yield _invalid("", f"can have at most {most} characters", told)


def _lease_causes(spec: Json) -> Iterator[Json]:
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield _invalid(duration, "must be greater than 0", "spec.leaseDurationSeconds")
    if transitions is not None and transitions < 0:
        yield _invalid(transitions, "must be greater than or equal to 0", "spec.leaseTransitions")


def replicas_cause(replicas: int) -> Json:
    """What is wrong with a negative number of replicas."""
    return _invalid(replicas, "must be greater than or equal to 0", "spec.replicas")


def version_cause() -> Json:
    """An update without resourceVersion, where a real server wants one."""
    return _cause(
        "FieldValueInvalid", "Invalid value: 0x0: must be specified for an update", "metadata.resourceVersion"
    )


def _invalid(value: object, why: str, field: str) -> Json:
    return _cause("FieldValueInvalid", f"Invalid value: {json.dumps(value)}: {why}", field)


def _cause(reason: str, message: str, field: str) -> Json:
    return {"reason": reason, "message": message, "field": field}
