"""The node controller: taints of its own that follow a cordon and the kubelet's MemoryPressure."""

from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE = "node.kubernetes.io/memory-pressure"
OWN_PREFIX = "node.kubernetes.io/"


def taints_of_conditions(store: Store, node: Json) -> None:
    """Add and remove the controller's own taints; everybody else's stay as they are."""
    conditions = node.get("status", {}).get("conditions") or []
    pressed = any(c["type"] == "MemoryPressure" and c["status"] == "True" for c in conditions)
    wanted = {UNSCHEDULABLE: bool(node["spec"].get("unschedulable")), MEMORY_PRESSURE: pressed}
    taints = node["spec"].get("taints") or []
    there = {taint["key"] for taint in taints}
    kept = [taint for taint in taints if wanted.get(taint["key"], True)]
    now = timestamp(store.clock())
    new = [
        {"key": key, "effect": "NoSchedule", "timeAdded": now} for key, on in wanted.items() if on and key not in there
    ]
    if new or len(kept) != len(taints):
        spec = {key: value for key, value in node["spec"].items() if key != "taints"}
        store.update("Node", {**node, "spec": spec | ({"taints": [*kept, *new]} if kept or new else {})})
