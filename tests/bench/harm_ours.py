"""Our planner on a storm: `decide`, perform, settle, measure, again, until it has nothing more to do.

The reconciler's loop without a clock and without a network, with the shipped caps: three pods a round, three rounds.
"""

from dataclasses import replace

from harm_clusters import NOW, TOTAL_BYTES, UNDECLARED, Storm

from remediator.core.model import (
    ClusterFacts,
    Level,
    MemoryFacts,
    Mode,
    NodeFacts,
    PodUsage,
    Signal,
    SignalKind,
    SilenceFacts,
    Tier,
)
from remediator.core.planner import after_actions, decide, next_action
from remediator.core.policy import BusinessRule, Policy
from remediator.core.reason import Reason
from remediator.core.state import ActionKind, ActionResult, ActionStatus, FleetFacts, NodeState, Observation

_TIERS = {
    "middleware": Tier.CRITICAL,
    "payments": Tier.CRITICAL,
    "shop": Tier.IMPORTANT,
    "backoffice": Tier.STANDARD,
    "logging": Tier.LOW,
    "analytics": Tier.OFFLINE,
    "reports": Tier.OFFLINE,
}
POLICY = Policy(mode=Mode.ENFORCE, business=tuple(BusinessRule(tier, namespace=name) for name, tier in _TIERS.items()))
_STEP_SECONDS, _LONGEST_SECONDS = 50.0, 900.0
_PEERS = tuple(NodeFacts(f"n{i}", allocatable_bytes=TOTAL_BYTES, requested_bytes=0) for i in range(2, 6))


def need_bytes(storm: Storm) -> int:
    """What must leave to reach the safe level."""
    return max(0, storm.used_bytes - round(POLICY.safe_used_ratio * TOTAL_BYTES))


def observation(storm: Storm, gone: set[str], now: float, state: NodeState) -> Observation:
    """What the adapters would say with these pods gone."""
    pods = tuple(pod for pod in storm.pods if pod.uid not in gone)
    used = storm.used_bytes - sum(storm.used[uid] for uid in gone)
    level = Level.RED if used > POLICY.safe_used_ratio * TOTAL_BYTES else Level.GREEN
    usages = {p.uid: PodUsage(storm.used[p.uid], storm.used[p.uid], now) for p in pods if p.uid not in storm.unseen}
    return Observation(
        node="n1",
        at=now,
        memory=MemoryFacts(level, TOTAL_BYTES, TOTAL_BYTES - used, now),
        cluster=ClusterFacts(
            NodeFacts("n1", allocatable_bytes=TOTAL_BYTES),
            tuple(replace(pod, created_at=pod.created_at) for pod in pods),
            dict(storm.workloads),
            tuple(storm.budgets),
            peers=_PEERS,
        ),
        usages=usages,
        silences=SilenceFacts(),
        fleet=FleetFacts({"n1": level, **{peer.name: Level.GREEN for peer in _PEERS}}, {"n1": state}),
    )


def victims(storm: Storm) -> list[str]:
    """UIDs in the order in which they were evicted."""
    state, now, gone = NodeState(), NOW, set[str]()
    evicted: list[str] = []
    while now < NOW + _LONGEST_SECONDS:
        seen = observation(storm, gone, now, state)
        decision = decide(state, Signal(SignalKind.TIMER, "n1"), seen, POLICY, now)
        state, plan = decision.next_state, decision.plan
        results: list[ActionResult] = []
        while plan is not None and (action := next_action(plan, decision.ranking, results, POLICY)) is not None:
            results.append(ActionResult(action, ActionStatus.DONE, Reason.ACCEPTED, now))
            if action.kind is ActionKind.EVICT:
                evicted.append(action.pod_uid)
        if plan is not None:
            state = after_actions(state, results, now)
            gone = set(evicted)
        now += _STEP_SECONDS
        if not state.episode_id and plan is None:
            break
    return evicted


def protected(storm: Storm) -> set[str]:
    """Pods that nobody may touch: declared critical, or declared by nobody (Jobs are offline unless declared)."""
    undeclared = {p.uid for p in storm.pods if p.namespace == UNDECLARED and p.workload and p.workload.kind != "Job"}
    return undeclared | {p.uid for p in storm.pods if _TIERS.get(p.namespace) is Tier.CRITICAL}


def eligible(storm: Storm) -> set[str]:
    """Pods that our filters let go at the start."""
    decision = decide(
        NodeState(), Signal(SignalKind.TIMER, "n1"), observation(storm, set(), NOW, NodeState()), POLICY, NOW
    )
    return {row.uid for row in decision.ranking if row.eligible}
