"""The hard filters, one table: each with the pod that trips it and the reason that is shown."""

from dataclasses import replace
from typing import Any

import pytest
from core_c3 import c3, c3_look, c3_pods, c3_policy, c3_usages, victims
from core_world import GI, MI, T0, memory, peer, usage

from remediator.core.business import standing_of
from remediator.core.filters import FILTERS
from remediator.core.fitting import fits, tolerates
from remediator.core.model import (
    BudgetFacts,
    Level,
    Matcher,
    NodeFacts,
    PodFacts,
    Silence,
    SilenceFacts,
    Taint,
    Tier,
    WorkloadRef,
)
from remediator.core.policy import BusinessRule, Policy, Safeguards, default_ladder
from remediator.core.reason import SENTENCES, Reason
from remediator.core.state import Decision, EvictionRecord, NodeState, RankedPod


def job(**kw: Any) -> dict[str, Any]:
    """Turns report into a Job's pod."""
    return {"workload": WorkloadRef("shop", "Job", "report"), **kw}


POD_CASES: list[tuple[Reason, dict[str, Any]]] = [
    (Reason.NOT_RUNNING, {"phase": "Pending"}),
    (Reason.NOT_RUNNING, {"phase": "Succeeded"}),
    (Reason.NOT_RUNNING, {"phase": "Failed"}),
    (Reason.NOT_RUNNING, {"phase": "Unknown"}),
    (Reason.TERMINATING, {"terminating_since": T0 - 5, "finalizers": ("example.com/hold",)}),
    (Reason.MIRROR_POD, {"mirror": True}),
    (Reason.MIRROR_POD, {"workload": WorkloadRef("shop", "Node", "n1")}),
    (Reason.DAEMONSET_POD, {"workload": WorkloadRef("shop", "DaemonSet", "report")}),
    (Reason.NO_CONTROLLER, {"workload": None}),
    (Reason.SYSTEM_PRIORITY, {"priority": 2_000_000_000}),
    (Reason.SYSTEM_PRIORITY, {"priority_class": "system-node-critical"}),
    (Reason.PROTECTED_NAMESPACE, {"namespace": "kube-system"}),
    (Reason.OWN_COMPONENT, {"namespace": "remediator-system"}),
    (Reason.OWN_COMPONENT, {"workload": WorkloadRef("shop", "StatefulSet", "prometheus-main")}),
    (Reason.TIER_CRITICAL, {"annotations": {"remediator.io/business-tier": "critical"}}),
    (Reason.UNDECLARED, {"annotations": {"remediator.io/business-tier": "urgent"}}),
    (Reason.HELM_HOOK, {"annotations": {"helm.sh/hook": "pre-upgrade"}}),
    (Reason.OPTED_OUT, {"annotations": {"remediator.io/evict": "false"}}),
    (Reason.OPTED_OUT, {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}),
    (Reason.OPT_OUT_UNREADABLE, {"annotations": {"remediator.io/evict": "nope"}}),
    (Reason.PRIORITY_ABOVE_CEILING, {"priority": 100_001}),
    (Reason.HAS_VOLUME, {"volumes": frozenset({"pvc"})}),
    (Reason.HAS_VOLUME, {"volumes": frozenset({"hostPath", "emptyDir"})}),
    (Reason.TOO_YOUNG, {"created_at": T0 - 299}),
    (Reason.FITS_NOWHERE, {"node_selector": {"disk": "ssd"}}),
    (Reason.FITS_NOWHERE, {"request_bytes": 17 * GI}),
]


def filter_policy(**kw: Any) -> Policy:
    """C3's policy with a ceiling and a namespace of our own."""
    volumes = dict.fromkeys(Tier, ("emptyDir",))
    guards = Safeguards(volumes_allowed=volumes, own_namespaces=("remediator-system",), priority_ceiling=100_000)
    return c3_policy(**{"safeguards": guards, **kw})


def row(decision: Decision, name: str = "report") -> RankedPod:
    """A row of the ranking."""
    return next(r for r in decision.ranking if r.pod.startswith(name))


def case_id(value: Any) -> str:
    """The same in every process: the order in which a set is printed is not."""
    return " ".join(sorted(value)) if isinstance(value, dict) else str(value)


@pytest.mark.parametrize(("reason", "changes"), POD_CASES, ids=case_id)
def test_a_pod_that_trips_a_filter_is_left_alone_and_told_why(reason: Reason, changes: dict[str, Any]) -> None:
    """Each filter speaks with its own reason, a detail, and the pod is not chosen."""
    pods = c3_pods()
    pods["report"] = replace(pods["report"], **changes)
    decision = c3_look(c3(pods), filter_policy())
    found = row(decision)
    assert (found.reason, found.eligible) == (reason, False)
    assert found.detail
    assert "report" not in victims(decision)


def test_the_first_filter_wins() -> None:
    """A pod with every fault is told the first one of the order."""
    pods = c3_pods()
    pods["report"] = replace(
        pods["report"], mirror=True, priority=2_000_000_000, volumes=frozenset({"pvc"}), created_at=T0
    )
    assert row(c3_look(c3(pods))).reason is Reason.MIRROR_POD


def test_filters_are_in_the_documented_order() -> None:
    """One literal holds the order."""
    assert [check.__name__ for check in FILTERS] == [
        "not_running",
        "terminating",
        "mirror",
        "daemonset",
        "no_controller",
        "system_priority",
        "protected_namespace",
        "own_component",
        "critical",
        "tier_not_allowed",
        "undeclared",
        "helm_hook",
        "job_without_retries",
        "opted_out",
        "pod_silenced",
        "priority_ceiling",
        "volume",
        "limit_oom",
        "no_usage_sample",
        "too_young",
        "replicas",
        "being_evicted",
        "workload_cooldown",
        "budget",
        "too_small",
        "fits_nowhere_online",
    ]


def test_undeclared_is_protected_by_default() -> None:
    """Nobody is evicted before somebody said that he may be."""
    decision = c3_look(c3(), c3_policy(undeclared="protect"))
    assert victims(decision) == [] and row(decision).reason is Reason.UNDECLARED


def test_a_tier_the_level_does_not_evict_is_left_alone() -> None:
    """The ladder names tiers; `important` is not evicted at RED by default."""
    business = (BusinessRule(Tier.IMPORTANT, workload="report"),)
    mem = memory(Level.RED, 16 * GI, 1.2 * GI)
    decision = c3_look(c3(mem=mem), c3_policy(ladder=default_ladder(), business=business))
    assert row(decision).reason is Reason.TIER_NOT_ALLOWED
    assert "offline, low, standard" in row(decision).detail


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_jobs_count_as_offline_unless_declared(kind: str) -> None:
    """Also where undeclared workloads are protected."""
    pods = c3_pods()
    pods["report"] = replace(pods["report"], workload=WorkloadRef("shop", kind, "report"))
    decision = c3_look(c3(pods), c3_policy(undeclared="protect"))
    assert (row(decision).tier, victims(decision)) == (Tier.OFFLINE, ["report"])


def test_a_job_without_retries_is_protected() -> None:
    """backoffLimit 0: evicting it fails the Job."""
    pods = c3_pods()
    pods["report"] = replace(pods["report"], workload=WorkloadRef("shop", "Job", "report"))
    observation = c3(pods)
    ref = pods["report"].workload
    assert ref is not None
    workloads = {**observation.cluster.workloads}  # type: ignore[union-attr]
    workloads[ref] = replace(workloads[ref], backoff_limit=0)
    observation = replace(observation, cluster=replace(observation.cluster, workloads=workloads))  # type: ignore[type-var]
    assert row(c3_look(observation)).reason is Reason.JOB_WITHOUT_RETRIES


@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("namespace", "shop", True),
        ("workload", "report", True),
        ("pod", "report-9c-eeeee", True),
        ("namespace", "data", False),
        ("action", "evict", True),
        ("action", "cordon", False),
        ("tier", "standard", True),
    ],
)
def test_a_silence_protects_what_its_labels_name(name: str, value: str, held: bool) -> None:
    """`amtool silence add namespace=shop` and friends."""
    pods = {"report": c3_pods()["report"], "cache": c3_pods()["cache"]}
    usages = {"report": usage(6 * GI), "cache": usage(3 * GI)}
    silences = SilenceFacts((Silence("s", (Matcher(name, value),)),))
    decision = c3_look(c3(pods, usages, silences=silences))
    assert (row(decision).reason is Reason.POD_SILENCED) is held


def test_a_stale_sample_is_no_sample() -> None:
    """61 s old: not a candidate."""
    usages = {**c3_usages(), "report": usage(1536 * MI, at=T0 - 61)}
    assert row(c3_look(c3(usages=usages))).reason is Reason.NO_USAGE_SAMPLE


def test_a_young_pod_that_makes_the_node_grow_may_go() -> None:
    """Its own growth is more than half of the node's."""
    pods = c3_pods()
    pods["report"] = replace(pods["report"], created_at=T0 - 60)
    usages = {**c3_usages(), "report": usage(1536 * MI, growth_bytes_per_second=6e6)}
    mem = memory(Level.ORANGE, 16 * GI, 1.2 * GI, growth_bytes_per_second=10e6)
    assert victims(c3_look(c3(pods, usages, mem=mem))) == ["report"]
    half = {**usages, "report": usage(1536 * MI, growth_bytes_per_second=5e6)}
    assert row(c3_look(c3(pods, half, mem=mem))).reason is Reason.TOO_YOUNG


def test_single_replica_needs_consent() -> None:
    """By the policy, or by the row of the business table."""
    rules = (BusinessRule(Tier.LOW, workload="crunch", allow_single_replica=True, allow_volumes=("pvc",)),)
    assert victims(c3_look(c3(), c3_policy(business=rules))) == ["crunch"]
    assert row(c3_look(c3()), "crunch").reason is Reason.HAS_VOLUME


def test_min_ready_replicas_of_the_business_table_counts() -> None:
    """A row may ask for more ready pods than the default."""
    rules = (BusinessRule(Tier.STANDARD, workload="report", min_ready_replicas=2),)
    assert row(c3_look(c3(), c3_policy(business=rules))).reason is Reason.LAST_READY_REPLICA


def test_an_eviction_under_way_protects_its_workload() -> None:
    """An earlier plan's pod is still terminating, however long ago it was."""
    pods = c3_pods()
    pods["old"] = replace(pods["report"], name="old-1", uid="uid-old", terminating_since=T0 - 800)
    record = EvictionRecord("shop", "old-1", "uid-old", "shop/Deployment/report", "n1", "p", T0 - 800, GI)
    decision = c3_look(c3(pods), state=NodeState(evictions=(record,)))
    assert row(decision).reason is Reason.WORKLOAD_BEING_EVICTED


def test_cooldown_of_a_workload_ends() -> None:
    """Ten minutes later it may be disturbed again."""
    record = EvictionRecord(
        "shop", "old-1", "uid-old", "shop/Deployment/report", "n1", "p", T0 - 601, GI, gone_at=T0 - 590
    )
    assert victims(c3_look(c3(), state=NodeState(evictions=(record,)))) == ["report"]


def test_too_small_needs_both_shares() -> None:
    """Under 1 % of the target and under 100 MiB; one alone is not enough."""
    mem = memory(Level.ORANGE, 16 * GI, 1.2 * GI)
    small = {**c3_usages(), "report": usage(15 * MI)}
    assert row(c3_look(c3(usages=small, mem=mem))).reason is Reason.TOO_SMALL
    not_so = {**c3_usages(), "report": usage(30 * MI)}
    assert row(c3_look(c3(usages=not_so, mem=mem))).eligible


def test_offline_pods_may_wait_for_room() -> None:
    """No other node has room: for `offline` only a note."""
    pods = c3_pods()
    pods["report"] = replace(pods["report"], workload=WorkloadRef("shop", "Job", "report"))
    decision = c3_look(c3(pods, peers=()))
    assert victims(decision) == ["report"]
    assert any("its successor waits" in note for note in row(decision).notes)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "value": "true"}, True),
        ({"key": "gpu", "value": "false"}, False),
        ({"key": "cpu", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_tolerations_follow_kubernetes(toleration: dict[str, str], tolerated: bool) -> None:
    """Exists, Equal, empty key, empty effect."""
    assert tolerates([toleration], Taint("gpu", "true", "NoSchedule")) is tolerated


def test_fitting_looks_at_readiness_cordon_taints_selector_and_requests() -> None:
    """The scheduler's first look."""
    pod = PodFacts("a", "b", "c", request_bytes=GI, node_selector={"zone": "1"})
    good = NodeFacts("n2", labels={"zone": "1"}, allocatable_bytes=2 * GI, requested_bytes=GI)
    assert fits(pod, good)
    assert not fits(pod, replace(good, ready=False))
    assert not fits(pod, replace(good, unschedulable=True))
    assert not fits(pod, replace(good, labels={}))
    assert not fits(pod, replace(good, requested_bytes=GI + 1))
    assert not fits(pod, replace(good, taints=(Taint("x", "", "NoExecute"),)))
    assert fits(pod, replace(good, taints=(Taint("x", "", "PreferNoSchedule"),)))


def test_tier_comes_from_annotation_then_table_then_kind() -> None:
    """The first that says something wins; the row still supplies its other columns."""
    pod = c3_pods()["report"]
    rules = (
        BusinessRule(Tier.LOW, namespace="shop", kind="Deploy*", labels={"team": "x"}),
        BusinessRule(Tier.STANDARD, namespace="sh*", workload="rep*", min_ready_replicas=4),
        BusinessRule(Tier.CRITICAL),
    )
    policy = c3_policy(business=rules)
    assert standing_of(pod, None, policy).tier is Tier.STANDARD
    annotated = replace(pod, annotations={"remediator.io/business-tier": "Low "})
    standing = standing_of(annotated, None, policy)
    assert standing.tier is Tier.LOW and standing.rule is rules[1]
    assert standing_of(replace(pod, labels={"team": "x"}), None, policy).tier is Tier.LOW
    assert standing_of(replace(pod, namespace="data"), None, policy).tier is Tier.CRITICAL
    assert standing_of(pod, None, c3_policy(undeclared="low")).tier is Tier.LOW


def test_peers_at_their_limits_do_not_count() -> None:
    """A cordoned peer is no way out."""
    peers = (peer("n2", unschedulable=True), peer("n3", ready=False))
    assert row(c3_look(c3(peers=peers))).reason is Reason.FITS_NOWHERE


def test_budget_with_room_for_one_is_spent_once() -> None:
    """Two offline pods under one budget with one disruption left: one goes."""
    pods = c3_pods()
    ref = WorkloadRef("shop", "Job", "report")
    pods["report"] = replace(pods["report"], workload=ref)
    pods["second"] = replace(pods["report"], name="second-1", uid="uid-second")
    budget = BudgetFacts("shop", "b", frozenset({pods["report"].uid, "uid-second"}), 1)
    usages = {**c3_usages(), "second": usage(1536 * MI)}
    mem = memory(Level.RED, 16 * GI, 0.2 * GI)
    decision = c3_look(c3(pods, usages, mem=mem, budgets=(budget,)), c3_policy(ladder=default_ladder()))
    both = [r.reason for r in decision.ranking if r.uid in budget.pod_uids]
    assert sorted(both) == sorted([Reason.CHOSEN, Reason.DISRUPTION_BUDGET])


def test_every_reason_has_a_sentence() -> None:
    """A reason that nobody can read may not be given."""
    assert set(SENTENCES) == set(Reason)
    assert all(sentence and not sentence.endswith(".") for sentence in SENTENCES.values())
