"""What the Kubernetes API says: one node, its pods, what surrounds them. Reads only.

Freshness is chosen: the node, its pods and their namespaces are read consistently (no resourceVersion), for acts
hang on them; the other nodes' requests come from the API server's cache and are kept a few seconds, for they only
tell whether an evicted pod would find a place. A read that fails makes the whole snapshot `Unknown`: half a picture
is no picture.
"""

import ipaddress
import re
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from remediator import metrics
from remediator.adapters.kubernetes_api import KubernetesApi, KubernetesError, RefusedError
from remediator.adapters.pod_facts import alive, node_facts, pod_facts, pod_requests
from remediator.adapters.surroundings import Namespace, Owners, budgets, services, workloads
from remediator.core.model import ClusterFacts, NodeFacts, Rejection, Unknown
from remediator.core.reason import Reason

Json = dict[str, Any]
CORDONED_BY = "remediator.io/cordoned-by"
RBAC_RULES: tuple[Json, ...] = (
    {"apiGroups": [""], "resources": ["nodes", "pods", "services"], "verbs": ["get", "list"]},
    {"apiGroups": ["apps"], "resources": ["deployments", "replicasets", "statefulsets"], "verbs": ["list"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]},
    {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": ["list"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]},
)
_SOURCE = "kubernetes"
_THREADS = 16
_PEERS_SECONDS = 10.0
_ADDRESSES_SECONDS = 15.0
_PORT = re.compile(r"^(?:\[(?P<six>[^\]]+)\]|(?P<host>[^:]+))(?::\d+)?$")


class KubernetesCluster:
    """Reads of the cluster."""

    def __init__(self, api: KubernetesApi, *, speed: float = 1.0) -> None:
        self._api, self._speed = api, speed
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="cluster")
        self._lock = threading.Lock()
        self._requests: tuple[float, dict[str, int]] = (float("-inf"), {})
        self._nodes: tuple[float, list[Json]] = (float("-inf"), [])

    # --- one node ---------------------------------------------------------------------------------------

    def snapshot(self, node: str) -> ClusterFacts | Unknown:
        """The node, its pods, and what surrounds them; Unknown(NODE_UNKNOWN) when there is no such node."""
        try:
            facts = self._snapshot(node)
        except RefusedError as error:
            reason = Reason.NODE_UNKNOWN if error.status == 404 else Reason.DATA_UNKNOWN
            return self._unknown(str(error), reason)
        except (KubernetesError, KeyError, ValueError) as error:
            return self._unknown(f"{type(error).__name__}: {error}")
        metrics.SOURCE_UP.labels(_SOURCE).set(1)
        return facts

    def _unknown(self, why: str, reason: Reason = Reason.DATA_UNKNOWN) -> Unknown:
        metrics.SOURCE_UP.labels(_SOURCE).set(0 if reason is Reason.DATA_UNKNOWN else 1)
        return Unknown(_SOURCE, why, reason)

    def _snapshot(self, node: str) -> ClusterFacts:
        asked_node = self._pool.submit(self._api.read, self._api.core.read_node, node)
        asked_peers = self._pool.submit(self._peers, node)
        selector = f"spec.nodeName={node}"
        pods = self._api.list_all(self._api.core.list_pod_for_all_namespaces, field_selector=selector)
        namespaces = self._namespaces({pod["metadata"]["namespace"] for pod in pods})
        owners = Owners(namespaces)
        uids = frozenset(pod["metadata"]["uid"] for pod in pods)
        return ClusterFacts(
            node=node_facts(asked_node.result()),
            pods=tuple(pod_facts(pod, owners.workload_of) for pod in pods),
            workloads=workloads(namespaces, owners),
            budgets=budgets(namespaces, uids),
            services=services(namespaces),
            peers=asked_peers.result(),
        )

    def _namespaces(self, names: set[str]) -> dict[str, Namespace]:
        """Everything that bears on the pods of these namespaces, asked for side by side."""
        core, apps = self._api.core, self._api.apps
        lists = {
            "pods": core.list_namespaced_pod,
            "services": core.list_namespaced_service,
            "replica_sets": apps.list_namespaced_replica_set,
            "deployments": apps.list_namespaced_deployment,
            "stateful_sets": apps.list_namespaced_stateful_set,
            "jobs": self._api.batch.list_namespaced_job,
            "budgets": self._api.policy.list_namespaced_pod_disruption_budget,
            "endpoint_slices": self._api.discovery.list_namespaced_endpoint_slice,
        }
        asked = {
            (name, part): self._pool.submit(self._api.list_all, call, name)
            for name in names
            for part, call in lists.items()
        }
        return {name: Namespace(name, **{part: asked[name, part].result() for part in lists}) for name in names}

    # --- the other nodes --------------------------------------------------------------------------------

    def _peers(self, node: str) -> tuple[NodeFacts, ...]:
        requested = self._requested()
        nodes = self._api.list_all(self._api.core.list_node)
        return tuple(
            node_facts(peer, requested.get(peer["metadata"]["name"], 0))
            for peer in nodes
            if peer["metadata"]["name"] != node
        )

    def _requested(self) -> dict[str, int]:
        """Node -> memory requested by the pods bound to it; a few seconds old at most."""
        with self._lock:
            asked_at, found = self._requests
            if time.monotonic() - asked_at < _PEERS_SECONDS / self._speed:
                return found
            found = {}
            for pod in self._api.list_all(self._api.core.list_pod_for_all_namespaces, resource_version="0"):
                name = pod["spec"].get("nodeName")
                if name and alive(pod):
                    found[name] = found.get(name, 0) + pod_requests(pod["spec"])
            self._requests = time.monotonic(), found
            return found

    # --- small questions --------------------------------------------------------------------------------

    def node_for(self, labels: Mapping[str, str]) -> str | Rejection:
        """The one node an alert's labels mean: `node`, else `instance` by address or name, else `nodename`."""
        given = next((labels[key] for key in ("node", "instance", "nodename") if labels.get(key)), None)
        if given is None:
            return Rejection(Reason.ALERT_WITHOUT_NODE, "the alert has none of the labels node, instance, nodename")
        try:
            nodes = self._known_nodes()
        except KubernetesError as error:
            # A node label needs no look-up: the pass itself will find out whether the node exists.
            return labels["node"] if labels.get("node") else Rejection(Reason.NODE_UNKNOWN, str(error))
        found = sorted(matching_nodes(given, nodes))
        if len(found) == 1:
            return found[0]
        if not found:
            return Rejection(Reason.NODE_UNKNOWN, f"no node of the cluster is {given!r}")
        return Rejection(Reason.NODE_AMBIGUOUS, f"{given!r} is {' and '.join(found)}")

    def _known_nodes(self) -> list[Json]:
        with self._lock:
            asked_at, nodes = self._nodes
            if time.monotonic() - asked_at >= _ADDRESSES_SECONDS / self._speed:
                call = self._api.core.list_node
                nodes = self._api.read_once(call, resource_version="0").get("items") or []
                self._nodes = time.monotonic(), nodes
            return nodes

    def pod_uid(self, namespace: str, name: str) -> str | Unknown | None:
        """UID of the pod that has this name now; None when there is none."""
        try:
            pod = self._api.read(self._api.core.read_namespaced_pod, name, namespace)
        except RefusedError as error:
            return None if error.status == 404 else Unknown(_SOURCE, str(error))
        except KubernetesError as error:
            return Unknown(_SOURCE, str(error))
        return str(pod["metadata"]["uid"])

    def isolated_by_us(self) -> Sequence[str] | Unknown:
        """Nodes that carry our cordon annotation."""
        try:
            nodes = self._api.list_all(self._api.core.list_node)
        except KubernetesError as error:
            return Unknown(_SOURCE, str(error))
        return [n["metadata"]["name"] for n in nodes if CORDONED_BY in (n["metadata"].get("annotations") or {})]

    def ready(self) -> str:
        """Empty when the API answers, else what is wrong."""
        try:
            self._api.read_once(self._api.core.list_node, limit=1)
        except KubernetesError as error:
            return f"the API server does not answer as it should: {error}"
        return ""


def matching_nodes(given: str, nodes: Sequence[Json]) -> set[str]:
    """Names of the nodes that `given` (name, address, either with a port) may mean."""
    names = {node["metadata"]["name"] for node in nodes}
    if given in names:
        return {given}
    found = _PORT.match(given)
    host = (found["six"] or found["host"]) if found else given
    if host in names:
        return {host}
    address = _address(host)
    return {
        node["metadata"]["name"]
        for node in nodes
        for entry in (node.get("status") or {}).get("addresses") or []
        if entry["address"] == host or (address is not None and _address(entry["address"]) == address)
    }


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
