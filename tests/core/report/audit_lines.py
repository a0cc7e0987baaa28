"""Audit lines as the reconciler writes them, for tests of the report; times are seconds from the period's begin."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Line = dict[str, Any]
GIB = 2**30
NUMBERS = {"GREEN": 0, "YELLOW": 1, "ORANGE": 2, "RED": 3}


def line(kind: str, at: float, replica: str = "a", **content: Any) -> Line:
    """What every line has."""
    return {"kind": kind, "at": at, "replica": replica, "config_hash": "c0ffee", **content}


def level(at: float, node: str, name: str, before: str | None, used: float = 0.9, **more: Any) -> Line:
    """A change of level."""
    return line("level", at, node=node, mode="observe", level=name, level_before=before, used_ratio=used, **more)


def watching(at: float, above: Mapping[str, tuple[str, float | None]] | None = None, **more: Any) -> Line:
    """A roll call over three nodes."""
    counts = dict.fromkeys(NUMBERS, 0)
    for name, _ in (above or {}).values():
        counts[name] += 1
    counts["GREEN"] = 3 - sum(counts.values())
    told = {node: {"level": name, "peak_used_ratio": peak} for node, (name, peak) in (above or {}).items()}
    call = {"mode": "observe", "every_seconds": 300.0, "started_at": 0.0, "unknown": None, "nodes": 3}
    return line("watching", at, **{**call, "levels": counts, "above": told, **more})


def untouched(workload: str, size: int, reason: str = "undeclared", **more: Any) -> Line:
    """A workload in the way."""
    return {
        "workload": workload,
        "reason": reason,
        "tier": None,
        "qos": "Burstable",
        "priority": 0,
        "pods": 1,
        "releasable_bytes": size,
        **more,
    }


def decision(
    at: float,
    node: str,
    name: str | None,
    reasons: Sequence[str] = ("no_candidate",),
    evicts: Iterable[Line] = (),
    **more: Any,
) -> Line:
    """A decision at a level; `evicts` are the plan's steps."""
    plan = {"id": "p", "actions": list(evicts)} if evicts else None
    told: Line = {
        "node": node,
        "mode": "observe",
        "memory": {"unknown": "gone", "source": "prometheus"} if name is None else {"level": name, "used_ratio": 0.9},
        "verdict": "ALLOW" if evicts else "SUPPRESS",
        "reasons": [{"reason": each, "sentence": "", "detail": ""} for each in reasons],
        "plan": plan,
        "ranking": [],
        "untouched": [],
    }
    return line("decision", at, **{**told, **more})


def step(pod: str, size: int = GIB, kind: str = "evict", tier: str | None = "offline") -> Line:
    """A step of a plan, on a pod of the workload of its name's beginning."""
    return {
        "kind": kind,
        "namespace": "batch",
        "pod": pod,
        "pod_uid": f"uid-{pod}",
        "workload": f"batch/Job/{pod.rpartition('-')[0]}",
        "tier": tier,
        "expected_bytes": size,
    }


def result(at: float, node: str, action: Line, status: str = "done", reason: str = "dry_run", **more: Any) -> Line:
    """What became of a step."""
    return line("result", at, **{"node": node, "mode": "observe", **more}, action=action, status=status, reason=reason)


def oom_kill(at: float, node: str, pod: str, died_at: float, oom_class: str = "node-oom", **more: Any) -> Line:
    """An OOM kill as a pass saw it."""
    dead = {"namespace": "shop", "pod": pod, "pod_uid": f"uid-{pod}", "workload": f"shop/Deployment/{pod}"}
    told = {"tier": "important", "container": "main", "class": oom_class, "exit_code": 137, "level": None}
    return line("oom_kill", at, **{"node": node, **dead, **told, "died_at": died_at, **more})


def kubelet_eviction(at: float, node: str, pod: str, died_at: float, **more: Any) -> Line:
    """An eviction by the kubelet as a pass saw it."""
    dead = {"namespace": "shop", "pod": pod, "pod_uid": f"uid-{pod}", "workload": f"shop/Deployment/{pod}"}
    told = {"tier": None, "detail": "The node was low on resource: memory.", "died_at": died_at}
    return line("kubelet_eviction", at, **{"node": node, **dead, **told, **more})


def outcome(at: float, node: str, kind: str, released: int, expected: int) -> Line:
    """What a round came to."""
    return line("outcome", at, node=node, outcome=kind, released_bytes=released, expected_bytes=expected)


def watched(until: float, changes: Iterable[Line] = (), **more: Any) -> list[Line]:
    """Roll calls every five minutes beside these changes of level."""
    moves = by_time(each for each in changes if each["kind"] == "level")
    calls = []
    for at in range(0, int(until), 300):
        now = {each["node"]: each["level"] for each in moves if each["at"] <= at}
        above = {node: (name, 0.9) for node, name in now.items() if name != "GREEN"}
        calls.append(watching(at, above, **more))
    return calls


def by_time(lines: Iterable[Line]) -> list[Line]:
    """As the merged reader gives them."""
    return sorted(lines, key=lambda each: each["at"])
