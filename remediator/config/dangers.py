"""Legal but dangerous: what a policy allows that its author may not have meant.

Told by `check-config` and at start. A list of small checks, one sentence each; nothing here refuses anything.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from remediator.core.model import Level, Mode, Tier
from remediator.core.ordering import DISPENSABLE_FIRST
from remediator.core.policy import BusinessRule, LadderStep, Policy

_YELLOW_ENTRY = {"graded": 0.75, "sentinel": 0.85, "score": 0.75}
_SYSTEM_PRIORITY = 2_000_000_000
_CATCH_ALL: tuple[str, str, str, str, dict[str, str]] = ("*", "*", "*", "*", {})


def dangers(policy: Policy) -> tuple[str, ...]:
    """Sentences, one per danger, in the order of the policy file."""
    return tuple(sentence for check in _CHECKS for sentence in check(policy))


def _mode(policy: Policy) -> Iterator[str]:
    acting = {policy.mode, *(rule.mode for rule in policy.mode_rules)} & {Mode.APPROVE, Mode.ENFORCE}
    if acting and not policy.business and policy.undeclared == "protect":
        yield f"business is empty: in mode {min(acting)} only Jobs can be evicted, for nobody declared anything else"
    if policy.mode is Mode.ENFORCE and not policy.mode_rules:
        yield "mode: enforce acts on every node; try it on a few first, by modes: with a nodeSelector"


def _undeclared(policy: Policy) -> Iterator[str]:
    if policy.undeclared != "protect":
        yield f"undeclared: {policy.undeclared} lets workloads be evicted that nobody declared evictable"


def _business(policy: Policy) -> Iterator[str]:
    for index, rule in enumerate(policy.business):
        if _conditions(rule) != _CATCH_ALL:
            continue
        if index < len(policy.business) - 1:
            yield f"business[{index}] has no condition, matches every workload, and hides all rows after it"
        elif rule.tier is not Tier.CRITICAL:
            yield f"business[{index}] has no condition: every workload not named above it becomes {rule.tier}"


def _conditions(rule: BusinessRule) -> tuple[str, str, str, str, dict[str, str]]:
    return rule.namespace, rule.kind, rule.workload, rule.priority_class, dict(rule.labels)


def _ladder(policy: Policy) -> Iterator[str]:
    for level, step in sorted(policy.ladder.items()):
        name = f"ladder.{level.name.lower()}"
        if Tier.IMPORTANT in step.evict_tiers:
            yield f"{name}.evict_tiers names important: important pods may be evicted"
        if step.evict_tiers and level is Level.YELLOW:
            yield f"{name} evicts: YELLOW is an early warning that often passes by itself"
        yield from _rounds(name, step)


def _order(policy: Policy) -> Iterator[str]:
    """A lower level that does more than a higher one; levels that nobody is told of."""
    steps = sorted(policy.ladder.items())
    for (low, less), (high, more) in pairwise(steps):
        names = f"ladder.{low.name.lower()}", f"ladder.{high.name.lower()}"
        if less.cordon and not more.cordon:
            yield f"{names[0]} cordons and {names[1]} does not: the worse the node, the less is done"
        if less.max_pods_per_round > more.max_pods_per_round:
            yield f"{names[0]} evicts more pods a round than {names[1]}: the worse the node, the less is done"
    for level in (Level.YELLOW, Level.ORANGE, Level.RED):
        if not policy.ladder[level].notify:
            yield f"ladder.{level.name.lower()}.notify is false: nobody is told of {level.name}"


def _score(policy: Policy) -> Iterator[str]:
    if policy.weights.business < 0.2:
        yield f"weights.business {policy.weights.business:g}: within a tier importance hardly counts any more"
    importance = [policy.importance[tier] for tier in DISPENSABLE_FIRST]
    for (low, less), (high, more) in pairwise(zip(DISPENSABLE_FIRST, importance, strict=True)):
        if less >= more:
            yield f"importance: {low} ({less:g}) is not below {high} ({more:g}): the score speaks against the tiers"


def _rounds(name: str, step: LadderStep) -> Iterator[str]:
    if step.evict_tiers and not (step.max_pods_per_round and step.max_rounds):
        yield f"{name} names evict_tiers but max_pods_per_round or max_rounds is 0: nothing will be evicted"
    if step.max_pods_per_round * step.max_rounds > 10:
        yield f"{name} may evict {step.max_pods_per_round * step.max_rounds} pods of a node in one episode"


def _target(policy: Policy) -> Iterator[str]:
    entry = _YELLOW_ENTRY.get(policy.profile, 0.75)
    if policy.safe_used_ratio >= entry:
        yield f"safe_used_ratio {policy.safe_used_ratio:g} is not below YELLOW's entry {entry:g}: alerts stay"
    if policy.safe_used_ratio < 0.5:
        yield f"safe_used_ratio {policy.safe_used_ratio:g} frees more than half of a node for one alert"


def _caps(policy: Policy) -> Iterator[str]:
    for name in ("nodes_acting", "evictions_per_hour", "evictions_per_namespace_per_hour"):
        if getattr(policy.caps, name) == 0:
            yield f"caps.{name} 0: nothing will ever be done; mode observe says so more clearly"
    if policy.caps.evictions_per_hour > 60:
        yield f"caps.evictions_per_hour {policy.caps.evictions_per_hour} hardly limits anything"
    if policy.caps.nodes_cordoned_ratio > 0.34:
        yield "caps.nodes_cordoned_ratio lets more than a third of the nodes be cordoned at once"
    if policy.caps.storm_red_ratio > 0.6:
        yield "caps.storm_red_ratio: the storm brake comes so late that a fault of all nodes is acted upon"


def _safeguards(policy: Policy) -> Iterator[str]:
    guards = policy.safeguards
    if "kube-system" not in guards.protected_namespaces:
        yield "safeguards.protected_namespaces leaves out kube-system"
    if guards.priority_ceiling is not None and guards.priority_ceiling >= guards.system_priority:
        yield f"safeguards.priority_ceiling {guards.priority_ceiling} is not below system priorities: it holds nobody"
    if guards.system_priority > _SYSTEM_PRIORITY:
        yield f"safeguards.system_priority above {_SYSTEM_PRIORITY}: system-critical pods may be evicted"
    if guards.force_delete:
        yield "safeguards.force_delete kills pods that outlive their grace period; data may be lost"
    if guards.min_ready_replicas == 0:
        yield "safeguards.min_ready_replicas 0: the last ready pod of a workload may be evicted"
    if guards.allow_single_replica:
        yield "safeguards.allow_single_replica: evicting a workload's only pod is an outage"
    if guards.min_age_seconds == 0:
        yield "safeguards.min_age_seconds 0: a pod that has just been moved may be evicted again"
    if guards.silence_cache_for_red_seconds > 0:
        yield "safeguards.silence_cache_for_red_seconds: at RED a silence set meanwhile may be missed"
    if guards.min_pod_share_ratio == 0:
        yield "safeguards.min_pod_share_ratio 0: pods are evicted although the memory is held outside of pods"


def _timers(policy: Policy) -> Iterator[str]:
    timers = policy.timers
    if timers.node_cooldown_seconds < 60:
        yield "timers.node_cooldown_seconds under 60 s: a node may be acted upon again and again"
    if timers.settle_seconds < 30:
        yield "timers.settle_seconds under 30 s: a round may begin before the last one's memory is back"


_CHECKS: tuple[Callable[[Policy], Iterator[str]], ...] = (
    _mode,
    _undeclared,
    _business,
    _ladder,
    _order,
    _score,
    _target,
    _caps,
    _safeguards,
    _timers,
)
