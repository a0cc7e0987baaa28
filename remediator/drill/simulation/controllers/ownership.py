"""Who controls whom, and which pods still count. Pure reads."""

from collections import defaultdict
from collections.abc import Iterable

from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store

FINISHED = ("Succeeded", "Failed")


def controller_uid(obj: Json) -> str | None:
    """UID of the controlling owner."""
    references = obj["metadata"].get("ownerReferences") or []
    return next((reference["uid"] for reference in references if reference.get("controller")), None)


def pods_by_controller(store: Store) -> dict[str | None, list[Json]]:
    """All pods, by the UID of their controller."""
    found: dict[str | None, list[Json]] = defaultdict(list)
    for pod in store.list("Pod"):
        found[controller_uid(pod)].append(pod)
    return found


def alive(pods: Iterable[Json]) -> list[Json]:
    """Pods that count as replicas: neither terminating nor finished."""
    return [p for p in pods if "deletionTimestamp" not in p["metadata"] and p["status"].get("phase") not in FINISHED]


def update_status(store: Store, obj: Json, status: Json) -> None:
    """Write a status that differs from the one that is there."""
    if status != obj.get("status"):
        store.update(obj["kind"], {**obj, "status": status}, subresource="status")
