"""Koordinator's thresholds and ledgers as gauges, for every node: what the strategies' alert rules compare.

Written by every resync from one reading of the fleet; a node that went, or a strategy that was switched off, takes its
series along. Two replicas export the same figures. Nothing is decided here.
"""

import logging
from collections.abc import Iterator

from prometheus_client import Gauge

from remediator import metrics as gauges
from remediator.core.koordinator import ROUND_ORDER, ledgers
from remediator.core.model import NodeFacts, PodFacts, Strategy, Unknown
from remediator.core.policy import Policy
from remediator.core.strategy_policy import in_force, merged, problems
from remediator.reconciler.ports import Cluster

log = logging.getLogger(__name__)
Series = tuple[Gauge, tuple[str, ...], float]


class StrategyGauges:
    """The gauges of one process."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._shown: set[tuple[Gauge, tuple[str, ...]]] = set()

    def update(self, policy: Policy) -> None:
        """Read the fleet and show it; without strategies nothing is read and nothing shown."""
        found: list[Series] = []
        if policy.koordinator.strategies:
            holders = self._cluster.ledger_holders()
            if isinstance(holders, Unknown):
                log.warning("the gauges of Koordinator's strategies stay as they are: %s", holders.why)
                return
            for node, pods in holders.values():
                found += _of_node(node, pods, policy)
            found += _refused([node for node, _ in holders.values()], policy)
        for gauge, labels, value in found:
            gauge.labels(*labels).set(value)
        shown = {(gauge, labels) for gauge, labels, _ in found}
        for gauge, labels in self._shown - shown:
            gauge.remove(*labels)
        self._shown = shown


def _of_node(node: NodeFacts, pods: tuple[PodFacts, ...], policy: Policy) -> Iterator[Series]:
    if merged(policy.koordinator, node.labels).enable is False:
        return
    for strategy in policy.koordinator.strategies:
        settings, _ = in_force(policy.koordinator, strategy, node.labels)
        percent = settings.memory_evict_threshold_percent
        if strategy is Strategy.MEMORY_ALLOCATABLE_EVICT:
            percent = settings.memory_allocatable_evict_threshold_percent
        if percent is not None and not problems(strategy, settings):
            yield gauges.STRATEGY_THRESHOLD, (node.name, strategy.value, "enter"), percent / 100
    if Strategy.MEMORY_ALLOCATABLE_EVICT in policy.koordinator.strategies:
        for ledger in ledgers(node, pods, policy):
            labels = node.name, ledger.resource
            yield gauges.LEDGER_PRESENT, labels, int(ledger.present)
            if ledger.present:
                yield gauges.LEDGER_ALLOCATABLE, labels, ledger.allocatable_bytes
            yield gauges.LEDGER_REQUESTED, labels, ledger.requested_bytes


def _refused(nodes: list[NodeFacts], policy: Policy) -> Iterator[Series]:
    for strategy in ROUND_ORDER:
        if strategy in policy.koordinator.strategies:
            refused = sum(bool(in_force(policy.koordinator, strategy, node.labels)[1]) for node in nodes)
            yield gauges.STRATEGY_REFUSED, (strategy.value,), refused
