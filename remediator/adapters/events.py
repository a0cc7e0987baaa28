"""Kubernetes Events on pods, nodes and records. Never raises: an Event is told, not relied upon."""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from queue import Full, Queue
from threading import Thread
from typing import Any

from remediator import metrics
from remediator.adapters.kubernetes_api import KubernetesApi, KubernetesError

log = logging.getLogger(__name__)
Json = dict[str, Any]
RBAC_RULES: tuple[Json, ...] = ({"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},)
_QUEUE_LENGTH = 1000
_MESSAGE_LENGTH = 1000
_REMEMBERED = 1000
_API_VERSIONS = {"NodeRemediation": "remediator.io/v1alpha1"}


class KubernetesEvents:
    """Sends Events from a thread of its own, so that no pass waits for one; repeats raise a count."""

    def __init__(self, api: KubernetesApi, namespace: str, identity: str) -> None:
        self._api, self._namespace, self._identity = api, namespace, identity
        self._queue: Queue[Json | None] = Queue(_QUEUE_LENGTH)
        self._counts: OrderedDict[str, int] = OrderedDict()
        """Event name -> how often it was told, of the last thousand."""
        self._given_up = False
        self._thread = Thread(target=self._send_for_ever, name="events", daemon=True)
        self._thread.start()

    def emit(self, kind: str, name: str, namespace: str, uid: str, reason: str, message: str, warning: bool) -> None:
        """Tell an object's watchers."""
        involved = {"kind": kind, "name": name, "apiVersion": _API_VERSIONS.get(kind, "v1")}
        if kind == "Node":
            # Where kubectl describe looks for a node's Events, as the kubelet writes them.
            uid = uid or name
        involved |= {key: value for key, value in (("namespace", namespace), ("uid", uid)) if value}
        # Events of cluster-scoped objects live in `default`, where kubectl describe looks for them.
        home = namespace or "default"
        told = message[:_MESSAGE_LENGTH]
        digest = hashlib.sha256(f"{kind}/{home}/{name}/{uid}/{reason}/{told}".encode()).hexdigest()[:16]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        event = {
            "metadata": {"name": f"{name[:200].rstrip('-.')}.{digest}", "namespace": home},
            "involvedObject": involved,
            "reason": reason,
            "message": told,
            "type": "Warning" if warning else "Normal",
            "source": {"component": "remediator", "host": self._identity},
            "reportingComponent": "remediator.io/remediator",
            "reportingInstance": self._identity,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            self._queue.put_nowait(event)
        except Full:
            metrics.NOTICES_DROPPED.labels("events").inc()

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Send what waits, as far as the time reaches, then stop."""
        try:
            self._queue.put(None, timeout=timeout_seconds)
        except Full:
            self._given_up = True
        self._thread.join(timeout_seconds)

    def _send_for_ever(self) -> None:
        while (event := self._queue.get()) is not None and not self._given_up:
            _never_raising(self._send, event)

    def _send(self, event: Json) -> None:
        name = event["metadata"]["name"]
        if name in self._counts:
            event = {**event, "count": self._counts[name] + 1}
            if self._raised(event):
                return self._told(event)
        try:
            self._api.write(self._api.core.create_namespaced_event, event["metadata"]["namespace"], event)
        except KubernetesError as error:
            if error.status != 409:
                raise
            # Told before we were started; how often is not known, more than once it is now.
            event = {**event, "count": max(2, event["count"])}
            self._raised(event)
        return self._told(event)

    def _raised(self, event: Json) -> bool:
        """Raise the count of an Event that is there; False when it has expired meanwhile."""
        name, namespace = event["metadata"]["name"], event["metadata"]["namespace"]
        body = {"count": event["count"], "lastTimestamp": event["lastTimestamp"]}
        try:
            self._api.write(self._api.core.patch_namespaced_event, name, namespace, body)
        except KubernetesError as error:
            if error.status != 404:
                raise
            return False
        return True

    def _told(self, event: Json) -> None:
        name = event["metadata"]["name"]
        self._counts[name] = event["count"]
        self._counts.move_to_end(name)
        if len(self._counts) > _REMEMBERED:
            self._counts.popitem(last=False)


def _never_raising(send: Callable[[Json], None], event: Json) -> None:
    try:
        send(event)
    except KubernetesError as error:
        metrics.NOTICES_FAILED.labels("events").inc()
        log.warning("an Event was not taken: %s", error)
