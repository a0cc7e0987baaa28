"""A decision as plain JSON: what `explain`, the API and the audit show of one look at one node.

Only a change of form: figures and reasons are those of the decision and its observation.
Every source that was unknown says so with its reason, because "no data" is the most frequent why-not.
"""

from typing import Any

from remediator.config.plain import plain
from remediator.core.model import ClusterFacts, MemoryFacts, SilenceFacts, Unknown
from remediator.core.planner import decide
from remediator.core.policy import Policy
from remediator.core.question import Question
from remediator.core.reason import SENTENCES, Reason
from remediator.core.state import Action, Decision, NodeState, Observation, Plan, RankedPod

Json = dict[str, Any]


def explained(question: Question) -> Json:
    """The decision that answers a question, as JSON; nothing else is asked, so it is the same wherever it is made."""
    seen, policy = question.observation, question.policy
    decision = decide(question.state, question.signal, seen, policy, question.now)
    told = explanation(seen, decision, question.state, policy)
    return {**told, **_sources(seen), **_ground(decision, seen.memory, policy)}


def _sources(seen: Observation) -> Json:
    """What usages and levels say beside the sources that an explanation has anyway."""
    usages, levels = seen.usages, seen.fleet.levels
    return {
        "usages": _unknown(usages) if isinstance(usages, Unknown) else {"pods": len(usages)},
        "levels": _unknown(levels)
        if isinstance(levels, Unknown)
        else {name: each.name for name, each in levels.items()},
    }


def _ground(decision: Decision, memory: MemoryFacts | Unknown, policy: Policy) -> Json:
    """On what the figures stand: since when the level, what it may do, how the score is weighted."""
    return {
        "level_since": decision.next_state.level_since,
        "step": None if isinstance(memory, Unknown) else plain(policy.ladder[memory.level]),
        "weights": plain(policy.weights),
    }


def explanation(observation: Observation, decision: Decision, state: NodeState, policy: Policy) -> Json:
    """The whole of it: level and why, bytes to free, ranking, guards, plan. Times are unix seconds."""
    return {
        "node": decision.node,
        "at": decision.at,
        "mode": str(decision.mode),
        "profile": policy.profile,
        "verdict": str(decision.verdict),
        "reasons": [reasoned(each.reason, each.detail) for each in decision.reasons],
        "memory": _memory(observation.memory, policy),
        "cluster": _cluster(observation.cluster),
        "silences": _silences(observation.silences),
        "target_bytes": decision.target_bytes,
        "ranking": [_ranked(row) for row in decision.ranking],
        "kubelet_order": [
            f"{row.namespace}/{row.pod}"
            for row in sorted(decision.ranking, key=lambda row: row.kubelet_rank or 0)
            if row.kubelet_rank is not None
        ],
        "plan": plan_as_json(decision.plan) if decision.plan else None,
        "requeue_after_seconds": decision.requeue_after_seconds,
        "state": state_as_json(state),
    }


def reasoned(reason: Reason, detail: str = "") -> Json:
    """A reason by its machine name and its sentence."""
    return {"reason": str(reason), "sentence": SENTENCES.get(reason, str(reason)), "detail": detail}


def plan_as_json(plan: Plan) -> Json:
    """A plan with its steps in order."""
    return {
        "id": plan.id,
        "episode_id": plan.episode_id,
        "level": plan.level.name,
        "created_at": plan.created_at,
        "expires_at": plan.expires_at,
        "target_bytes": plan.target_bytes,
        "approved_by": plan.approved_by or None,
        "actions": [action_as_json(action) for action in plan.actions],
    }


def action_as_json(action: Action) -> Json:
    """One step."""
    return {
        "kind": str(action.kind),
        "namespace": action.namespace or None,
        "pod": action.pod or None,
        "pod_uid": action.pod_uid or None,
        "workload": str(action.workload) if action.workload else None,
        "tier": str(action.tier) if action.tier else None,
        "strategy": str(action.strategy),
        "score": action.score,
        "expected_bytes": action.expected_bytes,
        "grace_period_seconds": action.grace_period_seconds,
        "why": action.why,
    }


def state_as_json(state: NodeState) -> Json:
    """What is remembered of the node, as far as people ask for it."""
    return {
        "phase": str(state.phase),
        "isolation": str(state.isolation),
        "episode_id": state.episode_id or None,
        "rounds": state.rounds,
        "cooldown_until": state.cooldown_until,
        "stood_down_until": state.stood_down_until,
        "due_at": state.due_at,
        "message": state.message,
    }


def _memory(memory: MemoryFacts | Unknown, policy: Policy) -> Json:
    if isinstance(memory, Unknown):
        return _unknown(memory)
    return {
        "level": memory.level.name,
        "used_ratio": memory.used_ratio,
        "used_bytes": memory.used_bytes,
        "available_bytes": memory.available_bytes,
        "total_bytes": memory.total_bytes,
        "safe_used_ratio": policy.safe_used_ratio,
        "sampled_at": memory.sampled_at,
        "score": memory.score,
        "growth_bytes_per_second": memory.growth_bytes_per_second,
        "thresholds": dict(memory.thresholds),
        "system_slices": dict(memory.system_slices),
    }


def _cluster(cluster: ClusterFacts | Unknown) -> Json:
    if isinstance(cluster, Unknown):
        return _unknown(cluster)
    return {
        "pods": len(cluster.pods),
        "unschedulable": cluster.node.unschedulable,
        "ready": cluster.node.ready,
        "memory_pressure": cluster.node.memory_pressure,
    }


def _silences(silences: SilenceFacts | Unknown) -> Json:
    if isinstance(silences, Unknown):
        return _unknown(silences)
    return {"active": len(silences.silences), "alert_silenced_by": list(silences.alert_silenced_by)}


def _unknown(unknown: Unknown) -> Json:
    return {"unknown": unknown.why, "source": unknown.source, "reason": str(unknown.reason)}


def _ranked(row: RankedPod) -> Json:
    score = row.score
    return {
        "namespace": row.namespace,
        "pod": row.pod,
        "uid": row.uid,
        "workload": str(row.workload) if row.workload else None,
        "tier": str(row.tier) if row.tier else None,
        "priority": row.priority,
        "qos": row.qos,
        "usage_bytes": row.usage_bytes,
        "request_bytes": row.request_bytes,
        "releasable_bytes": row.releasable_bytes,
        "score": None
        if score is None
        else {
            "business": score.business,
            "memory": score.memory,
            "restart": score.restart,
            "qos": score.qos,
            "total": score.total,
        },
        "chosen": row.reason is Reason.CHOSEN,
        "eligible": row.eligible,
        "kubelet_rank": row.kubelet_rank,
        "overshoot_bytes": None if row.usage_bytes is None else row.usage_bytes - row.request_bytes,
        "notes": list(row.notes),
        **reasoned(row.reason, row.detail),
    }
