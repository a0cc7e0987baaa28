"""Koordinator's three strategies against the golden vectors (koordinator.yaml), and their settings."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from core_world import GI, T0, look, memory, observation, pod, policy, situation, usage

from remediator.core import releases
from remediator.core.candidates import look_up
from remediator.core.koordinator import (
    BATCH_MEMORY,
    MID_MEMORY,
    Ledger,
    demands,
    ledgers,
    policy_allows,
    resolved_priority,
    usage_release,
)
from remediator.core.model import Level, NodeFacts, PodFacts, Strategy
from remediator.core.policy import Policy
from remediator.core.reason import Reason
from remediator.core.state import ActionKind, Decision, NodeState
from remediator.core.strategy_policy import (
    KoordinatorPolicy,
    NodeThresholds,
    Thresholds,
    UnreadableStrategyConfig,
    followed,
    from_config_map,
    in_force,
    merged,
    problems,
    warnings,
)

GOLDEN = yaml.safe_load((Path(__file__).parent / "koordinator.yaml").read_text())
ALL = (Strategy.BE_MEMORY_EVICT, Strategy.MEMORY_EVICT, Strategy.MEMORY_ALLOCATABLE_EVICT)
CLASSES = {"mid": (MID_MEMORY, 7500), "batch": (BATCH_MEMORY, 5500)}


def size(text: object) -> int:
    """`21.4G`, `15Gi` or a number, in bytes."""
    word = str(text)
    for unit, factor in (("Gi", 2**30), ("G", 10**9)):
        if word.endswith(unit):
            return round(float(word.removesuffix(unit)) * factor)
    return int(word)


def koordinator_policy(*strategies: Strategy, max_pods: int = 50, **thresholds: Any) -> Policy:
    """Only these strategies; the pressure strategy evicts nobody (undeclared pods are protected)."""
    settings = KoordinatorPolicy(strategies, Thresholds(**thresholds), max_pods_per_round=max_pods)
    return policy(koordinator=settings, safe_used_ratio=1.0)


def koordinator_pod(spec: dict[str, Any]) -> tuple[PodFacts, int]:
    """A pod of the golden file; all opt in unless they say otherwise."""
    labels = {"koordinator.sh/eviction-enabled": spec.get("eviction_enabled", "true")}
    if "koordinator_qos" in spec:
        labels = {"koordinator.sh/qosClass": spec["koordinator_qos"]} | (
            {"koordinator.sh/eviction-enabled": spec["eviction_enabled"]} if "eviction_enabled" in spec else {}
        )
    if "label_priority" in spec:
        labels["koordinator.sh/priority"] = str(spec["label_priority"])
    made = pod(
        spec["name"],
        kind="Job",
        owner=spec["name"],
        labels=labels,
        priority=spec.get("priority"),
        phase=spec.get("phase", "Running"),
    )
    return made, size(spec["usage"])


def decide_on(specs: list[dict[str, Any]], pol: Policy, capacity: str = "120G", used: str = "115G") -> Decision:
    """One decision on a node of the golden file."""
    made = [koordinator_pod(spec) for spec in specs]
    pods = [replace(p, workload=None) for p, _ in made]
    mem = memory(Level.RED, size(capacity), size(capacity) - size(used))
    guards = replace(pol.safeguards, min_pod_share_ratio=0.0)
    caps = replace(pol.caps, evictions_per_hour=100, evictions_per_namespace_per_hour=100)
    usages = {p.uid: usage(held) for p, held in made}
    return look(observation(pods, usages, mem), replace(pol, safeguards=guards, caps=caps))


def taken(decision: Decision, strategy: Strategy | None = None) -> list[str]:
    """Who goes, by which strategy."""
    actions = decision.plan.actions if decision.plan else ()
    found = [a for a in actions if a.kind is ActionKind.EVICT]
    return [a.pod for a in found if strategy is None or a.strategy is strategy]


@pytest.mark.parametrize("case", GOLDEN["usage"], ids=lambda case: case["name"])
def test_golden_usage(case: dict[str, Any]) -> None:
    """When usage fires, and how much it releases."""
    over = Thresholds(memory_evict_threshold_percent=case["threshold"], memory_evict_lower_percent=case["lower"])
    thresholds = merged(KoordinatorPolicy(cluster=over), {})
    if "error" in case:
        assert case["error"] in problems(Strategy.BE_MEMORY_EVICT, thresholds)
        return
    release = usage_release(size(case["used"]), size(case["capacity"]), thresholds)
    assert release == pytest.approx(size(case["release"]), abs=1)
    assert (release > 0) is case["fires"]


@pytest.mark.parametrize("case", GOLDEN["be_memory_evict"]["cases"], ids=str)
def test_golden_be_memory_evict(case: dict[str, Any]) -> None:
    """BE pods in order of priority and usage; nothing is dropped from the walk."""
    specs = [{**spec, "koordinator_qos": "BE"} for spec in GOLDEN["be_memory_evict"]["pods"]]
    others = [
        {"name": "other", "priority": 1, "usage": "30G"},
        {"name": "ls", "koordinator_qos": "LS", "priority": 1, "usage": "30G"},
    ]
    pol = koordinator_policy(
        Strategy.BE_MEMORY_EVICT,
        memory_evict_threshold_percent=case["threshold"],
        memory_evict_lower_percent=case["lower"],
    )
    assert taken(decide_on([*specs, *others], pol)) == case["evicts"]


def test_golden_memory_evict_order_and_exclusions() -> None:
    """Priority, label priority, usage; failed, opted-out and too important pods are left alone."""
    block = GOLDEN["memory_evict"]
    pol = koordinator_policy(
        Strategy.MEMORY_EVICT,
        memory_evict_threshold_percent=50,
        memory_evict_lower_percent=10,
        evict_enabled_priority_threshold=3000,
    )
    decision = decide_on([*block["excluded"], *reversed(block["order"])], pol)
    assert taken(decision) == [spec["name"] for spec in block["order"]]


@pytest.mark.parametrize("case", GOLDEN["memory_evict"]["eviction_policy"], ids=str)
def test_golden_eviction_policy(case: dict[str, Any]) -> None:
    """Absent allows all, unparsable or empty allows none."""
    annotations = {} if case["annotation"] is None else {"koordinator.sh/eviction-policy": case["annotation"]}
    assert policy_allows(pod("a-1", annotations=annotations), Strategy.MEMORY_EVICT) is case["allowed"]


@pytest.mark.parametrize("case", GOLDEN["memory_evict"]["resolved_priority"], ids=str)
def test_golden_resolved_priority(case: dict[str, Any]) -> None:
    """spec.priority, class label, QoS."""
    labels = {}
    if "koordinator_qos" in case:
        labels["koordinator.sh/qosClass"] = case["koordinator_qos"]
    if "priority_class_label" in case:
        labels["koordinator.sh/priority-class"] = case["priority_class_label"]
    made = pod("a-1", priority=case["priority"], qos=case.get("qos", "Burstable"), labels=labels)
    assert resolved_priority(made) == case["resolved"]


@pytest.mark.parametrize("case", GOLDEN["memory_allocatable_evict"], ids=lambda case: case["name"])
def test_golden_memory_allocatable_evict(case: dict[str, Any]) -> None:
    """Each class by its own ledger; zero after a while, absent is unknown."""
    pods = []
    for name, requests in case["requested"].items():
        resource, priority = CLASSES[name]
        for i, asked in enumerate(requests):
            pods.append(
                pod(
                    f"{name}{i}-1",
                    priority=priority,
                    extended_requests={resource: size(asked)},
                    labels={"koordinator.sh/eviction-enabled": "true"},
                )
            )
    ledgers = {CLASSES[name][0]: size(value) for name, value in case["allocatable"].items()}
    node = NodeFacts("n1", allocatable_bytes=200 * GI, extended_allocatable=ledgers)
    pol = koordinator_policy(
        Strategy.MEMORY_ALLOCATABLE_EVICT,
        memory_allocatable_evict_threshold_percent=case["threshold"],
        memory_allocatable_evict_lower_percent=case["lower"],
        allocatable_evict_priority_threshold=case["priority_threshold"],
    )
    pol = replace(pol, safeguards=replace(pol.safeguards, min_pod_share_ratio=0.0))
    mem = memory(Level.GREEN, 200 * GI, 100 * GI)
    held = case.get("after_seconds_at_zero", 0)
    state = NodeState(ledger_zero_since=tuple((name, T0 - held) for name, value in ledgers.items() if not value))
    found = demands(node, tuple(pods), mem, state, pol, T0)
    assert {name: found[0].request_bytes.get(CLASSES[name][0], 0) for name in case["release"]} == {
        name: size(value) for name, value in case["release"].items()
    }
    assert len(found[0].request_bytes) == len(case["release"])
    assert [CLASSES[name][0] for name in case.get("unknown", [])] == list(found[0].unknown)
    decision = look(observation(pods, {p.uid: usage(GI) for p in pods}, mem, node=node), pol, state)
    if "evicts_class" in case:
        assert taken(decision) and all(name.startswith(case["evicts_class"]) for name in taken(decision))
    if case.get("unknown"):
        assert Reason.LEDGER_UNKNOWN in {r.reason for r in decision.reasons}
    if held:
        early = replace(state, ledger_zero_since=((BATCH_MEMORY, T0 - held + 1),))
        assert demands(node, tuple(pods), mem, early, pol, T0)[0].request_bytes == {}


def test_golden_nothing_twice() -> None:
    """A victim is credited once to every ledger it relieves and never chosen twice."""
    block = GOLDEN["nothing_twice"]
    be = koordinator_policy(Strategy.BE_MEMORY_EVICT, memory_evict_threshold_percent=82, memory_evict_lower_percent=74)
    decision = decide_on(block["pods"], be)
    assert taken(decision) == block["expect"]["BEMemoryEvict"]
    both = koordinator_policy(
        Strategy.BE_MEMORY_EVICT,
        Strategy.MEMORY_EVICT,
        memory_evict_threshold_percent=82,
        memory_evict_lower_percent=74,
        evict_enabled_priority_threshold=block["evictEnabledPriorityThreshold"],
    )
    # The file gives MemoryEvict a lower percentage of its own; one node has one, so its demand is set apart.
    s = situation_of(block["pods"], both)
    deeper = replace(s.demands[1], usage_bytes=size("31.0G"))
    s = replace(s, demands=(s.demands[0], deeper))
    served, _, _ = releases._served(s, releases.open_books(s, look_up(s, (), "", Strategy.MEMORY_EVICT)))
    by = {strategy: [c.pod.name for c, of in served if of is strategy] for strategy in ALL}
    assert by[Strategy.BE_MEMORY_EVICT] == block["expect"]["BEMemoryEvict"]
    assert by[Strategy.MEMORY_EVICT] == block["expect"]["MemoryEvict"]


def situation_of(specs: list[dict[str, Any]], pol: Policy) -> Any:
    """The golden node as a situation."""
    made = [koordinator_pod(spec) for spec in specs]
    pods = [replace(p, workload=None) for p, _ in made]
    mem = memory(Level.RED, size("120G"), size("5G"))
    return situation(observation(pods, {p.uid: usage(held) for p, held in made}, mem), pol)


def test_a_declared_critical_pod_is_protected_from_strategies_too() -> None:
    """The labels are an opt-in; `critical` binds all the same."""
    pol = koordinator_policy(Strategy.BE_MEMORY_EVICT, memory_evict_threshold_percent=50)
    made, held = koordinator_pod({"name": "a", "koordinator_qos": "BE", "priority": 1, "usage": "60G"})
    made = replace(made, annotations={"remediator.io/business-tier": "critical"})
    mem = memory(Level.RED, size("120G"), size("5G"))
    decision = look(observation([made], {made.uid: usage(held)}, mem), pol)
    assert taken(decision) == []


def test_strategies_fire_below_yellow_and_the_episode_lasts_while_they_do() -> None:
    """Their thresholds are their own: a GREEN node at 72 % may be over 70."""
    pol = koordinator_policy(Strategy.BE_MEMORY_EVICT)
    made, held = koordinator_pod({"name": "a", "koordinator_qos": "BE", "priority": 1, "usage": "60G"})
    mem = memory(Level.GREEN, size("100G"), size("28G"))
    decision = look(observation([made], {made.uid: usage(held)}, mem), pol)
    assert taken(decision) == ["a"]
    assert decision.plan is not None and [a.kind for a in decision.plan.actions] == [ActionKind.EVICT]


def test_refused_settings_are_told_and_nothing_runs() -> None:
    """MemoryEvict without its priority threshold refuses to run."""
    pol = koordinator_policy(Strategy.MEMORY_EVICT)
    decision = decide_on([{"name": "a", "priority": 1, "usage": "60G"}], pol)
    assert taken(decision) == []
    assert Reason.STRATEGY_REFUSED in {r.reason for r in decision.reasons}


def test_enable_false_turns_all_off() -> None:
    """One word for all three."""
    pol = koordinator_policy(*ALL, enable=False, memory_evict_threshold_percent=10)
    assert taken(decide_on([{"name": "a", "koordinator_qos": "BE", "priority": 1, "usage": "60G"}], pol)) == []


@pytest.mark.parametrize(
    ("strategy", "thresholds", "problem"),
    [
        (Strategy.MEMORY_EVICT, Thresholds(memory_evict_threshold_percent=70), "evictEnabledPriorityThreshold"),
        (Strategy.BE_MEMORY_EVICT, Thresholds(memory_evict_threshold_percent=0), "memoryEvictThresholdPercent"),
        (Strategy.BE_MEMORY_EVICT, Thresholds(memory_evict_threshold_percent=1), "memoryEvictLowerPercent"),
        (Strategy.MEMORY_ALLOCATABLE_EVICT, Thresholds(), "memoryAllocatableEvictThresholdPercent"),
        (
            Strategy.MEMORY_ALLOCATABLE_EVICT,
            Thresholds(None, None, None, None, 80, 80, 5999),
            "must be below memoryAllocatableEvictThresholdPercent",
        ),
        (
            Strategy.MEMORY_ALLOCATABLE_EVICT,
            Thresholds(None, None, None, None, 80, 70, 8000),
            "allocatableEvictPriorityThreshold",
        ),
    ],
)
def test_invalid_settings_are_named(strategy: Strategy, thresholds: Thresholds, problem: str) -> None:
    """By the field's name in Koordinator's own spelling."""
    assert any(problem in found for found in problems(strategy, thresholds))


def test_allocatable_percent_may_exceed_100() -> None:
    """Over-commitment is what the ledger is for."""
    assert problems(Strategy.MEMORY_ALLOCATABLE_EVICT, Thresholds(None, None, None, None, 110, 100, 5999)) == ()


def test_a_threshold_that_reaches_production_is_warned_of() -> None:
    """8000 and above."""
    assert warnings(Strategy.MEMORY_EVICT, Thresholds(evict_enabled_priority_threshold=9000))
    assert not warnings(Strategy.MEMORY_EVICT, Thresholds(evict_enabled_priority_threshold=7999))


def test_node_strategies_first_match_over_cluster_over_defaults() -> None:
    """By non-null fields; a node's own list order decides; an empty selector matches nobody."""
    text = json.dumps(
        {
            "clusterStrategy": {"memoryEvictThresholdPercent": 80, "evictEnabledPriorityThreshold": 5999},
            "nodeStrategies": [
                {"nodeSelector": {"matchLabels": {}}, "memoryEvictThresholdPercent": 10},
                {"nodeSelector": {"matchLabels": {"pool": "a"}}, "memoryEvictThresholdPercent": 60},
                {"nodeSelector": {"matchLabels": {"pool": "a"}}, "memoryEvictLowerPercent": 50},
            ],
        }
    )
    parsed = from_config_map(text, ALL)
    on_a, elsewhere = merged(parsed, {"pool": "a"}), merged(parsed, {})
    assert (on_a.memory_evict_threshold_percent, on_a.evict_enabled_priority_threshold) == (60, 5999)
    assert (on_a.lower_percent, elsewhere.memory_evict_threshold_percent) == (58, 80)
    assert merged(KoordinatorPolicy(nodes=(NodeThresholds({}, Thresholds(enable=False)),)), {}).enable is True


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{", "not JSON"),
        ("[]", "must be an object"),
        ('{"clusterStrategy": {"enable": "yes"}}', "clusterStrategy.enable"),
        ('{"clusterStrategy": {"memoryEvictThresholdPercent": "70"}}', "memoryEvictThresholdPercent"),
        ('{"clusterStrategy": {"evictEnabledPriorityThreshold": 1.5}}', "evictEnabledPriorityThreshold"),
        ('{"nodeStrategies": {}}', "nodeStrategies"),
        ('{"nodeStrategies": [{"nodeSelector": {"matchExpressions": [1]}}]}', "nodeStrategies[0]"),
    ],
)
def test_unreadable_config_maps_name_the_field(text: str, where: str) -> None:
    """So that the last good settings stay, loudly."""
    with pytest.raises(UnreadableStrategyConfig, match=where.replace("[", r"\[").replace("]", r"\]")):
        from_config_map(text, ALL)


def test_ledgers_for_the_gauges_tell_absent_from_zero() -> None:
    """`present` is its own figure; requests are counted at or under the priority threshold."""
    node = NodeFacts("n1", extended_allocatable={BATCH_MEMORY: 0})
    pods = (
        pod("b-1", priority=5500, extended_requests={BATCH_MEMORY: GI}),
        pod("m-1", priority=7500, extended_requests={MID_MEMORY: 2 * GI}),
        pod("done-1", priority=5500, phase="Succeeded", extended_requests={BATCH_MEMORY: GI}),
    )
    found = {ledger.resource: ledger for ledger in ledgers(node, pods, policy())}
    assert found[BATCH_MEMORY] == Ledger(BATCH_MEMORY, True, 0, GI)
    assert found[MID_MEMORY] == Ledger(MID_MEMORY, False, 0, 2 * GI)
    narrow = koordinator_policy(Strategy.MEMORY_ALLOCATABLE_EVICT, allocatable_evict_priority_threshold=5999)
    assert {ledger.resource: ledger.requested_bytes for ledger in ledgers(node, pods, narrow)}[MID_MEMORY] == 0


# --- settings that change while we run --------------------------------------------------------------------

BATCH_NODE = {"pool": "batch"}


def settings(percent: float, **on_batch: float) -> KoordinatorPolicy:
    """BEMemoryEvict from this percentage on; nodes of the batch pool have their own settings laid over."""
    nodes = (NodeThresholds(BATCH_NODE, Thresholds(**on_batch)),) if on_batch else ()
    cluster = Thresholds(memory_evict_threshold_percent=percent)
    return KoordinatorPolicy((Strategy.BE_MEMORY_EVICT,), cluster, nodes)


def threshold(policy_now: KoordinatorPolicy, labels: dict[str, str]) -> tuple[float | None, bool]:
    """(percentage in force on a node, whether newer settings are refused there)."""
    found, refused = in_force(policy_now, Strategy.BE_MEMORY_EVICT, labels)
    return found.memory_evict_threshold_percent, bool(refused)


def test_refused_settings_leave_the_last_good_ones_of_that_node() -> None:
    """Only where the merged result cannot run; the other nodes follow the newest settings."""
    bad = followed(settings(70), settings(80, memory_evict_lower_percent=90))
    worse = followed(bad, settings(85, memory_evict_lower_percent=95))
    assert [threshold(worse, {}), threshold(worse, BATCH_NODE)] == [(85, False), (70, True)]
    mended = followed(worse, settings(75, memory_evict_lower_percent=60))
    assert threshold(mended, BATCH_NODE) == (75, False)


def test_what_never_could_run_does_not_run_and_is_told() -> None:
    """No last good settings: no demand, and the reason is given."""
    pods = [pod("be-1", labels={"koordinator.sh/qosClass": "BE"})]
    bad = replace(policy(koordinator=settings(120)), safe_used_ratio=1.0)
    obs = observation(pods, {pods[0].uid: usage(50 * GI)}, memory(Level.GREEN, 64 * GI, 2 * GI))
    decision = look(obs, bad)
    assert decision.plan is None
    assert Reason.STRATEGY_REFUSED in {reason.reason for reason in decision.reasons}


def test_best_effort_pods_that_nobody_declared_go_as_offline_ones_do() -> None:
    """Several of one workload in one plan: Koordinator's labels say that they serve nobody."""
    labels = {"koordinator.sh/qosClass": "BE"}
    pods = [pod(f"be-{n}", labels=labels) for n in range(4)]
    obs = observation(pods, {p.uid: usage(8 * GI) for p in pods}, memory(Level.YELLOW, 64 * GI, 8 * GI))
    decision = look(obs, replace(policy(koordinator=settings(70)), safe_used_ratio=1.0))
    assert decision.plan is not None
    assert len([a for a in decision.plan.actions if a.kind is ActionKind.EVICT]) == 2
