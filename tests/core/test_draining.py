"""Draining endpoints and scaling: who can be taken out of service, how many stay, and that all of it returns."""

from dataclasses import replace
from typing import Any

import pytest
from core_world import GI, SERVING, T0, World, look, memory, observation, pod, storm_policy, usage, workload

from remediator.core.model import BudgetFacts, Level, PodFacts, ServiceFacts, Tier
from remediator.core.planner import after_actions
from remediator.core.policy import BusinessRule, Policy
from remediator.core.reason import Reason
from remediator.core.state import (
    ActionKind,
    ActionResult,
    ActionStatus,
    Decision,
    DrainRecord,
    NodeState,
    ScaleRecord,
)

LABELS = {"app": "api", SERVING: "true"}
ORANGE = memory(Level.ORANGE, 64 * GI, 8 * GI)


def drained(decision: Decision) -> list[str]:
    """Pods to be taken out of service."""
    actions = decision.plan.actions if decision.plan else ()
    return [a.pod for a in actions if a.kind is ActionKind.DRAIN_ENDPOINTS]


def decide_on(
    pods: list[PodFacts],
    *,
    ready: int = 8,
    selector: dict[str, str] | None = None,
    owner_selector: dict[str, str] | None = None,
    pol: Policy | None = None,
    state: NodeState | None = None,
    **kw: Any,
) -> Decision:
    """One look at ORANGE with one Service."""
    service = ServiceFacts("shop", "api", selector or LABELS, ready, frozenset(p.uid for p in pods))
    facts = {
        p.workload: workload(p.workload, ready, selector=owner_selector or {"app": "api"}) for p in pods if p.workload
    }
    usages = {p.uid: usage(30 * GI / len(pods)) for p in pods}
    obs = observation(pods, usages, ORANGE, services=(service,), workloads=facts, **kw)
    return look(obs, pol or storm_policy(), state)


def api(count: int = 2, **kw: Any) -> list[PodFacts]:
    """Serving pods."""
    return [pod(f"api-{i}", labels=LABELS, **kw) for i in range(count)]


def test_serving_pods_are_drained() -> None:
    """The label and its value go into the action, so that they can come back."""
    decision = decide_on(api())
    assert drained(decision) == ["api-0", "api-1"]
    assert decision.plan is not None
    assert {(a.label, a.label_value) for a in decision.plan.actions} == {(SERVING, "true")}


@pytest.mark.parametrize(
    ("ready", "here", "expected"), [(8, 6, 4), (4, 4, 2), (3, 3, 1), (2, 1, 1), (1, 1, 0), (5, 5, 2)]
)
def test_half_of_the_ready_endpoints_stay_in_service(ready: int, here: int, expected: int) -> None:
    """Rounded up for those who stay."""
    assert len(drained(decide_on(api(here), ready=ready))) == expected


def test_the_budgets_minimum_stays_in_service() -> None:
    """Half would be two, the budget wants three of four."""
    pods = api(4)
    budget = BudgetFacts("shop", "api", frozenset(p.uid for p in pods), 1, desired_healthy=3, current_healthy=4)
    decision = decide_on(pods, ready=4, budgets=(budget,))
    assert len(drained(decision)) == 1
    assert any(r.reason is Reason.TOO_FEW_IN_SERVICE for r in decision.reasons)


def test_half_is_half_of_what_there_was() -> None:
    """Pods drained earlier count: a second look does not take half of the rest."""
    pods = api(4)
    gone = [replace(p, labels={"app": "api"}) for p in pods[:2]]
    records = tuple(DrainRecord("shop", p.name, p.uid, SERVING, "true", T0 - 60) for p in gone)
    decision = decide_on([*gone, *pods[2:]], ready=2, state=NodeState(drained=records))
    assert drained(decision) == []


@pytest.mark.parametrize(
    ("changes", "kw"),
    [
        ({}, {"selector": {"app": "api"}}),
        ({}, {"selector": {"app": "other", SERVING: "true"}}),
        ({}, {"owner_selector": {"app": "api", SERVING: "true"}}),
        ({"ready": False}, {}),
        ({"annotations": {"remediator.io/evict": "false"}}, {}),
        ({"annotations": {"remediator.io/business-tier": "critical"}}, {}),
        ({"annotations": {"remediator.io/business-tier": "offline"}}, {}),
        ({"terminating_since": T0}, {}),
        ({"namespace": "kube-system"}, {}),
        ({"mirror": True}, {}),
    ],
)
def test_pods_that_cannot_or_must_not_be_drained_are_left_in_service(
    changes: dict[str, Any], kw: dict[str, Any]
) -> None:
    """By label, selector, readiness, opt-out, tier."""
    assert drained(decide_on([replace(p, **changes) for p in api()], **kw)) == []


def test_a_refused_drain_is_not_asked_again_in_this_episode() -> None:
    """Whatever the actuator's reason was."""
    decision = decide_on(api())
    assert decision.plan is not None
    results = [ActionResult(a, ActionStatus.SKIPPED, Reason.SELECTOR_IN_THE_WAY, T0) for a in decision.plan.actions]
    state = after_actions(decision.next_state, results, T0)
    assert drained(decide_on(api(), state=state)) == []


def test_drained_pods_that_are_gone_need_no_restoring() -> None:
    """The record goes with the pod."""
    record = DrainRecord("shop", "api-9", "uid-api-9", SERVING, "true", T0 - 60)
    assert decide_on(api(), state=NodeState(drained=(record,))).next_state.drained == ()


def test_scaling_settles_and_returns_when_calm() -> None:
    """The count found is given back after five calm minutes, without asking."""
    rules = (BusinessRule(Tier.STANDARD, workload="api", scale_on_pressure=1),)
    decision = decide_on([pod("api-1")], ready=3, pol=storm_policy(business=rules))
    assert decision.plan is not None
    scale = decision.plan.actions[-1]
    assert (scale.kind, scale.replicas, scale.replicas_before) == (ActionKind.SCALE, 1, 3)
    assert scale.expected_bytes == pytest.approx(30 * GI * 2 / 3, rel=1e-6)
    state = after_actions(decision.next_state, [ActionResult(scale, ActionStatus.DONE, Reason.ACCEPTED, T0)], T0)
    assert state.phase == "SETTLING"
    assert [(r.replicas_before, r.replicas_set) for r in state.scaled] == [(3, 1)]
    world = World.storm(0.0, state=NodeState(scaled=state.scaled))
    world.run(330)
    assert [(a.kind, a.replicas) for a in world.done] == [(ActionKind.RESTORE_SCALE, 3)]
    assert world.state.scaled == ()


@pytest.mark.parametrize("annotation", ["remediator.io/evict", "cluster-autoscaler.kubernetes.io/safe-to-evict"])
def test_opted_out_workloads_are_not_scaled(annotation: str) -> None:
    """An opt-out holds for every way of ending a pod."""
    rules = (BusinessRule(Tier.STANDARD, workload="api", scale_on_pressure=0),)
    decision = decide_on([pod("api-1", annotations={annotation: "false"})], pol=storm_policy(business=rules))
    assert decision.plan is None


def test_a_workload_is_scaled_once() -> None:
    """What is scaled already is not scaled again."""
    rules = (BusinessRule(Tier.STANDARD, workload="api", scale_on_pressure=0),)
    ref = pod("api-1").workload
    assert ref is not None
    state = NodeState(scaled=(ScaleRecord(ref, 3, 0, T0 - 60),))
    assert decide_on([pod("api-1")], pol=storm_policy(business=rules), state=state).plan is None


@pytest.mark.parametrize(("exit_ratio", "expected"), [(0.80, ["api-0"]), (0.89, [])], ids=["above-exit", "latched"])
def test_a_level_that_is_only_latched_takes_nobody_out(exit_ratio: float, expected: list[str]) -> None:
    """ORANGE seen on the way down: used is below its exit already, so nobody is drained or evicted for it."""
    mem = replace(ORANGE, thresholds={"orange/exit": exit_ratio})
    found = pod("api-0", labels=LABELS)
    facts = {found.workload: workload(found.workload, 8, selector={"app": "api"})} if found.workload else {}
    service = ServiceFacts("shop", "api", LABELS, 8, frozenset({found.uid}))
    obs = observation([found], {found.uid: usage(30 * GI)}, mem, services=(service,), workloads=facts)
    state = NodeState(level=Level.ORANGE, level_since=T0 - 600)
    decision = look(obs, storm_policy(), state)
    assert drained(decision) == expected
    assert (Reason.RECOVERED in {reason.reason for reason in decision.reasons}) == (not expected)
