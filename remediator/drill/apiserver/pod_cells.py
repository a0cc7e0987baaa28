"""The row of a pod: ready, status, restarts, as kubectl words them. Pure."""

from collections.abc import Callable, Iterable
from typing import Any

from remediator.drill.apiserver.resources import Json

Ago = Callable[[str], str]


def pod_row(pod: Json, age: str, ago: Ago) -> list[Any]:
    """Ready, status, restarts, age, then IP, node, nominated node, readiness gates."""
    status: Json = pod.get("status") or {}
    statuses: list[Json] = status.get("containerStatuses") or []
    ready = sum(bool(each.get("ready")) and "running" in each.get("state", {}) for each in statuses)
    return [
        f"{ready}/{len(pod['spec'].get('containers') or [])}",
        pod_status(pod),
        _restarts(statuses, ago),
        age,
        status.get("podIP") or "<none>",
        pod["spec"].get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _gates(pod["spec"].get("readinessGates") or [], status.get("conditions") or []),
    ]


def _restarts(statuses: Iterable[Json], ago: Ago) -> str:
    """How often, and how long ago the last time."""
    count, last = 0, ""
    for each in statuses:
        count += each.get("restartCount", 0)
        last = max(last, (each.get("lastState") or {}).get("terminated", {}).get("finishedAt") or "")
    return f"{count} ({ago(last)} ago)" if count and last else str(count)


def _gates(gates: list[Json], conditions: list[Json]) -> str:
    if not gates:
        return "<none>"
    true = {condition["type"] for condition in conditions if condition["status"] == "True"}
    return f"{sum(gate['conditionType'] in true for gate in gates)}/{len(gates)}"


def pod_status(pod: Json) -> str:
    """Phase, or what is more telling: a reason, a container's state, Terminating."""
    status: Json = pod.get("status") or {}
    phase = status.get("phase") or "Pending"
    if "deletionTimestamp" in pod["metadata"] and phase not in ("Succeeded", "Failed"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    told = _initialising(status)
    if told is None:
        told = _of_containers(status, str(status.get("reason") or phase))
    return told


def _initialising(status: Json) -> str | None:
    """`Init:1/2` and its like, while an init container has not ended well."""
    statuses: list[Json] = status.get("initContainerStatuses") or []
    for index, each in enumerate(statuses):
        state: Json = each.get("state") or {}
        if state.get("terminated", {}).get("exitCode") == 0:
            continue
        if "terminated" in state:
            return f"Init:{_ended(state['terminated'])}"
        waiting = state.get("waiting", {}).get("reason", "")
        return f"Init:{waiting}" if waiting not in ("", "PodInitializing") else f"Init:{index}/{len(statuses)}"
    return None


def _of_containers(status: Json, told: str) -> str:
    running = False
    for each in reversed(status.get("containerStatuses") or []):
        state: Json = each.get("state") or {}
        if waiting := state.get("waiting", {}).get("reason"):
            told = str(waiting)
        elif "terminated" in state:
            told = _ended(state["terminated"])
        running = running or (bool(each.get("ready")) and "running" in state)
    if told == "Completed" and running:
        conditions: list[Json] = status.get("conditions") or []
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
        return "Running" if ready else "NotReady"
    return told


def _ended(terminated: Json) -> str:
    if reason := terminated.get("reason"):
        return str(reason)
    signal = terminated.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{terminated.get('exitCode', 0)}"
