"""Koordinator's settings: typed, merged per node, validated. Nothing is computed from figures here.

The same shapes serve the policy file and Koordinator's own ConfigMap (`slo-controller-config`, key
`resource-threshold-config`): `clusterStrategy`, and `nodeStrategies[]` with label selectors. First match in
list order, laid over clusterStrategy, laid over the defaults, by non-null fields. Only the merged result is
judged.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from remediator.core.model import Strategy

PROD_FROM = 8000
"""Priority thresholds above 7999 reach production pods: legal for MemoryEvict, and warned of."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """One node's settings; None: not said. Percentages as written (70 is 70 %)."""

    enable: bool | None = None
    memory_evict_threshold_percent: float | None = None
    memory_evict_lower_percent: float | None = None
    evict_enabled_priority_threshold: int | None = None
    memory_allocatable_evict_threshold_percent: float | None = None
    memory_allocatable_evict_lower_percent: float | None = None
    allocatable_evict_priority_threshold: int | None = None

    @property
    def lower_percent(self) -> float:
        """Where usage is brought down to; two points under the threshold unless said otherwise."""
        if self.memory_evict_lower_percent is not None:
            return self.memory_evict_lower_percent
        return (self.memory_evict_threshold_percent or 0.0) - 2


DEFAULTS = Thresholds(enable=True, memory_evict_threshold_percent=70.0)
CAMEL = {
    "enable": "enable",
    "memory_evict_threshold_percent": "memoryEvictThresholdPercent",
    "memory_evict_lower_percent": "memoryEvictLowerPercent",
    "evict_enabled_priority_threshold": "evictEnabledPriorityThreshold",
    "memory_allocatable_evict_threshold_percent": "memoryAllocatableEvictThresholdPercent",
    "memory_allocatable_evict_lower_percent": "memoryAllocatableEvictLowerPercent",
    "allocatable_evict_priority_threshold": "allocatableEvictPriorityThreshold",
}


@dataclass(frozen=True, slots=True)
class NodeThresholds:
    """Settings for the nodes whose labels match; an empty selector matches none."""

    node_selector: Mapping[str, str]
    thresholds: Thresholds


@dataclass(frozen=True, slots=True)
class KoordinatorPolicy:
    """Which strategies run, and with which settings."""

    strategies: tuple[Strategy, ...] = ()
    cluster: Thresholds = Thresholds()
    nodes: tuple[NodeThresholds, ...] = ()
    max_pods_per_round: int = 3
    config_map: str = ""
    """namespace/name of Koordinator's own ConfigMap, read live; empty: `cluster` and `nodes` are the policy file's."""
    earlier: tuple["Settings", ...] = ()
    """What stood there before, newest first: where settings cannot run on a node, the last that could stay in force."""


KEPT_SETTINGS = 5


@dataclass(frozen=True, slots=True)
class Settings:
    """One state of the settings of all nodes."""

    cluster: Thresholds
    nodes: tuple[NodeThresholds, ...]


class UnreadableStrategyConfig(Exception):  # noqa: N818 - named as what it is
    """The ConfigMap cannot be read; the last good settings stay in force."""


def followed(before: KoordinatorPolicy, after: KoordinatorPolicy) -> KoordinatorPolicy:
    """The later settings, which remember the earlier ones."""
    earlier = (Settings(before.cluster, before.nodes), *before.earlier)[:KEPT_SETTINGS]
    return replace(after, earlier=earlier)


def in_force(
    policy: KoordinatorPolicy, strategy: Strategy, labels: Mapping[str, str]
) -> tuple[Thresholds, tuple[str, ...]]:
    """(a strategy's settings on a node with these labels, why the newest ones are refused).

    Refused ones give way to the last that could run; where none could, they are given and nothing may run by them.
    """
    newest = merged(policy, labels)
    refused = problems(strategy, newest)
    if refused:
        for settings in policy.earlier:
            found = merged(settings, labels)
            if not problems(strategy, found):
                return found, refused
    return newest, refused


def merged(policy: KoordinatorPolicy | Settings, labels: Mapping[str, str]) -> Thresholds:
    """The newest settings of a node with these labels, valid or not."""
    over = next((n.thresholds for n in policy.nodes if _matches(n.node_selector, labels)), Thresholds())
    return _laid_over(_laid_over(DEFAULTS, policy.cluster), over)


def _matches(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _laid_over(below: Thresholds, above: Thresholds) -> Thresholds:
    said = {f.name: v for f in fields(above) if (v := getattr(above, f.name)) is not None}
    return replace(below, **said)


def problems(strategy: Strategy, t: Thresholds) -> tuple[str, ...]:
    """Why a strategy cannot run with these merged settings; empty when it can."""
    if strategy is Strategy.MEMORY_ALLOCATABLE_EVICT:
        return _allocatable_problems(t)
    found = []
    threshold = t.memory_evict_threshold_percent
    if threshold is None or not 0 < threshold <= 100:
        found.append("memoryEvictThresholdPercent must be above 0 and at most 100")
    elif t.lower_percent >= threshold:
        found.append("memoryEvictLowerPercent must be below memoryEvictThresholdPercent")
    elif t.lower_percent < 0:
        found.append("memoryEvictLowerPercent must be 0 or more")
    if strategy is Strategy.MEMORY_EVICT and t.evict_enabled_priority_threshold is None:
        found.append("evictEnabledPriorityThreshold must be set for MemoryEvict")
    return tuple(found)


def _allocatable_problems(t: Thresholds) -> tuple[str, ...]:
    found = []
    threshold = t.memory_allocatable_evict_threshold_percent
    lower = t.memory_allocatable_evict_lower_percent
    priority = t.allocatable_evict_priority_threshold
    if threshold is None or threshold <= 0:
        found.append("memoryAllocatableEvictThresholdPercent must be set, and above 0")
    if lower is None or lower < 0:
        found.append("memoryAllocatableEvictLowerPercent must be set, and 0 or more")
    if threshold is not None and lower is not None and lower >= threshold:
        found.append("memoryAllocatableEvictLowerPercent must be below memoryAllocatableEvictThresholdPercent")
    if priority is None or not 0 <= priority < PROD_FROM:
        found.append("allocatableEvictPriorityThreshold must be set, 0..7999")
    return tuple(found)


def warnings(strategy: Strategy, t: Thresholds) -> tuple[str, ...]:
    """Legal, and dangerous."""
    priority = t.evict_enabled_priority_threshold
    if strategy is Strategy.MEMORY_EVICT and priority is not None and priority >= PROD_FROM:
        return (f"evictEnabledPriorityThreshold {priority} reaches production pods (8000 and above)",)
    return ()


def from_config_map(text: str, strategies: tuple[Strategy, ...]) -> KoordinatorPolicy:
    """Parse the value of `resource-threshold-config`. Raises UnreadableStrategyConfig naming the field."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UnreadableStrategyConfig(f"resource-threshold-config is not JSON: {error}") from None
    root = _mapping(document, "resource-threshold-config")
    cluster = _thresholds(_mapping(root.get("clusterStrategy") or {}, "clusterStrategy"), "clusterStrategy")
    items = root.get("nodeStrategies")
    items = [] if items is None else items
    if not isinstance(items, list):
        raise UnreadableStrategyConfig("nodeStrategies must be a list")
    nodes = tuple(_node_thresholds(item, f"nodeStrategies[{i}]") for i, item in enumerate(items))
    return KoordinatorPolicy(strategies, cluster, nodes)


def _node_thresholds(item: object, where: str) -> NodeThresholds:
    entry = _mapping(item, where)
    selector = _mapping(entry.get("nodeSelector") or {}, f"{where}.nodeSelector")
    labels = _mapping(selector.get("matchLabels") or {}, f"{where}.nodeSelector.matchLabels")
    if selector.get("matchExpressions"):
        raise UnreadableStrategyConfig(f"{where}.nodeSelector.matchExpressions is not supported: use matchLabels")
    if not all(isinstance(value, str) for value in labels.values()):
        raise UnreadableStrategyConfig(f"{where}.nodeSelector.matchLabels must map names to strings")
    return NodeThresholds({key: str(value) for key, value in labels.items()}, _thresholds(entry, where))


def _mapping(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise UnreadableStrategyConfig(f"{where} must be an object")
    return value


def _thresholds(entry: Mapping[str, object], where: str) -> Thresholds:
    enable = entry.get("enable")
    if enable is not None and not isinstance(enable, bool):
        raise UnreadableStrategyConfig(f"{where}.enable must be true or false")

    def number(name: str) -> float | None:
        value = entry.get(CAMEL[name])
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UnreadableStrategyConfig(f"{where}.{CAMEL[name]} must be a number")
        return float(value)

    def whole(name: str) -> int | None:
        value = number(name)
        if value is not None and value != int(value):
            raise UnreadableStrategyConfig(f"{where}.{CAMEL[name]} must be a whole number")
        return None if value is None else int(value)

    return Thresholds(
        enable=enable,
        memory_evict_threshold_percent=number("memory_evict_threshold_percent"),
        memory_evict_lower_percent=number("memory_evict_lower_percent"),
        evict_enabled_priority_threshold=whole("evict_enabled_priority_threshold"),
        memory_allocatable_evict_threshold_percent=number("memory_allocatable_evict_threshold_percent"),
        memory_allocatable_evict_lower_percent=number("memory_allocatable_evict_lower_percent"),
        allocatable_evict_priority_threshold=whole("allocatable_evict_priority_threshold"),
    )
