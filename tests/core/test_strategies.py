"""Selection for a target: covered, nobody unneeded, one single pod where that is as good; properties of the order."""

from dataclasses import replace

from core_world import GI, MI, T0, look, memory, observation, pod, policy, situation, storm_policy, usage, workloads_of
from hypothesis import given, settings
from hypothesis import strategies as st

from remediator.core.candidates import rank
from remediator.core.model import Level, MemoryFacts, PodFacts, PodUsage, Tier
from remediator.core.policy import BusinessRule, LadderStep, Policy, Safeguards, default_ladder
from remediator.core.reason import Reason
from remediator.core.state import Action, ActionKind, Decision

TIERS = (Tier.OFFLINE, Tier.LOW, Tier.STANDARD)


def wide(pods: int = 50, **kw: object) -> Policy:
    """RED takes as many pods as it needs; tiers by annotation."""
    red = LadderStep(cordon=True, evict_tiers=TIERS, max_pods_per_round=pods, max_rounds=3)
    caps = replace(policy().caps, evictions_per_hour=1000, evictions_per_namespace_per_hour=1000)
    guards = Safeguards(min_pod_share_ratio=0)
    values = {
        "safeguards": guards,
        "ladder": {**default_ladder(), Level.RED: red},
        "undeclared": "standard",
        "caps": caps,
        **kw,
    }
    return policy(**values)


def evictions(decision: Decision) -> list[Action]:
    """Eviction steps."""
    return [a for a in decision.plan.actions if a.kind is ActionKind.EVICT] if decision.plan else []


def names(decision: Decision) -> list[str]:
    """Who goes."""
    return [a.pod for a in evictions(decision)]


def offline(name: str, **kw: object) -> PodFacts:
    """A Job's pod."""
    return pod(name, kind="Job", **kw)


def need(gib: float, pods_gib: float = 40) -> MemoryFacts:
    """A RED node whose release target is `gib` with the default safe level of 70 %."""
    return memory(Level.RED, 100 * GI, (30 - gib) * GI)


def test_pods_are_taken_in_order_until_covered() -> None:
    """Three of 10 GiB for 25."""
    pods = [offline(f"j{i}-1", request_bytes=10 * GI) for i in range(6)]
    usages = {p.uid: usage(10 * GI) for p in pods}
    decision = look(observation(pods, usages, need(25)), wide())
    assert len(names(decision)) == 3
    assert [r.reason for r in decision.ranking] == [Reason.CHOSEN] * 3 + [Reason.TARGET_COVERED] * 3


def test_who_is_not_needed_is_dropped_again() -> None:
    """A small first pod is struck out when a later one covers what is left."""
    pods = [
        offline("small-1", qos="BestEffort"),
        offline("mid-1", qos="BestEffort", request_bytes=30 * GI),
        offline("big-1", request_bytes=20 * GI, qos="Guaranteed"),
    ]
    sizes = {"uid-small-1": 1 * GI, "uid-mid-1": 20 * GI, "uid-big-1": 20 * GI}
    decision = look(observation(pods, {u: usage(s) for u, s in sizes.items()}, need(25)), wide())
    assert sorted(names(decision)) == ["big-1", "mid-1"]


def test_one_single_pod_near_the_first_is_preferred() -> None:
    """Same tier, within 10 points, covers everything: it alone goes."""
    pods = [
        offline("a-1", request_bytes=6 * GI),
        offline("b-1", request_bytes=6 * GI),
        offline("c-1", request_bytes=20 * GI),
    ]
    sizes = {"uid-a-1": 10 * GI, "uid-b-1": 10 * GI, "uid-c-1": 29 * GI}
    decision = look(observation(pods, {u: usage(s) for u, s in sizes.items()}, need(19)), wide())
    assert names(decision) == ["c-1"]
    assert "alone covers" in decision.ranking[-1].detail


def test_a_single_pod_of_another_tier_is_not_preferred() -> None:
    """The tier dominates."""
    pods = [
        offline("a-1", request_bytes=6 * GI),
        offline("b-1", request_bytes=6 * GI),
        pod("c-1", request_bytes=20 * GI),
    ]
    sizes = {"uid-a-1": 10 * GI, "uid-b-1": 10 * GI, "uid-c-1": 30 * GI}
    decision = look(observation(pods, {u: usage(s) for u, s in sizes.items()}, need(19)), wide())
    assert names(decision) == ["a-1", "b-1"]


def test_a_single_pod_far_behind_in_score_is_not_preferred() -> None:
    """More than 10 points behind the first."""
    pods = [
        offline("a-1", request_bytes=6 * GI),
        offline("b-1", request_bytes=6 * GI),
        offline("c-1", request_bytes=40 * GI),
    ]
    sizes = {"uid-a-1": 10 * GI, "uid-b-1": 10 * GI, "uid-c-1": 30 * GI}
    decision = look(observation(pods, {u: usage(s) for u, s in sizes.items()}, need(19)), wide())
    assert names(decision) == ["a-1", "b-1"]


def rounds_of(pods: int = 3, rounds: int = 3, per_namespace: int = 1000) -> Policy:
    """So many pods a round, so many rounds."""
    red = LadderStep(cordon=True, evict_tiers=TIERS, max_pods_per_round=pods, max_rounds=rounds)
    caps = replace(policy().caps, evictions_per_hour=1000, evictions_per_namespace_per_hour=per_namespace)
    return wide(ladder={**default_ladder(), Level.RED: red}, caps=caps)


def test_a_round_takes_nobody_whom_a_later_round_makes_needless() -> None:
    """Five pods are first in the order, but the sixth makes three of them needless: they do not go in round one."""
    small = [offline(f"small{i}-1", qos="BestEffort") for i in range(3)]
    large = [offline(f"large{i}-1", qos="Guaranteed", request_bytes=GI) for i in range(3)]
    sizes = {**{p.uid: 2 * GI for p in small}, **{p.uid: 9 * GI for p in large}}
    usages = {uid: usage(size) for uid, size in sizes.items()}
    decision = look(observation([*small, *large], usages, need(26)), rounds_of(pods=2))
    assert set(names(decision)) <= {p.name for p in large}


def test_large_offline_pods_go_before_services_have_to() -> None:
    """The hour's cap lets three offline pods go: the three that cover, not small ones and then a service."""
    small = [offline(f"small{i}-1", qos="BestEffort") for i in range(3)]
    large = [offline(f"large{i}-1", qos="Guaranteed", request_bytes=20 * GI) for i in range(3)]
    service = pod("web-1", ns="other", qos="BestEffort")
    sizes = {**{p.uid: 1 * GI for p in small}, **{p.uid: 8 * GI for p in large}, service.uid: 20 * GI}
    usages = {uid: usage(size) for uid, size in sizes.items()}
    pods = [*small, *large, service]
    decision = look(observation(pods, usages, need(24)), rounds_of(pods=3, rounds=1, per_namespace=3))
    assert set(names(decision)) == {p.name for p in large}


def test_size_never_chooses_among_services() -> None:
    """One pod may go and none covers: the first by score, though another would free more."""
    first, large = (
        pod("first-1", qos="BestEffort", request_bytes=GI),
        pod("large-1", qos="Guaranteed", request_bytes=20 * GI),
    )
    usages = {first.uid: usage(5 * GI), large.uid: usage(12 * GI)}
    decision = look(observation([first, large], usages, need(10)), rounds_of(pods=1, rounds=1))
    assert names(decision) == ["first-1"]


def test_of_one_workload_the_pod_that_covers_goes() -> None:
    """Only one pod of an online workload may go: where its first one does not cover, its larger sibling does."""
    pods = [pod("web-1", qos="BestEffort"), pod("web-2", qos="Guaranteed", request_bytes=20 * GI)]
    usages = {"uid-web-1": usage(5 * GI), "uid-web-2": usage(12 * GI)}
    decision = look(observation(pods, usages, need(10)), rounds_of(pods=3, rounds=1))
    assert names(decision) == ["web-2"]


def test_at_most_one_pod_of_an_online_workload() -> None:
    """Two pods of web: one goes; of a Job any number."""
    pods = [pod("web-1"), pod("web-2"), offline("job-1"), offline("job-2")]
    usages = {p.uid: usage(10 * GI) for p in pods}
    decision = look(observation(pods, usages, need(29)), wide())
    assert sorted(names(decision)) in (["job-1", "job-2", "web-1"], ["job-1", "job-2", "web-2"])
    assert Reason.ONE_PER_WORKLOAD not in [
        r.reason for r in decision.ranking if r.eligible and r.reason is Reason.CHOSEN
    ]


def test_ready_replicas_are_counted_down_within_a_plan() -> None:
    """Three ready pods of an offline Deployment, all here: two may go."""
    rules = (BusinessRule(Tier.OFFLINE, workload="batch"),)
    pods = [pod(f"batch-{i}") for i in range(3)]
    usages = {p.uid: usage(10 * GI) for p in pods}
    decision = look(observation(pods, usages, need(29)), wide(business=rules))
    assert len(names(decision)) == 2
    assert Reason.LAST_READY_REPLICA in [r.reason for r in decision.ranking]


def test_scale_on_pressure_replaces_eviction_of_its_pods() -> None:
    """The workload is scaled to its configured replicas; its pods are not evicted one by one; it comes back."""
    rules = (BusinessRule(Tier.STANDARD, workload="batch", scale_on_pressure=0),)
    pods = [pod("batch-1"), pod("web-1")]
    usages = {"uid-batch-1": usage(25 * GI), "uid-web-1": usage(10 * GI)}
    decision = look(observation(pods, usages, memory(Level.ORANGE, 64 * GI, 7 * GI)), wide(business=rules))
    assert decision.plan is not None
    scale = decision.plan.actions[-1]
    assert (scale.kind, scale.replicas, scale.replicas_before) == (ActionKind.SCALE, 0, 3)
    assert names(decision) == []


# --- properties ----------------------------------------------------------------------------------------

sizes = st.integers(min_value=0, max_value=20 * 1024)
tiers = st.sampled_from([*Tier, None])


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[PodFacts], dict[str, PodUsage]]:
    """Up to 12 pods of all sorts; ties are likely on purpose."""
    pods, usages = [], {}
    for i in range(draw(st.integers(0, 12))):
        tier = draw(tiers)
        kind = draw(st.sampled_from(["Deployment", "Job", "StatefulSet", "DaemonSet", None]))
        made = pod(
            f"p{i}-1",
            ns=draw(st.sampled_from(["shop", "batch", "kube-system"])),
            kind=kind,
            owner=draw(st.sampled_from(["a", "b", f"own{i}"])),
            qos=draw(st.sampled_from(["BestEffort", "Burstable", "Guaranteed"])),
            priority=draw(st.sampled_from([0, 100, 2_000_000_000])),
            request_bytes=draw(st.sampled_from([0, 512 * MI, 4 * GI])),
            annotations={"remediator.io/business-tier": tier.value} if tier else {},
            created_at=T0 - draw(st.sampled_from([60, 3600])),
        )
        pods.append(made)
        if draw(st.integers(0, 9)):
            usages[made.uid] = usage(draw(sizes) * MI)
    return pods, usages


def red(pods: list[PodFacts], usages: dict[str, PodUsage], extra_gib: int = 20) -> MemoryFacts:
    """A RED node whose memory is mostly in its pods."""
    used = sum(u.working_set_bytes for u in usages.values()) + extra_gib * GI // 10
    return memory(Level.RED, int(used / 0.94) + 1, used * 0.06)


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_protected_pods_are_never_chosen(cluster: tuple[list[PodFacts], dict[str, PodUsage]]) -> None:
    """No critical, important, system, DaemonSet, bare or unmeasured pod, whatever the rest looks like."""
    pods, usages = cluster
    chosen = {a.pod_uid for a in evictions(look(observation(pods, usages, red(pods, usages)), wide()))}
    for p in pods:
        tier = p.annotations.get("remediator.io/business-tier")
        kind = p.workload.kind if p.workload else None
        protected = (
            tier in ("critical", "important")
            or kind in (None, "DaemonSet")
            or p.namespace == "kube-system"
            or (p.priority or 0) >= 2_000_000_000
            or p.uid not in usages
        )
        assert not (protected and p.uid in chosen)


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_target_is_covered_or_everybody_eligible_was_looked_at(
    cluster: tuple[list[PodFacts], dict[str, PodUsage]],
) -> None:
    """Covered with a surplus of less than the smallest chosen pod, or nobody was left without a reason."""
    pods, usages = cluster
    mem = red(pods, usages)
    decision = look(observation(pods, usages, mem), wide())
    taken = evictions(decision)
    if not taken:
        return
    freed, target = sum(a.expected_bytes for a in taken), decision.target_bytes
    if freed >= target:
        assert all(freed - a.expected_bytes < target for a in taken)
    else:
        left = [r for r in decision.ranking if r.eligible and r.reason is not Reason.CHOSEN]
        assert all(
            r.reason in (Reason.ONE_PER_WORKLOAD, Reason.LAST_READY_REPLICA, Reason.DISRUPTION_BUDGET) for r in left
        )


@settings(max_examples=100, deadline=None)
@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_is_total(cluster: tuple[list[PodFacts], dict[str, PodUsage]], random: object) -> None:
    """The same pods in any order of the API's answer give the same ranking."""
    pods, usages = cluster
    shuffled = list(pods)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one = rank(situation(observation(pods, usages, red(pods, usages)), wide()), TIERS)
    two = rank(situation(observation(shuffled, usages, red(pods, usages)), wide()), TIERS)
    assert [c.pod.uid for c in one] == [c.pod.uid for c in two]


@settings(max_examples=100, deadline=None)
@given(clusters(), st.integers(0, 11))
def test_more_importance_never_makes_a_pod_go_earlier(
    cluster: tuple[list[PodFacts], dict[str, PodUsage]], which: int
) -> None:
    """Raising a pod's tier by one never improves its place among the eligible ones."""
    pods, usages = cluster
    steps = {"offline": "low", "low": "standard", "standard": "important", "important": "critical"}
    if which >= len(pods) or (old := pods[which].annotations.get("remediator.io/business-tier")) not in steps:
        return
    raised = list(pods)
    raised[which] = replace(pods[which], annotations={"remediator.io/business-tier": steps[old]})
    mem = red(pods, usages)

    def before(listing: list[PodFacts]) -> set[str]:
        """Pods that go before this one (everybody, when it does not go at all)."""
        ranked = [c.pod.uid for c in rank(situation(observation(listing, usages, mem), wide()), TIERS) if c.out is None]
        uid = pods[which].uid
        return set(ranked[: ranked.index(uid)]) if uid in ranked else {p.uid for p in pods} - {uid}

    assert before(pods) <= before(raised)


@settings(max_examples=100, deadline=None)
@given(clusters())
def test_an_irrelevant_pod_never_changes_the_choice(
    cluster: tuple[list[PodFacts], dict[str, PodUsage]],
) -> None:
    """A critical pod more or less: the others are chosen the same (node figures being equal)."""
    pods, usages = cluster
    mem = red(pods, usages)
    other = pod("other-1", annotations={"remediator.io/business-tier": "critical"})
    workloads = workloads_of([*pods, other])
    without = look(observation(pods, usages, mem, workloads=workloads), wide())
    extended = {**usages, other.uid: usage(0)}
    with_it = look(observation([*pods, other], extended, mem, workloads=workloads), wide())
    assert names(without) == names(with_it)


@settings(max_examples=60, deadline=None)
@given(clusters())
def test_every_row_gives_a_reason(cluster: tuple[list[PodFacts], dict[str, PodUsage]]) -> None:
    """The full ranking is there on every decision, and nobody is without a reason."""
    pods, usages = cluster
    decision = look(observation(pods, usages, red(pods, usages)), storm_policy(undeclared="standard"))
    assert {r.uid for r in decision.ranking} == {p.uid for p in pods}
    assert all(r.reason for r in decision.ranking)
    chosen = {r.uid for r in decision.ranking if r.reason is Reason.CHOSEN}
    assert chosen == {a.pod_uid for a in evictions(decision)}
