"""All nodes of the cluster and what is requested on each: a few seconds old, for they only say where a pod would fit.

Read page by page and reduced to facts at once: on 30,000 pods a whole list would be hundreds of megabytes. Pages are
not asked with resourceVersion=0, for the API server then ignores the limit and sends everything in one answer.
"""

import ipaddress
import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from remediator.adapters.kubernetes_api import KubernetesApi
from remediator.adapters.pod_facts import alive, extended_requests, node_facts, pod_facts, pod_requests
from remediator.adapters.refreshing import Refreshed
from remediator.core.model import NodeFacts, PodFacts

Json = dict[str, Any]
_FRESH_SECONDS = 30.0
_USABLE_SECONDS = 120.0
_WARM_SECONDS = 60.0
_JUST_READ_SECONDS = 2.0
_PORT = re.compile(r"^(?:\[(?P<six>[^\]]+)\]|(?P<host>[^:]+))(?::\d+)?$")


@dataclass(frozen=True, slots=True)
class KnownNode:
    """A node and by what it may be called."""

    facts: NodeFacts
    addresses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name."""
        return self.facts.name


class OtherNodes:
    """Nodes and requests, each read by one reader at a time."""

    def __init__(self, api: KubernetesApi, *, speed: float = 1.0) -> None:
        self._api, self._speed = api, speed
        pool = ThreadPoolExecutor(2, thread_name_prefix="nodes")
        fresh, usable = _FRESH_SECONDS / speed, _USABLE_SECONDS / speed
        self._warm_seconds = _WARM_SECONDS / speed
        self._nodes = Refreshed(self._read_nodes, pool, fresh_seconds=fresh, usable_seconds=usable)
        self._requested = Refreshed(self._read_requested, pool, fresh_seconds=fresh, usable_seconds=usable)

    def peers(self, node: str, wait_seconds: float) -> tuple[NodeFacts, ...]:
        """All nodes but this one, with what is requested on them. Raises KubernetesError, TimeoutError."""
        end = time.monotonic() + wait_seconds
        requested = self._requested.get(wait_seconds).bytes
        nodes = self._nodes.get(end - time.monotonic())
        return tuple(
            replace(known.facts, requested_bytes=requested.get(known.name, 0)) for known in nodes if known.name != node
        )

    def keep_warm(self) -> None:
        """Read again, in the background, what would soon be too old: the first act must not wait for a long list."""
        self._requested.renew_when_older(self._warm_seconds)

    def holders(self, wait_seconds: float) -> Mapping[str, tuple[PodFacts, ...]]:
        """Node -> its pods that ask for extended memory. Raises KubernetesError, TimeoutError."""
        return self._requested.get(wait_seconds).holders

    def known(self, wait_seconds: float, *, just_read: bool = False) -> tuple[KnownNode, ...]:
        """All nodes; `just_read`: at most two seconds old. Raises KubernetesError, TimeoutError."""
        newest = _JUST_READ_SECONDS / self._speed if just_read else None
        return self._nodes.get(wait_seconds, usable_seconds=newest)

    def _read_nodes(self) -> tuple[KnownNode, ...]:
        return tuple(known_node(node) for page in self._api.pages(self._api.core.list_node) for node in page)

    def _read_requested(self) -> "Requested":
        """Memory requested by the pods bound to each node, and who asks for extended memory."""
        found = Requested({}, {})
        for page in self._api.pages(self._api.core.list_pod_for_all_namespaces):
            for pod in page:
                name = pod["spec"].get("nodeName")
                if name and alive(pod):
                    found.bytes[name] = found.bytes.get(name, 0) + pod_requests(pod["spec"])
                    if extended_requests(pod["spec"]):
                        found.holders[name] = (*found.holders.get(name, ()), pod_facts(pod, lambda _: None))
        return found


@dataclass(frozen=True, slots=True)
class Requested:
    """What one reading of all pods came to, by node."""

    bytes: dict[str, int]
    holders: dict[str, tuple[PodFacts, ...]]


def known_node(node: Json) -> KnownNode:
    """A Node object, reduced."""
    entries = (node.get("status") or {}).get("addresses") or []
    return KnownNode(node_facts(node), tuple(entry["address"] for entry in entries))


def matching_nodes(given: str, nodes: Iterable[KnownNode]) -> set[str]:
    """Names of the nodes that `given` (a name or an address, either with a port, IPv6 in brackets) may mean."""
    nodes = tuple(nodes)
    names = {node.name for node in nodes}
    found = _PORT.match(given)
    host = (found["six"] or found["host"]) if found else given
    for name in (given, host):
        if name in names:
            return {name}
    address = _address(host)
    return {node.name for node in nodes if any(_same(host, address, entry) for entry in node.addresses)}


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _same(host: str, address: _Address | None, entry: str) -> bool:
    return entry == host or (address is not None and _address(entry) == address)


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
