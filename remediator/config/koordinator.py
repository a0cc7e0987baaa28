"""Koordinator's settings in the policy file, under Koordinator's own names, so that they can be copied over.

Only the merged result of a node can be judged (core/strategy_policy.py); here the cluster-wide settings are, which
every node without an own entry gets.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StrictInt, StrictStr, field_validator, model_validator

from remediator.config.sections import Count, Labels, Section
from remediator.core.model import Strategy
from remediator.core.strategy_policy import KoordinatorPolicy, NodeThresholds, Thresholds, merged, problems

Percent = Annotated[float, Field(ge=0, strict=True)]
Feature = Literal["BEMemoryEvict", "MemoryEvict", "MemoryAllocatableEvict"]


class ThresholdsSection(Section):
    """Koordinator's thresholds; what is left out comes from the cluster's, then from Koordinator's defaults."""

    enable: StrictBool | None = None
    """false turns all three strategies off."""
    memory_evict_threshold_percent: Annotated[Percent | None, Field(alias="memoryEvictThresholdPercent")] = None
    """BEMemoryEvict and MemoryEvict fire when this share of the node is used. Left out: 70."""
    memory_evict_lower_percent: Annotated[Percent | None, Field(alias="memoryEvictLowerPercent")] = None
    """They free down to this, which must be below the threshold. Left out: the threshold less 2."""
    evict_enabled_priority_threshold: Annotated[StrictInt | None, Field(alias="evictEnabledPriorityThreshold")] = None
    """MemoryEvict takes pods of this priority and below; must be given. Danger: above 7999 it reaches online pods."""
    memory_allocatable_evict_threshold_percent: Annotated[
        Percent | None, Field(alias="memoryAllocatableEvictThresholdPercent")
    ] = None
    """MemoryAllocatableEvict fires when a class requests more than this share of its allocatable; may exceed 100."""
    memory_allocatable_evict_lower_percent: Annotated[
        Percent | None, Field(alias="memoryAllocatableEvictLowerPercent")
    ] = None
    """It frees down to this, which must be below its threshold."""
    allocatable_evict_priority_threshold: Annotated[
        StrictInt | None, Field(alias="allocatableEvictPriorityThreshold")
    ] = None
    """It takes pods of this priority and below, 0 to 7999; must be given."""

    def to_thresholds(self) -> Thresholds:
        """The core's values."""
        return Thresholds(**{name: getattr(self, name) for name in ThresholdsSection.model_fields})


class NodeStrategySection(ThresholdsSection):
    """Thresholds of the nodes whose labels match."""

    node_selector: Annotated[Labels, Field(min_length=1, alias="nodeSelector")]
    """Labels that the node must carry, all of them; the first row that matches is laid over clusterStrategy."""


class KoordinatorSection(Section):
    """Which strategies run, and with which thresholds."""

    strategies: tuple[Feature, ...] = ()
    """Those that run; empty: none. Danger: they obey Koordinator's labels, not tiers (`critical` still protects)."""
    cluster: Annotated[ThresholdsSection, Field(alias="clusterStrategy")] = ThresholdsSection()
    """Thresholds of all nodes."""
    nodes: Annotated[tuple[NodeStrategySection, ...], Field(alias="nodeStrategies")] = ()
    """Thresholds of some nodes."""
    max_pods_per_round: Count = KoordinatorPolicy().max_pods_per_round
    """Pods that all strategies together may evict in a round."""
    config_map: StrictStr = ""
    """NAMESPACE/NAME of Koordinator's ConfigMap: thresholds are read live from there, and may not be given here."""

    @field_validator("config_map")
    @classmethod
    def _namespace_and_name(cls, given: str) -> str:
        if given and not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?", given):
            raise ValueError(f"{given!r} is no NAMESPACE/NAME, for example koordinator-system/slo-controller-config")
        return given

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.config_map and self.model_fields_set.intersection(("cluster", "nodes")):
            raise ValueError(
                "config_map is where the thresholds come from: leave out clusterStrategy and nodeStrategies"
            )
        return self

    @model_validator(mode="after")
    def _may_run(self) -> Self:
        policy = self.to_policy()
        found = [f"{name}: {why}" for name in policy.strategies for why in problems(name, merged(policy, {}))]
        if found and not self.nodes and not self.config_map:
            raise ValueError("; ".join(found))
        return self

    def to_policy(self) -> KoordinatorPolicy:
        """The core's policy."""
        return KoordinatorPolicy(
            strategies=tuple(Strategy(name) for name in self.strategies),
            cluster=self.cluster.to_thresholds(),
            nodes=tuple(NodeThresholds(node.node_selector, node.to_thresholds()) for node in self.nodes),
            max_pods_per_round=self.max_pods_per_round,
            config_map=self.config_map,
        )
