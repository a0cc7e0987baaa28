"""The objects, in memory: names, versions, conflicts, history. Single-threaded by design (one event loop).

Knows no HTTP and no meaning of any field beyond metadata. Readers in the process must not change what they
are given; writers hand in whole objects. Subscribers are called synchronously after each change, so
controllers see changes in order.
"""

import copy
import json
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from remediator.drill.apiserver.errors import already_exists, modified, not_found, too_old, uid_differs
from remediator.drill.apiserver.resources import Json, Registry, ResourceType

_HISTORY = 20_000
_ENCODED = 20_000
_WITHOUT_GENERATION = ("Node", "Namespace", "Service", "Event", "ConfigMap", "ServiceAccount", "Lease")


def timestamp(moment: datetime) -> str:
    """RFC 3339 with seconds, as metadata carries it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Change:
    """One change, as watches tell it: `type` is ADDED, MODIFIED or DELETED, `old` the object before it."""

    version: int
    type: str
    kind: str
    obj: Json
    old: Json | None


_Listener = TypeVar("_Listener")


class Store:
    """All objects of the cluster; watches can begin at any of the last `history` changes."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC), *, history: int = _HISTORY) -> None:
        self.resources = Registry()
        self.clock = clock
        self._objects: dict[str, dict[tuple[str, str], Json]] = defaultdict(dict)
        self._pods_by_node: dict[str, dict[tuple[str, str], Json]] = defaultdict(dict)
        self._bytes: dict[tuple[str, ...], bytes] = {}
        self._version = 100
        self._history: deque[Change] = deque(maxlen=history)
        self._subscribers: list[Callable[[str, str, Json], None]] = []
        self._followers: list[Callable[[Change], None]] = []

    # --- reading ----------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The last resourceVersion given."""
        return self._version

    def find(self, kind: str, namespace: str | None, name: str) -> Json | None:
        """The object, or None."""
        return self._objects[kind].get((namespace or "", name))

    def get(self, kind: str, namespace: str | None, name: str) -> Json:
        """The object; raises NotFound (404)."""
        found = self.find(kind, namespace, name)
        if found is None:
            raise not_found(self.resources.of_kind(kind), name)
        return found

    def list(self, kind: str, namespace: str | None = None) -> Sequence[Json]:
        """All objects of a kind, sorted by namespace and name as a real server does."""
        objects = self._objects[kind]
        keys = sorted(key for key in objects if namespace is None or key[0] == namespace)
        return [objects[key] for key in keys]

    def pods_on(self, node: str) -> Sequence[Json]:
        """Pods bound to a node, sorted: the one list that is asked for all the time."""
        pods = self._pods_by_node[node]
        return [pods[key] for key in sorted(pods)]

    def encoded(self, obj: Json) -> bytes:
        """The object as JSON bytes, without kind and apiVersion, serialised once per version."""
        version = _version_of(obj)
        found = self._bytes.get(version)
        if found is None:
            if len(self._bytes) >= _ENCODED:
                self._bytes.pop(next(iter(self._bytes)))
            bare = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
            found = self._bytes[version] = json.dumps(bare, separators=(",", ":")).encode()
        return found

    # --- writing ----------------------------------------------------------------------------------------

    def create(self, kind: str, obj: Json, *, dry_run: bool = False) -> Json:
        """Add an object; sets uid, resourceVersion, creationTimestamp, generation. AlreadyExists (409).

        A dry run answers alike and changes nothing.
        """
        resource = self.resources.of_kind(kind)
        obj = copy.deepcopy(obj)
        metadata = obj.setdefault("metadata", {})
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:5]
        if self.find(kind, metadata.get("namespace"), metadata["name"]) is not None:
            raise already_exists(resource, metadata["name"])
        metadata["uid"] = str(uuid.uuid4())
        metadata["creationTimestamp"] = timestamp(self.clock())
        if kind not in _WITHOUT_GENERATION:
            metadata["generation"] = 1
        made = _headed(resource, obj)
        return made if dry_run else self._put("ADDED", resource, made)

    def load(self, kind: str, obj: Json) -> Json:
        """Put an object in as it is, uid, version and times included: restoring what was saved."""
        resource, obj = self.resources.of_kind(kind), copy.deepcopy(obj)
        self._version = max(self._version, int(obj["metadata"].get("resourceVersion", 0)))
        return self._put("ADDED", resource, _headed(resource, obj), keep_version=True)

    def update(self, kind: str, obj: Json, *, subresource: str = "", dry_run: bool = False) -> Json:
        """Replace an object; identity is kept.

        A stale metadata.resourceVersion or another's metadata.uid is a Conflict (409); with subresource
        "status" only the status changes, without one the status is kept for kinds that have that subresource.
        A dry run answers alike and changes nothing.
        """
        resource = self.resources.of_kind(kind)
        obj = copy.deepcopy(obj)
        metadata = obj["metadata"]
        old = self.get(kind, metadata.get("namespace"), metadata["name"])
        if (uid := metadata.get("uid")) and uid != old["metadata"].get("uid"):
            raise uid_differs(resource, metadata["name"], uid, old["metadata"].get("uid", ""))
        if (given := metadata.get("resourceVersion")) and given != old["metadata"]["resourceVersion"]:
            raise modified(resource, metadata["name"])
        merged = _merged(resource, old, obj, subresource)
        if old == merged:
            return old
        if merged.get("spec") != old.get("spec") and "generation" in old["metadata"]:
            merged["metadata"]["generation"] = old["metadata"]["generation"] + 1
        return merged if dry_run else self._put("MODIFIED", resource, merged)

    def delete(self, kind: str, namespace: str | None, name: str) -> Json:
        """Remove an object at once; NotFound (404)."""
        old = self.get(kind, namespace, name)
        gone = {**old, "metadata": dict(old["metadata"])}
        self._objects[kind].pop((namespace or "", name))
        self._forget(old)
        self._number(gone)
        self._tell("DELETED", kind, gone, old)
        return gone

    def mark_deleted(self, kind: str, namespace: str | None, name: str, grace_seconds: int | None) -> Json:
        """Set deletionTimestamp (and the grace period, where there is one); a shorter period wins."""
        old = self.get(kind, namespace, name)
        metadata = dict(old["metadata"])
        grace, asked_at = grace_seconds or 0, self.clock()
        if "deletionTimestamp" in metadata:
            before = metadata.get("deletionGracePeriodSeconds", 0)
            if before <= grace:
                return old
            asked_at = datetime.fromisoformat(metadata["deletionTimestamp"]) - timedelta(seconds=before)
        metadata["deletionTimestamp"] = timestamp(asked_at + timedelta(seconds=grace))
        if grace_seconds is not None:
            metadata["deletionGracePeriodSeconds"] = grace_seconds
        if "generation" in metadata:
            metadata["generation"] += 1
        return self._put("MODIFIED", self.resources.of_kind(kind), {**old, "metadata": metadata})

    # --- changes ----------------------------------------------------------------------------------------

    def subscribe(self, callback: Callable[[str, str, Json], None]) -> Callable[[], None]:
        """Call back with (type, kind, object) after each change; returns how to stop it."""
        return _join(self._subscribers, callback)

    def follow(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """As `subscribe`, with the version and the object before the change: what a watch needs."""
        return _join(self._followers, callback)

    def remembers(self, version: int) -> bool:
        """Whether every change after a resourceVersion is still known."""
        forgets = len(self._history) == self._history.maxlen
        return not forgets or version >= self._history[0].version - 1

    def changes_since(self, version: int) -> Iterable[Change]:
        """Remembered changes after a resourceVersion; raises 410 when older than the memory."""
        if not self.remembers(version):
            raise too_old(version, self._history[0].version - 1)
        return [change for change in self._history if change.version > version]

    def _put(self, change: str, resource: ResourceType, obj: Json, *, keep_version: bool = False) -> Json:
        metadata = obj["metadata"]
        key = (metadata.get("namespace") or "", metadata["name"])
        if (old := self._objects[resource.kind].get(key)) is not None:
            self._forget(old)
        if not (keep_version and "resourceVersion" in metadata):
            self._number(obj)
        self._objects[resource.kind][key] = obj
        if resource.kind == "Pod" and (node := obj.get("spec", {}).get("nodeName")):
            self._pods_by_node[node][key] = obj
        self._tell(change, resource.kind, obj, old)
        return obj

    def _number(self, obj: Json) -> None:
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)

    def _forget(self, old: Json) -> None:
        metadata = old["metadata"]
        self._bytes.pop(_version_of(old), None)
        if old["kind"] == "Pod" and (node := old["spec"].get("nodeName")):
            self._pods_by_node[node].pop((metadata["namespace"], metadata["name"]), None)

    def _tell(self, change: str, kind: str, obj: Json, old: Json | None) -> None:
        told = Change(self._version, change, kind, obj, old)
        self._history.append(told)
        for follower in tuple(self._followers):
            follower(told)
        for subscriber in tuple(self._subscribers):
            subscriber(change, kind, obj)


def _join(listeners: list[_Listener], listener: _Listener) -> Callable[[], None]:
    listeners.append(listener)
    return lambda: listeners.remove(listener)


def _version_of(obj: Json) -> tuple[str, ...]:
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace") or "", metadata["name"], metadata["resourceVersion"]


def _headed(resource: ResourceType, obj: Json) -> Json:
    """Kind and apiVersion first, as a real server prints them."""
    return {"kind": resource.kind, "apiVersion": resource.api_version, **_without_head(obj)}


def _without_head(obj: Json) -> Json:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


_IDENTITY = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")


def _merged(resource: ResourceType, old: Json, new: Json, subresource: str) -> Json:
    if subresource == "status":
        merged = {**old, "status": new.get("status", {})}
    else:
        merged = _headed(resource, new)
        if "status" in resource.subresources and "status" in old:
            merged["status"] = old["status"]
        elif "status" in resource.subresources:
            merged.pop("status", None)
    metadata = dict(new["metadata"] if not subresource else old["metadata"])
    metadata.pop("managedFields", None)
    kept = {key: old["metadata"][key] for key in _IDENTITY if key in old["metadata"]}
    merged["metadata"] = {**metadata, **kept, "resourceVersion": old["metadata"]["resourceVersion"]}
    return merged
