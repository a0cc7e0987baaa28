"""The report of a drill: what was seen, put into the figures that wants and people ask for. Pure.

Its keys are an interface: scenarios name them in their wants, and others read report.json.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from remediator.drill.declared import PROTECTED, declared_tier
from remediator.drill.observation import Json
from remediator.drill.scenario import Scenario
from remediator.drill.story import Chronicle

_LEVELS = {"yellow_at": 1, "orange_at": 2, "red_at": 3}
_SETTLED_SECONDS = 45.0


def compile_report(scenario: Scenario, speed: float, chronicle: Chronicle) -> dict[str, Any]:
    """Everything but `passed`, `wants` and `this_machine`. Times are scenario seconds."""
    focus, audit = scenario.focus, chronicle.audit
    evicted = _evicted(scenario, chronicle)
    ranking = _ranking(focus, audit)
    levels = {name: _reached(chronicle, focus, level) for name, level in _LEVELS.items()}
    return {
        "scenario": scenario.name,
        "title": scenario.title,
        "speed": speed,
        "focus": focus,
        "levels": levels,
        "notified": _notified(focus, chronicle.notices),
        "evicted": evicted,
        "pod_events": _pod_events(chronicle.notices),
        "drained": _told(chronicle, "endpoints_drained", focus),
        "restored": _told(chronicle, "endpoints_restored", focus),
        "still_drained": _still_drained(chronicle.events),
        "cordoned_at": _first(chronicle, "cordoned", focus),
        "tainted_at": _first(chronicle, "tainted", focus),
        "uncordoned_at": _first(chronicle, "uncordoned", focus),
        "untainted_at": _first(chronicle, "untainted", focus),
        "release_asked_at": chronicle.release_asked_at,
        "cordoned_before_evicting": _cordoned_first(chronicle, focus),
        "protected_evicted": sum(pod["tier"] in PROTECTED for pod in evicted),
        "held_by_budget": _held_by_budget(audit),
        "peak_used_ratio": _peak(chronicle, focus),
        "after_used_ratio": _after(chronicle, focus),
        "seconds_red_to_safe": _red_to_safe(chronicle, focus, levels["red_at"], _safe(scenario)),
        "seconds_to_fall": _to_fall(chronicle, focus, _safe(scenario)),
        "max_level_elsewhere": _elsewhere(scenario, chronicle),
        "successors_on_the_node": _successors(chronicle, focus),
        "oom_kills": _count(chronicle, "oom_kill"),
        "kubelet_evictions": _count(chronicle, "kubelet_eviction"),
        "webhooks_received": chronicle.webhooks_received,
        "api_calls": chronicle.api_calls,
        "kubelet_order": _kubelet_order(chronicle.kubelet_order, sum(pod["bytes"] for pod in evicted)),
        "ranking": ranking,
        "nodes": {node: _node(scenario, chronicle, node, evicted) for node in scenario.node_names},
        "phases": [{"at": at, "node": node, "phase": phase} for at, node, phase in chronicle.phases],
    }


def _node(scenario: Scenario, chronicle: Chronicle, node: str, evicted: list[Json]) -> Json:
    """The figures of one node, for stories in which more than the focus is in trouble."""
    red_at = _reached(chronicle, node, _LEVELS["red_at"])
    return {
        "red_at": red_at,
        "peak_used_ratio": _peak(chronicle, node),
        "evicted": sum(pod["node"] == node for pod in evicted),
        "cordoned_at": _first(chronicle, "cordoned", node),
        "uncordoned_at": _first(chronicle, "uncordoned", node),
        "reasons": _reasons(node, chronicle.audit),
        "seconds_red_to_safe": _red_to_safe(chronicle, node, red_at, _safe(scenario)),
    }


def _reasons(node: str, audit: Iterable[Json]) -> list[str]:
    """Every reason that a decision on the node gave."""
    decisions = [line for line in audit if line.get("kind") == "decision" and line.get("node") == node]
    return sorted({each["reason"] for line in decisions for each in line.get("reasons") or []})


def _safe(scenario: Scenario) -> float:
    return scenario.policy.to_policy().safe_used_ratio


def _reached(chronicle: Chronicle, node: str, level: int) -> float | None:
    return next((m.seconds for m in chronicle.moments if m.level.get(node, 0) >= level), None)


def _notified(node: str, events: Iterable[Json]) -> dict[str, int]:
    """How often people were told of each level of the node, by the Events that go with each notice."""
    counted = dict.fromkeys(("yellow", "orange", "red"), 0)
    for event in events:
        involved, message = event.get("involvedObject") or {}, event.get("message", "")
        if involved.get("name") == node and event.get("reason") == "MemoryPressure":
            for level in counted:
                if message.startswith(f"Node {node} is {level.upper()}"):
                    counted[level] += int(event.get("count", 1))
    return counted


def _told(chronicle: Chronicle, what: str, node: str | None = None) -> list[Json]:
    return [e for e in chronicle.events if e["what"] == what and node in (None, e.get("node"))]


def _first(chronicle: Chronicle, what: str, node: str) -> float | None:
    return next((float(event["at"]) for event in _told(chronicle, what, node)), None)


def _count(chronicle: Chronicle, what: str) -> int:
    return len(_told(chronicle, what))


def _evicted(scenario: Scenario, chronicle: Chronicle) -> list[Json]:
    """Pods that somebody's request removed: as the cluster saw it, so that none goes untold.

    The tier is the one that the scenario declares; the score is the audit's, None for a pod it does not know.
    """
    removed = {(each["namespace"], each["name"]) for each in chronicle.removals}
    intended = {
        line["action"]["pod_uid"]: line["action"]
        for line in chronicle.audit
        if line["kind"] == "intent" and line["action"]["kind"] == "evict"
    }
    found = []
    for event in _told(chronicle, "pod_terminating"):
        action = intended.get(event["uid"], {})
        if action or (event["namespace"], event["name"]) in removed:
            tier = declared_tier(scenario, event["workload"])
            told = {key: event[key] for key in ("namespace", "name", "uid", "node", "workload", "bytes", "at")}
            score = action.get("score")
            told |= {"strategy": action.get("strategy"), "score": round(score, 2) if score is not None else None}
            found.append(told | {"tier": tier})
    return found


def _kubelet_order(order: Iterable[Json], enough_bytes: int) -> list[Json]:
    """The kubelet's order; `taken` marks whom it would have needed for as many bytes."""
    marked, freed = [], 0
    for pod in order:
        marked.append(pod | {"taken": freed < enough_bytes})
        freed += pod["usage_bytes"]
    return marked


def _still_drained(events: Iterable[Json]) -> int:
    """Pods that are there, were taken out of service and not put back."""
    out: set[str] = set()
    for event in events:
        if event["what"] == "endpoints_drained":
            out.add(event["uid"])
        elif event["what"] in ("endpoints_restored", "pod_gone"):
            out.discard(event["uid"])
    return len(out)


def _cordoned_first(chronicle: Chronicle, node: str) -> bool | None:
    order = [e["what"] for e in chronicle.events if e.get("node") == node]
    if "pod_terminating" not in order:
        return None
    before = order[: order.index("pod_terminating")]
    return "cordoned" in before and "tainted" in before


def _pod_events(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """Reasons of the Events that pods got from the remediator, one for each pod and reason."""
    return sorted(str(e["reason"]) for e in events if (e.get("involvedObject") or {}).get("kind") == "Pod")


def _held_by_budget(audit: Iterable[Json]) -> list[str]:
    """namespace/workload of pods that a budget kept, as the plan's ranking tells."""
    held: dict[str, None] = {}
    for line in audit:
        if line.get("kind") == "decision" and line.get("plan"):
            for row in line.get("ranking") or []:
                if row.get("reason") == "disruption_budget" and row.get("workload"):
                    namespace, _, name = row["workload"].split("/")
                    held[f"{namespace}/{name}"] = None
    return list(held)


def _peak(chronicle: Chronicle, node: str) -> float:
    return max((m.used_ratio.get(node, 0.0) for m in chronicle.moments), default=0.0)


def _gone(chronicle: Chronicle, node: str) -> list[float]:
    """When the pods that were evicted from the node were gone."""
    terminating = {event["uid"] for event in _told(chronicle, "pod_terminating", node)}
    return [float(e["at"]) for e in _told(chronicle, "pod_gone", node) if e["uid"] in terminating]


def _after(chronicle: Chronicle, node: str) -> float | None:
    """Used ratio 45 s after the last evicted pod was gone."""
    gone = _gone(chronicle, node)
    if not gone:
        return None
    due = max(gone) + _SETTLED_SECONDS
    return next((m.used_ratio.get(node) for m in chronicle.moments if m.seconds >= due), None)


def _to_fall(chronicle: Chronicle, node: str, safe: float) -> float | None:
    """Seconds from the first eviction until used is under the safe level."""
    begun = _first(chronicle, "pod_terminating", node)
    return None if begun is None else _until_safe(chronicle, node, begun, safe)


def _red_to_safe(chronicle: Chronicle, node: str, red_at: float | None, safe: float) -> float | None:
    return None if red_at is None else _until_safe(chronicle, node, red_at, safe)


def _until_safe(chronicle: Chronicle, node: str, since: float, safe: float) -> float | None:
    for moment in chronicle.moments:
        if moment.seconds >= since and moment.used_ratio.get(node, 1.0) <= safe:
            return round(moment.seconds - since, 1)
    return None


def _elsewhere(scenario: Scenario, chronicle: Chronicle) -> int:
    others = [node for node in scenario.node_names if node != scenario.focus]
    return max((m.level.get(node, 0) for m in chronicle.moments for node in others), default=0)


def _successors(chronicle: Chronicle, node: str) -> int:
    """Pods bound to the node while it was closed by us."""
    closed, bound = False, 0
    for event in chronicle.events:
        if event.get("node") != node:
            continue
        if event["what"] in ("cordoned", "uncordoned"):
            closed = event["what"] == "cordoned"
        bound += closed and event["what"] == "pod_bound"
    return bound


def _ranking(node: str, audit: Iterable[Json]) -> list[Json]:
    """The ranking of the last plan that evicts, as it was decided."""
    best: list[Json] = []
    for line in audit:
        if line.get("kind") == "decision" and line.get("node") == node and line.get("ranking"):
            steps = (line.get("plan") or {}).get("actions") or []
            if any(step.get("kind") == "evict" for step in steps):
                best = line["ranking"]
    return best
