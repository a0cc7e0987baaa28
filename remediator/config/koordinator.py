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
    memory_evict_threshold_percent: Annotated[Percent | None, Field(alias="memoryEvictThresholdPercent")] = None
    memory_evict_lower_percent: Annotated[Percent | None, Field(alias="memoryEvictLowerPercent")] = None
    evict_enabled_priority_threshold: Annotated[StrictInt | None, Field(alias="evictEnabledPriorityThreshold")] = None
    memory_allocatable_evict_threshold_percent: Annotated[
        Percent | None, Field(alias="memoryAllocatableEvictThresholdPercent")
    ] = None
    memory_allocatable_evict_lower_percent: Annotated[
        Percent | None, Field(alias="memoryAllocatableEvictLowerPercent")
    ] = None
    allocatable_evict_priority_threshold: Annotated[
        StrictInt | None, Field(alias="allocatableEvictPriorityThreshold")
    ] = None

    def to_thresholds(self) -> Thresholds:
        """The core's values."""
        return Thresholds(**{name: getattr(self, name) for name in ThresholdsSection.model_fields})


class NodeStrategySection(ThresholdsSection):
    """Thresholds of the nodes whose labels match."""

    node_selector: Annotated[Labels, Field(min_length=1, alias="nodeSelector")]


class KoordinatorSection(Section):
    """Which strategies run, and with which thresholds."""

    strategies: tuple[Feature, ...] = ()
    cluster: Annotated[ThresholdsSection, Field(alias="clusterStrategy")] = ThresholdsSection()
    nodes: Annotated[tuple[NodeStrategySection, ...], Field(alias="nodeStrategies")] = ()
    max_pods_per_round: Count = KoordinatorPolicy().max_pods_per_round
    config_map: StrictStr = ""

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
