"""What the Kubernetes API says: one node, its pods, what surrounds them. Reads only.

Freshness is chosen. The node and its pods are read consistently (no resourceVersion) at every look, for acts hang on
them. What surrounds them (owners, budgets, services, the workloads' other pods) may be two seconds old, so that the
look right before each act costs two requests and not hundreds; budgets are enforced by the API server anyway. The
other nodes only tell whether a pod would find a place (`other_nodes.py`). A read that fails makes the whole snapshot
`Unknown`: half a picture is no picture.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from remediator import metrics
from remediator.adapters.kubernetes_api import KubernetesApi, KubernetesError, RefusedError
from remediator.adapters.other_nodes import KnownNode, OtherNodes, matching_nodes
from remediator.adapters.pod_facts import node_facts, pod_facts
from remediator.adapters.surroundings import (
    CLUSTER_WIDE,
    Namespace,
    Owners,
    budgets,
    parts_needed,
    services,
    slim,
    workloads,
)
from remediator.core.model import ClusterFacts, NodeFacts, PodFacts, Rejection, Unknown
from remediator.core.reason import Reason
from remediator.core.tracking import CORDONED_BY

Json = dict[str, Any]
RBAC_RULES: tuple[Json, ...] = (
    {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["services"], "verbs": ["list"]},
    {"apiGroups": ["apps"], "resources": ["deployments", "replicasets", "statefulsets"], "verbs": ["list"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]},
    {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": ["list"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]},
)
KOORDINATOR_KEY = "resource-threshold-config"
_SOURCE = "kubernetes"
_THREADS = 8
DEADLINE_SECONDS = 12.0
_LOOKUP_SECONDS = 5.0
_SURROUNDINGS_SECONDS = 2.0
_REMEMBERED_SECONDS = 900.0
"""A namespace whose last pod has left the node is still looked at so long: where did its successors land?"""


def config_map_rule(name: str) -> Json:
    """The right to read one ConfigMap, by its namespace/name."""
    namespace, _, short = name.partition("/")
    return {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [short], "verbs": ["get"]} | {
        "namespace": namespace
    }


class KubernetesCluster:
    """Reads of the cluster."""

    def __init__(self, api: KubernetesApi, *, speed: float = 1.0, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._api, self._speed, self._deadline_seconds = api, speed, deadline_seconds
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="cluster")
        self._others = OtherNodes(api, speed=speed)
        self._surroundings = _Surroundings(api, self._pool, speed)

    # --- one node ---------------------------------------------------------------------------------------

    def snapshot(self, node: str) -> ClusterFacts | Unknown:
        """The node, its pods, and what surrounds them; Unknown(NODE_UNKNOWN) when there is no such node."""
        try:
            facts = self._snapshot(node, time.monotonic() + self._deadline_seconds)
        except KubernetesError as error:
            gone = error.status == 404 and error.details.get("kind") == "nodes"
            return self._unknown(str(error), Reason.NODE_UNKNOWN if gone else Reason.DATA_UNKNOWN)
        except TimeoutError:
            return self._unknown(f"the cluster was not read within {self._deadline_seconds:g} s")
        except (LookupError, TypeError, ValueError) as error:
            return self._unknown(f"an object that cannot be read: {type(error).__name__}: {error}")
        metrics.SOURCE_UP.labels(_SOURCE).set(1)
        return facts

    def _unknown(self, why: str, reason: Reason = Reason.DATA_UNKNOWN) -> Unknown:
        metrics.SOURCE_UP.labels(_SOURCE).set(0 if reason is Reason.DATA_UNKNOWN else 1)
        return Unknown(_SOURCE, why, reason)

    def _snapshot(self, node: str, end: float) -> ClusterFacts:
        core = self._api.core
        asked_peers = self._pool.submit(self._others.peers, node, end - time.monotonic())
        asked_node = self._pool.submit(self._api.read, core.read_node, node)
        selector = f"spec.nodeName={node}"
        asked_pods = self._pool.submit(self._api.list_all, core.list_pod_for_all_namespaces, field_selector=selector)
        pods = _in_time(asked_pods, end)
        namespaces = self._surroundings.of(node, pods, end)
        owners = Owners(namespaces.values())
        return ClusterFacts(
            node=node_facts(_in_time(asked_node, end)),
            pods=tuple(pod_facts(pod, owners.workload_of) for pod in pods),
            workloads=workloads(namespaces.values()),
            budgets=budgets(namespaces, pods),
            services=services(namespaces.values()),
            peers=_in_time(asked_peers, end),
        )

    # --- small questions --------------------------------------------------------------------------------

    def node_for(self, labels: Mapping[str, str]) -> str | Rejection:
        """The one node an alert's labels mean: `node`, else `instance` by address or name, else `nodename`."""
        named = labels.get("node")
        asked = [named] if named else [labels[key] for key in ("instance", "nodename") if labels.get(key)]
        if not asked:
            return Rejection(Reason.ALERT_WITHOUT_NODE, "the alert has none of the labels node, instance, nodename")
        try:
            found = self._matching(asked)
        except (KubernetesError, TimeoutError) as error:
            # A node label needs no look-up: the pass itself will find out whether the node exists.
            return named or Rejection(Reason.NODE_UNKNOWN, f"the nodes cannot be listed: {error}")
        if len(found) == 1:
            return found[0]
        if not found:
            return Rejection(Reason.NODE_UNKNOWN, f"no node of the cluster is {' or '.join(asked)}")
        return Rejection(Reason.NODE_AMBIGUOUS, f"{' or '.join(asked)} is {' and '.join(found)}")

    def _matching(self, asked: Sequence[str]) -> list[str]:
        """The first of these that means any node; a node that has just joined is looked for once more."""
        return _first(asked, self._others.known(_LOOKUP_SECONDS)) or _first(
            asked, self._others.known(_LOOKUP_SECONDS, just_read=True)
        )

    def pod_uid(self, namespace: str, name: str) -> str | Unknown | None:
        """UID of the pod that has this name now; None when there is none."""
        try:
            pod = self._api.read(self._api.core.read_namespaced_pod, name, namespace)
        except RefusedError as error:
            return None if error.status == 404 else Unknown(_SOURCE, str(error))
        except KubernetesError as error:
            return Unknown(_SOURCE, str(error))
        return str(pod["metadata"]["uid"])

    def config_map(self, name: str) -> str | Unknown | None:
        """Text of `resource-threshold-config` in the ConfigMap of this namespace/name; None when there is none."""
        namespace, _, short = name.partition("/")
        try:
            found = self._api.read(self._api.core.read_namespaced_config_map, short, namespace)
        except KubernetesError as error:
            return None if error.status == 404 else Unknown(_SOURCE, str(error))
        text = (found.get("data") or {}).get(KOORDINATOR_KEY)
        return None if text is None else str(text)

    def ledger_holders(self) -> Mapping[str, tuple[NodeFacts, tuple[PodFacts, ...]]] | Unknown:
        """Every node with its pods that ask for Koordinator's extended memory; as old as the other nodes may be."""
        try:
            nodes = self._others.known(self._deadline_seconds)
            holders = self._others.holders(self._deadline_seconds)
        except (KubernetesError, TimeoutError) as error:
            return Unknown(_SOURCE, f"the nodes cannot be listed: {error}")
        return {node.name: (node.facts, holders.get(node.name, ())) for node in nodes}

    def isolated_by_us(self) -> Sequence[str] | Unknown:
        """Nodes that carry our cordon annotation. Also keeps warm what an act will want of the other nodes."""
        self._others.keep_warm()
        try:
            known = self._others.known(self._deadline_seconds, just_read=True)
        except (KubernetesError, TimeoutError) as error:
            return Unknown(_SOURCE, f"the nodes cannot be listed: {error}")
        return [node.name for node in known if CORDONED_BY in node.facts.annotations]

    def ready(self) -> str:
        """Empty when the API answers, else what is wrong."""
        try:
            self._api.read_once(self._api.core.list_node, limit=1)
        except KubernetesError as error:
            return f"the API server does not answer as it should: {error}"
        return ""


def _first(asked: Sequence[str], nodes: Sequence[KnownNode]) -> list[str]:
    return next((sorted(found) for given in asked if (found := matching_nodes(given, nodes))), [])


def _in_time(asked: "Future[Any]", end: float) -> Any:
    return asked.result(max(0.0, end - time.monotonic()))


Reading = Future[list[Json]]
"""A list being read, or read."""


class _Surroundings:
    """The namespaces of a node's pods, each list read when it is older than two seconds."""

    def __init__(self, api: KubernetesApi, pool: ThreadPoolExecutor, speed: float) -> None:
        self._api, self._pool, self._speed = api, pool, speed
        self._lock = threading.Lock()
        self._read: dict[tuple[str, str], tuple[float, Reading]] = {}
        self._built: dict[str, tuple[frozenset[Reading], Namespace]] = {}
        """Namespace -> the readings that it was last made of, and what was made of them."""
        self._seen: dict[tuple[str, str, str], float] = {}
        """(node, namespace, part) -> when a pod there last needed it."""
        core, apps = api.core, api.apps
        self._calls: Mapping[str, Callable[..., Any]] = {
            "pods": core.list_namespaced_pod,
            "services": core.list_namespaced_service,
            "replica_sets": apps.list_namespaced_replica_set,
            "deployments": apps.list_namespaced_deployment,
            "stateful_sets": apps.list_namespaced_stateful_set,
            "jobs": api.batch.list_namespaced_job,
            "budgets": api.policy.list_pod_disruption_budget_for_all_namespaces,
            "endpoint_slices": api.discovery.list_namespaced_endpoint_slice,
        }

    def of(self, node: str, pods: Sequence[Json], end: float) -> dict[str, Namespace]:
        """Everything that bears on these pods, asked for side by side. Raises KubernetesError, TimeoutError."""
        asked = self._asked(self._needed(node, pods))
        names = dict.fromkeys([*(pod["metadata"]["namespace"] for pod in pods), *(name for name, _ in asked if name)])
        for future in asked.values():
            _in_time(future, end)
        built = {name: self._namespace(name, asked) for name in names}
        with self._lock:
            self._built |= built
        return {name: namespace for name, (_, namespace) in built.items()}

    def _namespace(self, name: str, asked: Mapping[tuple[str, str], Reading]) -> tuple[frozenset[Reading], Namespace]:
        """One namespace from its lists; the same object as long as no list was read anew."""
        mine = {part: reading for (where, part), reading in asked.items() if where in ("", name)}
        readings = frozenset(mine.values())
        before = self._built.get(name)
        if before is not None and before[0] == readings:
            return before
        lists = {part: reading.result() for part, reading in mine.items()}
        for part in CLUSTER_WIDE:
            lists[part] = [item for item in lists.get(part, ()) if item["metadata"]["namespace"] == name]
        return readings, Namespace(**lists)

    def _needed(self, node: str, pods: Sequence[Json]) -> list[tuple[str, str]]:
        """(namespace, part) that these pods need now, or pods that left the node needed a while ago."""
        now = time.monotonic()
        with self._lock:
            for name, part in parts_needed(pods):
                self._seen[node, name, part] = now
            oldest = now - _REMEMBERED_SECONDS / self._speed
            self._seen = {key: at for key, at in self._seen.items() if at >= oldest}
            return [(name, part) for on, name, part in self._seen if on == node]

    def _asked(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Reading]:
        """The lists, being read or read lately; of two passes that want one at once only one asks."""
        now, newest = time.monotonic(), _SURROUNDINGS_SECONDS / self._speed
        with self._lock:
            self._read = {k: v for k, v in self._read.items() if now - v[0] <= newest and not _failed(v[1])}
            self._built = {
                k: v for k, v in self._built.items() if v[0] <= {reading for _, reading in self._read.values()}
            }
            for key in keys:
                if key not in self._read:
                    self._read[key] = now, self._pool.submit(self._list, *key)
            return {key: self._read[key][1] for key in keys}

    def _list(self, namespace: str, part: str) -> list[Json]:
        where = (namespace,) if namespace else ()
        return [slim(item) for page in self._api.pages(self._calls[part], *where) for item in page]


def _failed(read: Reading) -> bool:
    return read.done() and read.exception() is not None
