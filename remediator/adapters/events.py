"""Kubernetes Events on pods, nodes and records. Never raises: an Event is told, not relied upon."""

import hashlib
import logging
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
_API_VERSIONS = {"NodeRemediation": "remediator.io/v1alpha1"}


class KubernetesEvents:
    """Sends Events from a thread of its own, so that no pass waits for one; repeats raise a count."""

    def __init__(self, api: KubernetesApi, namespace: str, identity: str) -> None:
        self._api, self._namespace, self._identity = api, namespace, identity
        self._queue: Queue[Json | None] = Queue(_QUEUE_LENGTH)
        self._counts: dict[str, int] = {}
        self._thread = Thread(target=self._send_for_ever, name="events", daemon=True)
        self._thread.start()

    def emit(self, kind: str, name: str, namespace: str, uid: str, reason: str, message: str, warning: bool) -> None:
        """Tell an object's watchers."""
        involved = {"kind": kind, "name": name, "apiVersion": _API_VERSIONS.get(kind, "v1")}
        involved |= {key: value for key, value in (("namespace", namespace), ("uid", uid)) if value}
        # Events of cluster-scoped objects live in `default`, where kubectl describe looks for them.
        home = namespace or "default"
        told = message[:_MESSAGE_LENGTH]
        digest = hashlib.sha256(f"{kind}/{home}/{name}/{uid}/{reason}/{told}".encode()).hexdigest()[:16]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        event = {
            "metadata": {"name": f"{name[:200]}.{digest}", "namespace": home},
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
        """Send what waits, then stop."""
        self._queue.put(None)
        self._thread.join(timeout_seconds)

    def _send_for_ever(self) -> None:
        while (event := self._queue.get()) is not None:
            _never_raising(self._send, event)

    def _send(self, event: Json) -> None:
        metadata = event["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        count = self._counts[name] = self._counts.get(name, 0) + 1
        if count == 1:
            try:
                self._api.write(self._api.core.create_namespaced_event, namespace, event)
                return
            except KubernetesError as error:
                if error.status != 409:
                    raise
        body = {"count": count, "lastTimestamp": event["lastTimestamp"]}
        self._api.write(self._api.core.patch_namespaced_event, name, namespace, body)


def _never_raising(send: Callable[[Json], None], event: Json) -> None:
    try:
        send(event)
    except KubernetesError as error:
        metrics.NOTICES_FAILED.labels("events").inc()
        log.warning("an Event was not taken: %s", error)
