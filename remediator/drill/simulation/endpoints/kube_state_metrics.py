"""The cluster's page of kube-state-metrics, as far as rules, queries and dashboards look at it."""

from collections.abc import Iterable
from typing import Any

from remediator.config.quantities import size_bytes
from remediator.drill.simulation.endpoints.exposition import Family, render
from remediator.drill.simulation.quantities import memory_of
from remediator.drill.simulation.world import World

Json = dict[str, Any]
_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")


def page(world: World) -> str:
    """The /metrics page."""
    store = world.store
    budgets = store.list("PodDisruptionBudget")
    return render([*_nodes(store.list("Node")), *_pods(store.list("Pod")), *_budgets(budgets)])


def _nodes(nodes: Iterable[Json]) -> list[Family]:
    info = Family("kube_node_info", "gauge", "Information about a cluster node.")
    capacity = Family("kube_node_status_capacity", "gauge", "The total amount of resources of a node.")
    allocatable = Family("kube_node_status_allocatable", "gauge", "Resources available for scheduling.")
    conditions = Family("kube_node_status_condition", "gauge", "The condition of a cluster node.")
    closed = Family("kube_node_spec_unschedulable", "gauge", "Whether a node can schedule new pods.")
    for node in nodes:
        name, status = node["metadata"]["name"], node["status"]
        address = next((a["address"] for a in status["addresses"] if a["type"] == "InternalIP"), "")
        info.add(1, node=name, internal_ip=address, kubelet_version=status["nodeInfo"]["kubeletVersion"])
        for family, kind in ((capacity, "capacity"), (allocatable, "allocatable")):
            family.add(size_bytes(status[kind]["memory"]), node=name, resource="memory", unit="byte")
        for condition in status["conditions"]:
            for value in ("True", "False", "Unknown"):
                labels = {"node": name, "condition": condition["type"], "status": value.lower()}
                conditions.add(condition["status"] == value, **labels)
        closed.add(bool(node["spec"].get("unschedulable")), node=name)
    return [info, capacity, allocatable, conditions, closed]


def _pods(pods: Iterable[Json]) -> list[Family]:
    info = Family("kube_pod_info", "gauge", "Information about pod.")
    phases = Family("kube_pod_status_phase", "gauge", "The pods current phase.")
    reasons = Family("kube_pod_status_reason", "gauge", "The pod status reasons.")
    qos = Family("kube_pod_status_qos_class", "gauge", "The pods current qosClass.")
    requests = Family("kube_pod_container_resource_requests", "gauge", "Requested resources of a container.")
    limits = Family("kube_pod_container_resource_limits", "gauge", "Resource limits of a container.")
    terminated = Family(
        "kube_pod_container_status_last_terminated_reason", "gauge", "Why the container was last terminated."
    )
    restarts = Family("kube_pod_container_status_restarts_total", "counter", "Container restarts.")
    for pod in pods:
        base = _base(pod)
        owner = (pod["metadata"].get("ownerReferences") or [{}])[0]
        more = {
            "node": pod["spec"].get("nodeName", ""),
            "host_ip": pod["status"].get("hostIP", ""),
            "created_by_kind": owner.get("kind", ""),
            "created_by_name": owner.get("name", ""),
        }
        info.add(1, **base, **more)
        for phase in _PHASES:
            phases.add(pod["status"].get("phase") == phase, **base, phase=phase)
        reasons.add(pod["status"].get("reason") == "Evicted", **base, reason="Evicted")
        qos.add(1, **base, qos_class=pod["status"].get("qosClass", ""))
        _containers(pod, requests, limits)
        for status in pod["status"].get("containerStatuses") or []:
            labels = {**base, "container": status["name"]}
            restarts.add(status.get("restartCount", 0), **labels)
            last = (status.get("lastState") or {}).get("terminated")
            if last:
                terminated.add(1, **labels, reason=last["reason"])
    return [info, phases, reasons, qos, requests, limits, terminated, restarts]


def _containers(pod: Json, requests: Family, limits: Family) -> None:
    base = {**_base(pod), "node": pod["spec"].get("nodeName", ""), "resource": "memory", "unit": "byte"}
    for container in pod["spec"]["containers"]:
        for family, kind in ((requests, "requests"), (limits, "limits")):
            if size := memory_of(container, kind):
                family.add(size, **base, container=container["name"])


def _base(pod: Json) -> dict[str, str]:
    metadata = pod["metadata"]
    return {"namespace": metadata["namespace"], "pod": metadata["name"], "uid": metadata["uid"]}


def _budgets(budgets: Iterable[Json]) -> list[Family]:
    allowed = Family(
        "kube_poddisruptionbudget_status_pod_disruptions_allowed", "gauge", "Pod disruptions currently allowed."
    )
    for budget in budgets:
        metadata = budget["metadata"]
        labels = {"namespace": metadata["namespace"], "poddisruptionbudget": metadata["name"]}
        allowed.add(budget.get("status", {}).get("disruptionsAllowed", 0), **labels)
    return [allowed]
