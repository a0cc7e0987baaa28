"""Cluster C3, the fixture that the regression cases share: three nodes, n1 ORANGE, report the expected victim."""

from dataclasses import replace
from typing import Any

from core_world import GI, MI, T0, any_tier_ladder, look, memory, peer, pod, policy, usage, workloads_of

from remediator.core.model import (
    ClusterFacts,
    Level,
    MemoryFacts,
    NodeFacts,
    PodFacts,
    PodUsage,
    Signal,
    SignalKind,
    SilenceFacts,
    Tier,
)
from remediator.core.policy import Policy, Safeguards
from remediator.core.state import Action, ActionKind, Decision, FleetFacts, NodeState, Observation

A1 = Signal(SignalKind.ALERT, "n1", "NodeMemoryPressure", Level.ORANGE, fingerprint="f1")


def c3_policy(**kw: Any) -> Policy:
    """Profile sentinel, enforce, ORANGE cordons and evicts one of any tier but critical, at once."""
    volumes = dict.fromkeys(Tier, ("emptyDir",))
    defaults: dict[str, Any] = {
        "profile": "sentinel",
        "safe_used_ratio": 0.80,
        "undeclared": "standard",
        "ladder": any_tier_ladder(),
        "safeguards": Safeguards(volumes_allowed=volumes),
    }
    return policy(**{**defaults, **kw})


def c3_pods() -> dict[str, PodFacts]:
    """Pods of n1, by first name."""
    sts = "StatefulSet"
    pods = [
        pod("web-7f-aaaaa", request_bytes=768 * MI, limit_bytes=GI),
        pod("crunch-0", ns="batch", kind=sts, request_bytes=GI, limit_bytes=4 * GI, volumes=frozenset({"pvc"})),
        pod("cache-5d-bbbbb", ns="data", request_bytes=4 * GI, limit_bytes=4 * GI, priority=1000, qos="Guaranteed"),
        pod("dns-66-ccccc", ns="kube-system", request_bytes=70 * MI, priority=2_000_000_000),
        pod("agent-ddddd", ns="logging", kind="DaemonSet", qos="BestEffort"),
        pod("report-9c-eeeee", qos="BestEffort"),
    ]
    return {p.name.split("-")[0]: p for p in pods}


def c3_usages(at: float = T0) -> dict[str, PodUsage]:
    """Working sets by first name."""
    sizes = {"web": 900, "crunch": 3584, "cache": 2048, "dns": 60, "agent": 700, "report": 1536}
    return {name: usage(size * MI, at=at) for name, size in sizes.items()}


def c3(
    pods: dict[str, PodFacts] | None = None,
    usages: dict[str, PodUsage] | None = None,
    *,
    mem: MemoryFacts | None = None,
    at: float = T0,
    ready: dict[str, int] | None = None,
    node: NodeFacts | None = None,
    **kw: Any,
) -> Observation:
    """n1 as observed; every part can be replaced."""
    pods = pods if pods is not None else c3_pods()
    usages = usages if usages is not None else c3_usages(at)
    counts = {"web": 3, "crunch": 1, "cache": 2, "dns": 2, "report": 2, **(ready or {})}
    workloads = {
        ref: replace(facts, desired_replicas=max(facts.desired_replicas, 2 if ref.name != "crunch" else 1))
        for ref, facts in workloads_of(pods.values(), **counts).items()
    }
    mem = mem or memory(Level.ORANGE, 16 * GI, 1.2 * GI, at=at)
    peers = (peer("n2", allocatable=16 * GI), peer("n3", allocatable=16 * GI))
    cluster = ClusterFacts(
        node or NodeFacts("n1", allocatable_bytes=16 * GI),
        tuple(pods.values()),
        workloads,
        kw.pop("budgets", ()),
        (),
        kw.pop("peers", peers),
    )
    by_uid = {pods[name].uid: used for name, used in usages.items() if name in pods}
    levels = kw.pop("levels", {"n1": mem.level, "n2": Level.GREEN, "n3": Level.GREEN})
    fleet = kw.pop("fleet", FleetFacts(levels))
    values: dict[str, Any] = {
        "memory": mem,
        "cluster": cluster,
        "usages": by_uid,
        "silences": SilenceFacts(),
        "fleet": fleet,
    }
    return Observation("n1", at, **{**values, **kw})


def victims(decision: Decision) -> list[str]:
    """First names of the pods a decision evicts."""
    return [a.pod.split("-")[0] for a in evictions(decision)]


def evictions(decision: Decision) -> list[Action]:
    """Eviction steps of a decision."""
    return [a for a in decision.plan.actions if a.kind is ActionKind.EVICT] if decision.plan else []


def c3_look(obs: Observation, pol: Policy | None = None, state: NodeState | None = None, now: float = T0) -> Decision:
    """One decision on C3, nudged by A1."""
    return look(obs, pol or c3_policy(), state, now, A1)
