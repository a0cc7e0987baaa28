"""The cluster's page of kube-state-metrics, as far as rules, queries and dashboards look at it."""

import re
from collections.abc import Iterable
from typing import Any

from remediator.config.quantities import size_bytes
from remediator.drill.simulation.endpoints.exposition import Family, extended, label_text
from remediator.drill.simulation.quantities import memory_of
from remediator.drill.simulation.world import World

Json = dict[str, Any]
_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_REASONS = ("Evicted", "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError")
_UNITS = {"cpu": "core", "pods": "integer"}
_RESOURCE_NAME = re.compile(r"[^a-zA-Z0-9_]")


def families(world: World) -> list[Family]:
    """All metrics of the page."""
    store = world.store
    budgets = store.list("PodDisruptionBudget")
    return [*_nodes(store.list("Node")), *_pods(store.list("Pod")), *_budgets(budgets)]


def _nodes(nodes: Iterable[Json]) -> list[Family]:
    info = Family("kube_node_info", "gauge", "Information about a cluster node.")
    capacity = Family("kube_node_status_capacity", "gauge", "The total amount of resources of a node.")
    allocatable = Family("kube_node_status_allocatable", "gauge", "Resources available for scheduling.")
    conditions = Family("kube_node_status_condition", "gauge", "The condition of a cluster node.")
    closed = Family("kube_node_spec_unschedulable", "gauge", "Whether a node can schedule new pods.")
    taints = Family("kube_node_spec_taint", "gauge", "The taint of a cluster node.")
    for node in nodes:
        name, status = node["metadata"]["name"], node["status"]
        address = next((a["address"] for a in status.get("addresses") or [] if a["type"] == "InternalIP"), "")
        info.add(
            1, node=name, internal_ip=address, kubelet_version=(status.get("nodeInfo") or {}).get("kubeletVersion", "")
        )
        for family, kind in ((capacity, "capacity"), (allocatable, "allocatable")):
            for resource, amount in status.get(kind, {}).items():
                told, unit = _RESOURCE_NAME.sub("_", resource), _UNITS.get(resource, "byte")
                family.add(size_bytes(amount), node=name, resource=told, unit=unit)
        for taint in node["spec"].get("taints") or []:
            taints.add(1, node=name, key=taint["key"], value=taint.get("value", ""), effect=taint["effect"])
        for condition in status.get("conditions") or []:
            for value in ("True", "False", "Unknown"):
                labels = {"node": name, "condition": condition["type"], "status": value.lower()}
                conditions.add(condition["status"] == value, **labels)
        closed.add(bool(node["spec"].get("unschedulable")), node=name)
    return [info, capacity, allocatable, conditions, closed, taints]


class _PodFamilies:
    """Everything kube-state-metrics says of pods."""

    def __init__(self) -> None:
        self.info = Family("kube_pod_info", "gauge", "Information about pod.")
        self.owner = Family("kube_pod_owner", "gauge", "Information about the Pod's owner.")
        self.phase = Family("kube_pod_status_phase", "gauge", "The pods current phase.")
        self.ready = Family("kube_pod_status_ready", "gauge", "Describes whether the pod is ready to serve requests.")
        self.reason = Family("kube_pod_status_reason", "gauge", "The pod status reasons.")
        self.qos = Family("kube_pod_status_qos_class", "gauge", "The pods current qosClass.")
        self.requests = _container_family(
            "resource_requests", "gauge", "The number of requested resource by a container."
        )
        self.limits = _container_family(
            "resource_limits", "gauge", "The number of requested limit resource by a container."
        )
        self.terminated = _container_family(
            "status_last_terminated_reason", "gauge", "Describes the last reason the container was in terminated state."
        )
        self.restarts = _container_family("status_restarts_total", "counter", "The number of container restarts.")

    def all(self) -> list[Family]:
        return list(vars(self).values())

    def add(self, pod: Json) -> None:
        base, status = _base(pod), pod["status"]
        owner = (pod["metadata"].get("ownerReferences") or [{}])[0]
        kind, name = owner.get("kind", ""), owner.get("name", "")
        node = pod["spec"].get("nodeName", "")
        more = _pairs(node=node, host_ip=status.get("hostIP", ""), created_by_kind=kind, created_by_name=name)
        self.info.put(extended(base, more), 1)
        is_controller = str(bool(owner.get("controller"))).lower()
        self.owner.put(extended(base, _pairs(owner_kind=kind, owner_name=name, owner_is_controller=is_controller)), 1)
        for phase in _PHASES:
            self.phase.put(extended(base, f'phase="{phase}"'), status.get("phase") == phase)
        ready = next((c["status"] for c in status.get("conditions") or [] if c["type"] == "Ready"), "")
        for value in ("true", "false", "unknown"):
            self.ready.put(extended(base, f'condition="{value}"'), ready.lower() == value)
        for reason in _REASONS:
            self.reason.put(extended(base, f'reason="{reason}"'), status.get("reason") == reason)
        self.qos.put(extended(base, _pairs(qos_class=status.get("qosClass", ""))), 1)
        self._containers(pod, base, node)

    def _containers(self, pod: Json, base: str, node: str) -> None:
        for container in pod["spec"]["containers"]:
            labels = extended(base, _pairs(container=container["name"], node=node))
            for family, kind in ((self.requests, "requests"), (self.limits, "limits")):
                for resource in container.get("resources", {}).get(kind) or {}:
                    told = _RESOURCE_NAME.sub("_", resource)
                    more = _pairs(resource=told, unit="byte" if "memory" in resource else "core")
                    family.put(extended(labels, more), memory_of(container, kind, resource))
        for each in pod["status"].get("containerStatuses") or []:
            labels = extended(base, _pairs(container=each["name"]))
            self.restarts.put(labels, each.get("restartCount", 0))
            ended = (each.get("lastState") or {}).get("terminated")
            if ended:
                self.terminated.put(extended(labels, _pairs(reason=ended["reason"])), 1)


def _pods(pods: Iterable[Json]) -> list[Family]:
    found = _PodFamilies()
    for pod in pods:
        found.add(pod)
    return found.all()


def _container_family(name: str, kind: str, text: str) -> Family:
    return Family(f"kube_pod_container_{name}", kind, text)


def _pairs(**labels: str) -> str:
    return label_text(**labels)[1:-1]


def _base(pod: Json) -> str:
    metadata = pod["metadata"]
    return label_text(namespace=metadata["namespace"], pod=metadata["name"], uid=metadata["uid"])


_BUDGET_FIGURES = {
    "pod_disruptions_allowed": ("disruptionsAllowed", "Number of pod disruptions that are currently allowed"),
    "current_healthy": ("currentHealthy", "Current number of healthy pods"),
    "desired_healthy": ("desiredHealthy", "Minimum desired number of healthy pods"),
    "expected_pods": ("expectedPods", "Total number of pods counted by this disruption budget"),
    "observed_generation": ("observedGeneration", "Most recent generation observed when updating this PDB status"),
}


def _budgets(budgets: Iterable[Json]) -> list[Family]:
    found = {
        field: Family(f"kube_poddisruptionbudget_status_{name}", "gauge", text)
        for name, (field, text) in _BUDGET_FIGURES.items()
    }
    for budget in budgets:
        metadata = budget["metadata"]
        labels = label_text(namespace=metadata["namespace"], poddisruptionbudget=metadata["name"])
        for field, family in found.items():
            family.put(labels, (budget.get("status") or {}).get(field, 0))
    return list(found.values())
