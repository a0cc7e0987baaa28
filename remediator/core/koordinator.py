"""Koordinator's three strategies: when each fires, how much it releases, whom it may ask.

Percentages are floating point and compared as Koordinator states them (usage: >=, requests: >). The walk, the
books and the filters are the ones of the pressure strategy; the labels below are an opt-in of their own, so
tiers and controllers are not asked for, but a declared `critical` protects.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from remediator.core.model import MemoryFacts, NodeFacts, PodFacts, Strategy
from remediator.core.policy import Policy
from remediator.core.state import NodeState
from remediator.core.strategy_policy import Thresholds, in_force, merged, problems

QOS_LABEL = "koordinator.sh/qosClass"
CLASS_LABEL = "koordinator.sh/priority-class"
PRIORITY_LABEL = "koordinator.sh/priority"
ENABLED_LABEL = "koordinator.sh/eviction-enabled"
POLICY_ANNOTATION = "koordinator.sh/eviction-policy"
MID_MEMORY = "kubernetes.io/mid-memory"
BATCH_MEMORY = "kubernetes.io/batch-memory"
LEDGERS = (MID_MEMORY, BATCH_MEMORY)
ROUND_ORDER = (Strategy.BE_MEMORY_EVICT, Strategy.MEMORY_ALLOCATABLE_EVICT, Strategy.MEMORY_EVICT)
BY_CLASS = {"koord-prod": 9500, "koord-mid": 7500, "koord-batch": 5500, "koord-free": 3500}


@dataclass(frozen=True, slots=True)
class Demand:
    """What one strategy asks for: bytes of node usage, or bytes of requests by resource."""

    strategy: Strategy
    thresholds: Thresholds
    usage_bytes: int = 0
    request_bytes: Mapping[str, int] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    """Ledgers that the node does not have: no action, told."""
    refused: tuple[str, ...] = ()
    """Why the newest settings cannot run; then the last good ones are in force, or nothing is asked for."""

    @property
    def bytes(self) -> int:
        """All of it."""
        return self.usage_bytes + sum(self.request_bytes.values())


def resolved_priority(pod: PodFacts) -> int:
    """spec.priority when set and not 0; else by class label; else by QoS."""
    if pod.priority:
        return pod.priority
    by_class = BY_CLASS.get(pod.labels.get(CLASS_LABEL, ""))
    if by_class is not None:
        return by_class
    qos = pod.labels.get(QOS_LABEL) or ("BE" if pod.qos == "BestEffort" else "LS")
    return 5500 if qos == "BE" else 9500


def label_priority(pod: PodFacts) -> int:
    """`koordinator.sh/priority`, default (also when unreadable) the resolved priority."""
    try:
        return int(pod.labels[PRIORITY_LABEL])
    except (KeyError, ValueError):
        return resolved_priority(pod)


def policy_allows(pod: PodFacts, strategy: Strategy) -> bool:
    """The eviction-policy annotation: absent allows all, unparsable or empty allows none."""
    text = pod.annotations.get(POLICY_ANNOTATION)
    if text is None:
        return True
    try:
        allowed = json.loads(text)
    except ValueError:
        return False
    return isinstance(allowed, list) and strategy.value in allowed


def usage_release(used_bytes: int, total_bytes: int, thresholds: Thresholds) -> int:
    """Bytes down to the lower percentage when used/total is at the threshold or above, else 0."""
    threshold = thresholds.memory_evict_threshold_percent or 0.0
    if total_bytes <= 0 or 100.0 * used_bytes / total_bytes < threshold:
        return 0
    return max(0, round(used_bytes - thresholds.lower_percent / 100.0 * total_bytes))


def requested(pods: Iterable[PodFacts], resource: str, priority_threshold: int) -> int:
    """Requests of Running and Pending pods at or under the priority threshold."""
    return sum(
        pod.extended_requests.get(resource, 0)
        for pod in pods
        if pod.phase in ("Running", "Pending") and resolved_priority(pod) <= priority_threshold
    )


@dataclass(frozen=True, slots=True)
class Ledger:
    """One class's ledger on one node, for the gauges (bytes); `present` tells absent from zero."""

    resource: str
    present: bool
    allocatable_bytes: int
    requested_bytes: int


def ledgers(node: NodeFacts, pods: Iterable[PodFacts], policy: Policy) -> tuple[Ledger, ...]:
    """Both ledgers of a node, as MemoryAllocatableEvict sees them (all classes when it is not set up)."""
    settings, _ = in_force(policy.koordinator, Strategy.MEMORY_ALLOCATABLE_EVICT, node.labels)
    most = settings.allocatable_evict_priority_threshold
    pods, found = tuple(pods), node.extended_allocatable
    limit = 7999 if most is None else most
    return tuple(Ledger(r, r in found, found.get(r, 0), requested(pods, r, limit)) for r in LEDGERS)


def ledger_release(
    allocatable_bytes: int,
    requested_bytes: int,
    zero_for_seconds: float | None,
    t: Thresholds,
    policy: Policy,
) -> int:
    """Bytes of requests down to the lower percentage when over the threshold, else 0.

    A ledger at zero makes everything eligible over, once it has been zero for a while.
    """
    if allocatable_bytes <= 0:
        long_enough = zero_for_seconds is not None and zero_for_seconds >= policy.timers.ledger_zero_seconds
        return requested_bytes if long_enough else 0
    threshold, lower = t.memory_allocatable_evict_threshold_percent, t.memory_allocatable_evict_lower_percent
    if 100.0 * requested_bytes / allocatable_bytes <= (threshold or 0.0):
        return 0
    return max(0, round(requested_bytes - (lower or 0.0) / 100.0 * allocatable_bytes))


def ledger_demand(
    node: NodeFacts, pods: tuple[PodFacts, ...], state: NodeState, t: Thresholds, policy: Policy, now: float
) -> Demand:
    """MemoryAllocatableEvict: each class by its own ledger."""
    release: dict[str, int] = {}
    unknown: list[str] = []
    since = dict(state.ledger_zero_since)
    for resource in LEDGERS:
        most = t.allocatable_evict_priority_threshold or 0
        leaving = requested([p for p in pods if p.terminating_since is not None], resource, most)
        asked = requested(pods, resource, most)
        if not asked:
            continue
        if resource not in node.extended_allocatable:
            unknown.append(resource)
            continue
        zero_for = now - since[resource] if resource in since else None
        bytes_ = ledger_release(node.extended_allocatable[resource], asked, zero_for, t, policy)
        if bytes_ > leaving:
            release[resource] = bytes_ - leaving
    strategy = Strategy.MEMORY_ALLOCATABLE_EVICT
    return Demand(strategy, t, request_bytes=release, unknown=tuple(unknown))


def demands(
    node: NodeFacts,
    pods: tuple[PodFacts, ...],
    memory: MemoryFacts,
    state: NodeState,
    policy: Policy,
    now: float,
    pending_bytes: int = 0,
) -> tuple[Demand, ...]:
    """What each enabled strategy asks for on this node, in the order in which they are served.

    Memory on its way (`pending_bytes`, terminating pods' requests) is credited.
    """
    koordinator = policy.koordinator
    if not koordinator.strategies or merged(koordinator, node.labels).enable is False:
        return ()
    asked = []
    for strategy in ROUND_ORDER:
        if strategy not in koordinator.strategies:
            continue
        thresholds, refused = in_force(koordinator, strategy, node.labels)
        if refused and problems(strategy, thresholds):
            demand = Demand(strategy, thresholds)
        elif strategy is Strategy.MEMORY_ALLOCATABLE_EVICT:
            demand = ledger_demand(node, pods, state, thresholds, policy, now)
        else:
            release = usage_release(memory.used_bytes, memory.total_bytes, thresholds)
            demand = Demand(strategy, thresholds, usage_bytes=max(0, release - pending_bytes))
        asked.append(replace(demand, refused=refused))
    return tuple(asked)


def opted_in(pod: PodFacts, demand: Demand, resource: str = "") -> bool:
    """Whether the strategy may ask this pod."""
    if not policy_allows(pod, demand.strategy):
        return False
    if demand.strategy is Strategy.BE_MEMORY_EVICT:
        return pod.labels.get(QOS_LABEL) == "BE"
    by_request = demand.strategy is Strategy.MEMORY_ALLOCATABLE_EVICT
    threshold = (
        demand.thresholds.allocatable_evict_priority_threshold
        if by_request
        else demand.thresholds.evict_enabled_priority_threshold
    )
    if threshold is None or resolved_priority(pod) > threshold or pod.labels.get(ENABLED_LABEL) != "true":
        return False
    return not by_request or pod.extended_requests.get(resource, 0) > 0
