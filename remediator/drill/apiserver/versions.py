"""One object, several API versions: how it is kept, and how it is shown at another path. Pure.

Events are kept in core/v1 form and shown, and taken, in events.k8s.io/v1 form too.
"""

from collections.abc import Mapping

from remediator.drill.apiserver.resources import Json, ResourceType

_EVENTS_GROUP = "events.k8s.io"
# core/v1 name -> events.k8s.io/v1 name
_EVENT_FIELDS: Mapping[str, str] = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_FIELDS = {new: old for old, new in _EVENT_FIELDS.items()}


def is_shown_as_kept(resource: ResourceType) -> bool:
    """Whether the kept form is what clients of this resource see."""
    return resource.group != _EVENTS_GROUP


def shown(resource: ResourceType, obj: Json) -> Json:
    """The object as this resource shows it."""
    if is_shown_as_kept(resource):
        return obj if obj.get("apiVersion") == resource.api_version else {**obj, "apiVersion": resource.api_version}
    renamed = {_EVENT_FIELDS.get(name, name): value for name, value in obj.items()}
    return {**renamed, "apiVersion": resource.api_version}


def kept(resource: ResourceType, obj: Json) -> Json:
    """The object as the store keeps it."""
    if is_shown_as_kept(resource):
        return obj
    return {_CORE_FIELDS.get(name, name): value for name, value in obj.items()}
