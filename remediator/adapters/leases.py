"""Locks among replicas: coordination.k8s.io Leases. They order the replicas; the fence is the record's version.

An expired Lease is judged by our own clock since we first saw its renewal, never by comparing two machines' clocks
(as client-go's leader election does). Durations are real seconds, whatever the drill's speed.
"""

import threading
import time
from datetime import UTC, datetime
from typing import Any

from remediator.adapters.kubernetes_api import KubernetesApi, KubernetesError, RefusedError

Json = dict[str, Any]
LEASE_SECONDS = 15
RBAC_RULES: tuple[Json, ...] = (
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "create", "update"],
        "namespaced": True,
    },
)


def micro_time(moment: datetime) -> str:
    """MicroTime: six decimals, or the API server refuses it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class KubernetesLeases:
    """Leases of one holder in one namespace."""

    def __init__(self, api: KubernetesApi, namespace: str, identity: str) -> None:
        self._api, self._namespace, self._identity = api, namespace, identity
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[str, str, float]] = {}
        """Name -> (holder, renewTime, when we first saw both)."""

    def acquire(self, name: str) -> bool:
        """True when we hold it afterwards: new, renewed, free, or expired and taken over."""
        try:
            lease = self._api.read(self._api.coordination.read_namespaced_lease, name, self._namespace)
        except RefusedError as error:
            return error.status == 404 and self._create(name)
        except KubernetesError:
            return False
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder not in ("", self._identity) and not self._expired(name, holder, spec):
            return False
        return self._take(lease, taken_over=holder != self._identity)

    def _create(self, name: str) -> bool:
        now = micro_time(datetime.now(UTC))
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": LEASE_SECONDS,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        }
        body = {"metadata": {"name": name, "namespace": self._namespace}, "spec": spec}
        try:
            self._api.write(self._api.coordination.create_namespaced_lease, self._namespace, body)
        except KubernetesError:
            return False
        return True

    def _expired(self, name: str, holder: str, spec: Json) -> bool:
        renewed = spec.get("renewTime") or ""
        with self._lock:
            seen = self._seen.get(name)
            if seen is None or seen[:2] != (holder, renewed):
                self._seen[name] = (holder, renewed, time.monotonic())
                return False
            return time.monotonic() - seen[2] >= float(spec.get("leaseDurationSeconds") or LEASE_SECONDS)

    def _take(self, lease: Json, *, taken_over: bool) -> bool:
        now = micro_time(datetime.now(UTC))
        spec = {
            **(lease.get("spec") or {}),
            "holderIdentity": self._identity,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": now,
        }
        if taken_over:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + 1
        return self._replace(lease, spec)

    def _replace(self, lease: Json, spec: Json) -> bool:
        """Under the version that was read: of two takers one wins."""
        name = lease["metadata"]["name"]
        call = self._api.coordination.replace_namespaced_lease
        try:
            self._api.write(call, name, self._namespace, {**lease, "spec": spec})
        except KubernetesError:
            return False
        return True

    def release(self, name: str) -> None:
        """Give it back; nothing happens when it is not ours."""
        try:
            lease = self._api.read_once(self._api.coordination.read_namespaced_lease, name, self._namespace)
        except KubernetesError:
            return
        spec = lease.get("spec") or {}
        if spec.get("holderIdentity") == self._identity:
            # A holder without a name is not one: the field goes, as client-go does it.
            self._replace(lease, {key: value for key, value in spec.items() if key != "holderIdentity"})
