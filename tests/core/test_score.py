"""The eviction score, part by part, and the orders."""

import pytest
from core_c3 import c3, c3_look
from core_world import GI, look, memory, observation, pod, policy, storm_policy, usage

from remediator.core.model import Level, Tier, WorkloadFacts, WorkloadRef
from remediator.core.ordering import kubelet_ranks
from remediator.core.score import memory_part, restart_part, score_of, startup_seconds

REF = WorkloadRef("shop", "Deployment", "web")


@pytest.mark.parametrize(
    ("used", "requested", "need", "part"),
    [
        (150, 100, 0, 100),
        (125, 100, 0, 50),
        (100, 100, 0, 0),
        (50, 100, 0, 0),
        (1000, 100, 0, 100),
        (50, 0, 100, 50),
        (200, 0, 100, 100),
        (50, 0, 0, 0),
    ],
)
def test_memory_part(used: int, requested: int, need: int, part: float) -> None:
    """150 % of its request is the full 100; without a request the share of the need."""
    assert memory_part(used, requested, need) == pytest.approx(part)


@pytest.mark.parametrize(("seconds", "part"), [(0, 100), (150, 50), (300, 0), (3000, 0), (None, 50)])
def test_restart_part(seconds: float | None, part: float) -> None:
    """Quick starters go first; unknown is the middle."""
    assert restart_part(seconds) == pytest.approx(part)


@pytest.mark.parametrize(
    ("annotations", "measured", "seconds"),
    [
        ({"remediator.io/startup-seconds": "10"}, 99.0, 10.0),
        ({"remediator.io/startup-seconds": "soon"}, 99.0, 99.0),
        ({"remediator.io/startup-seconds": "-1"}, 99.0, 99.0),
        ({"remediator.io/startup-seconds": "inf"}, None, None),
        ({}, None, None),
    ],
)
def test_startup_is_declared_or_measured(
    annotations: dict[str, str], measured: float | None, seconds: float | None
) -> None:
    """An unreadable declaration counts as none."""
    facts = WorkloadFacts(REF, 3, 3, startup_seconds=measured)
    assert startup_seconds(pod("web-1", annotations=annotations), facts) == seconds


@pytest.mark.parametrize(
    ("tier", "business"),
    [(Tier.CRITICAL, 0), (Tier.IMPORTANT, 20), (Tier.STANDARD, 50), (Tier.LOW, 80), (Tier.OFFLINE, 100)],
)
def test_business_part_is_100_less_importance(tier: Tier, business: float) -> None:
    """The documented five."""
    assert score_of(pod("web-1"), None, tier, 0, 0, policy()).business == business


def test_spark_and_shipper_of_the_storm() -> None:
    """0.4*100 + 0.3*100 + 0.2*96.7 + 0.1*50 = 94.3, and 86.3 for the shipper."""
    facts = WorkloadFacts(REF, 1, 1, startup_seconds=10)
    spark = pod("spark-1", request_bytes=6 * GI)
    shipper = pod("shipper-1", request_bytes=2 * GI)
    assert score_of(spark, facts, Tier.OFFLINE, 9 * GI, 0, storm_policy()).total == pytest.approx(94.33, abs=0.01)
    assert score_of(shipper, facts, Tier.LOW, 3 * GI, 0, storm_policy()).total == pytest.approx(86.33, abs=0.01)


def test_tier_dominates_the_score() -> None:
    """An offline pod with the lowest score still goes before a standard one with the highest."""
    pods = [
        pod("lazy-1", kind="Job", qos="Guaranteed", request_bytes=4 * GI),
        pod("greedy-1", qos="BestEffort"),
    ]
    usages = {"uid-lazy-1": usage(4 * GI), "uid-greedy-1": usage(4 * GI)}
    decision = look(observation(pods, usages, memory(Level.RED, 10 * GI, 1 * GI)), policy(undeclared="standard"))
    ranked = [r.pod for r in decision.ranking]
    assert ranked == ["lazy-1", "greedy-1"]
    assert decision.ranking[0].score and decision.ranking[1].score
    assert decision.ranking[0].score.total < decision.ranking[1].score.total


def test_kubelet_takes_exceeders_first_then_priority_then_overshoot() -> None:
    """The kubelet's three keys; a pod without stats comes first, critical ones never."""
    pods = (
        pod("within", request_bytes=4 * GI),
        pod("over-small", request_bytes=GI),
        pod("over-big", request_bytes=GI),
        pod("over-prio", request_bytes=GI, priority=1000),
        pod("nostats"),
        pod("static", mirror=True),
        pod("system", priority=2_000_000_000),
    )
    sizes = {"within": 3 * GI, "over-small": 2 * GI, "over-big": 3 * GI, "over-prio": 9 * GI, "system": 9 * GI}
    usages = {f"uid-{name}": usage(size) for name, size in sizes.items()}
    ranks = kubelet_ranks(pods, usages, 2_000_000_000)
    order = [uid.removeprefix("uid-") for uid in sorted(ranks, key=lambda uid: ranks[uid])]
    assert order == ["nostats", "over-big", "over-small", "over-prio", "within"]


def test_c3_ranking_shows_whom_the_kubelet_would_have_taken() -> None:
    """On C3 the kubelet takes crunch: 2.5 GiB over its request, single replica or not."""
    rows = {r.pod: r for r in c3_look(c3()).ranking}
    assert rows["crunch-0"].kubelet_rank == 1
    assert rows["report-9c-eeeee"].kubelet_rank == 2


@pytest.mark.parametrize(
    ("kind", "own", "annotations", "expected"),
    [
        ("Deployment", 30, {}, 30),
        ("StatefulSet", 30, {}, 60),
        ("StatefulSet", 120, {}, 120),
        ("Job", 30, {}, 5),
        ("Job", 2, {}, 2),
        ("Deployment", 30, {"remediator.io/grace-period-seconds": "7"}, 7),
        ("Deployment", 30, {"remediator.io/grace-period-seconds": "long"}, 30),
    ],
)
def test_grace_period(kind: str, own: int, annotations: dict[str, str], expected: int) -> None:
    """Annotation, else StatefulSets 60 s and never under their own, offline 5 s, others their own."""
    pods = [pod("a-1", kind=kind, grace_period_seconds=own, annotations=annotations)]
    mem = memory(Level.RED, 4 * GI, 0.2 * GI)
    decision = look(observation(pods, {"uid-a-1": usage(3 * GI)}, mem), policy(undeclared="standard"))
    assert decision.plan is not None
    assert decision.plan.actions[-1].grace_period_seconds == expected
