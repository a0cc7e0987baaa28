"""Koordinator's thresholds and ledgers as gauges."""

from dataclasses import replace

from prometheus_client import REGISTRY

from remediator.core.model import NodeFacts, PodFacts, Strategy, Unknown
from remediator.core.policy import Policy
from remediator.core.strategy_policy import KoordinatorPolicy, NodeThresholds, Thresholds
from remediator.reconciler.gauging import StrategyGauges
from tests.reconciler.world import Eyes, World

BATCH = "kubernetes.io/batch-memory"
ALL = (Strategy.BE_MEMORY_EVICT, Strategy.MEMORY_ALLOCATABLE_EVICT)
ON = Thresholds(
    memory_evict_threshold_percent=70,
    memory_allocatable_evict_threshold_percent=110,
    memory_allocatable_evict_lower_percent=100,
    allocatable_evict_priority_threshold=5999,
)


class Fleet(Eyes):
    """Nodes and who asks for extended memory, as the test says."""

    def __init__(self) -> None:
        super().__init__(World())
        self.answer = {}

    def ledger_holders(self):
        """What was said."""
        return self.answer


def value(name: str, **labels: str) -> float | None:
    """A gauge's value; None when there is no such series."""
    return REGISTRY.get_sample_value(name, labels)


def policy(*nodes: NodeThresholds, strategies: tuple[Strategy, ...] = ALL) -> Policy:
    """With these strategies."""
    return Policy(koordinator=KoordinatorPolicy(strategies, ON, nodes))


def test_every_node_s_thresholds_and_ledgers_are_shown_and_go_with_it() -> None:
    """Absent is not zero; a node that went and a strategy that was switched off leave nothing behind."""
    fleet = Fleet()
    pod = PodFacts("b", "p", "u", priority=5500, extended_requests={BATCH: 6})
    fleet.answer = {"a": (NodeFacts("a", extended_allocatable={BATCH: 20}), (pod,)), "b": (NodeFacts("b"), ())}
    gauges = StrategyGauges(fleet)
    gauges.update(policy())
    threshold = "remediator_strategy_threshold_ratio"
    assert value(threshold, node="a", strategy="BEMemoryEvict", edge="enter") == 0.7
    assert value(threshold, node="b", strategy="MemoryAllocatableEvict", edge="enter") == 1.1
    ledger = [value(f"remediator_ledger_{n}", node="a", resource=BATCH) for n in ("present", "allocatable_bytes")]
    assert ledger == [1, 20]
    assert value("remediator_ledger_requested_bytes", node="a", resource=BATCH) == 6
    assert value("remediator_ledger_present", node="b", resource=BATCH) == 0
    assert value("remediator_ledger_allocatable_bytes", node="b", resource=BATCH) is None
    del fleet.answer["b"]
    gauges.update(policy(strategies=(Strategy.BE_MEMORY_EVICT,)))
    assert value(threshold, node="b", strategy="BEMemoryEvict", edge="enter") is None
    assert value("remediator_ledger_present", node="a", resource=BATCH) is None
    gauges.update(policy(strategies=()))
    assert value(threshold, node="a", strategy="BEMemoryEvict", edge="enter") is None


def test_refused_settings_are_counted_and_switched_off_nodes_show_nothing() -> None:
    """Nodes whose settings cannot run, by strategy; `enable: false` is no refusal."""
    fleet, bad = Fleet(), Thresholds(memory_evict_lower_percent=90)
    fleet.answer = {n: (NodeFacts(n, labels={"pool": n}), ()) for n in ("good", "bad", "off")}
    gauges = StrategyGauges(fleet)
    off = NodeThresholds({"pool": "off"}, Thresholds(enable=False))
    gauges.update(policy(NodeThresholds({"pool": "bad"}, bad), off))
    threshold = "remediator_strategy_threshold_ratio"
    shown = [value(threshold, node=n, strategy="BEMemoryEvict", edge="enter") for n in ("good", "bad", "off")]
    assert shown == [0.7, None, None]
    assert value("remediator_strategy_refused_nodes", strategy="BEMemoryEvict") == 1
    gauges.update(policy(strategies=()))


def test_a_fleet_that_cannot_be_read_leaves_the_gauges_as_they_are() -> None:
    """The rules bridge a minute; a gap at once would end an alert that holds."""
    fleet = Fleet()
    fleet.answer = {"a": (NodeFacts("a"), ())}
    gauges = StrategyGauges(fleet)
    gauges.update(policy())
    fleet.answer = Unknown("kubernetes", "gone")
    gauges.update(replace(policy()))
    assert value("remediator_strategy_threshold_ratio", node="a", strategy="BEMemoryEvict", edge="enter") == 0.7
    fleet.answer = {}
    gauges.update(policy(strategies=()))
