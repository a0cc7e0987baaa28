"""While a plan is performed: the next step, who stands in for whom, and the look right before each act."""

from dataclasses import replace
from typing import Any

import pytest
from core_c3 import c3, c3_look, c3_pods, c3_policy, evictions
from core_world import GI, T0, World, memory, storm_policy

from remediator.core.model import Level, Matcher, Mode, NodeFacts, Silence, SilenceFacts, Tier, Unknown
from remediator.core.planner import next_action, recheck
from remediator.core.plans import left_of, short_hash
from remediator.core.reason import Reason
from remediator.core.state import (
    Action,
    ActionKind,
    ActionResult,
    ActionStatus,
    Decision,
    Observation,
    OperatorSpec,
    Plan,
    RankedPod,
)


def storm() -> tuple[Decision, Plan]:
    """The storm's RED decision and its plan."""
    world = World.storm(24.52)
    found, _ = world.pods["uid-shipper-1"]
    for i in range(2, 5):
        name = f"shipper-{i}"
        world.pods[f"uid-{name}"] = (replace(found, name=name, uid=f"uid-{name}", request_bytes=GI * 5 // 2), 2.9)
    world.other_gib -= 8.7
    decision = world.step(crash_after=0)
    assert decision.plan is not None
    return decision, decision.plan


def result(action: Action, status: ActionStatus = ActionStatus.DONE, reason: Reason = Reason.ACCEPTED) -> ActionResult:
    """An answer."""
    return ActionResult(action, status, reason, T0)


def walk(answers: dict[str, tuple[ActionStatus, Reason]]) -> list[str]:
    """Perform the storm's plan with these answers by pod or kind; what was tried, in order."""
    decision, plan = storm()
    results: list[ActionResult] = []
    while (action := next_action(plan, decision.ranking, results, storm_policy())) is not None:
        answer = answers.get(action.pod or action.kind.value, (ActionStatus.DONE, Reason.ACCEPTED))
        results.append(result(action, *answer))
        assert len(results) < 50
    return [r.action.pod or r.action.kind.value for r in results]


BUDGET = (ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET)
GONE = (ActionStatus.REFUSED, Reason.ALREADY_GONE)


def test_a_plan_is_performed_in_its_order() -> None:
    """Isolation first, then the pods by score."""
    assert walk({}) == ["cordon", "taint", "spark-1", "spark-2", "shipper-1"]


def test_the_next_best_stands_in_until_the_target_is_covered() -> None:
    """The shipper is refused: its smaller sibling follows."""
    assert walk({"shipper-1": BUDGET}) == ["cordon", "taint", "spark-1", "spark-2", "shipper-1", "shipper-2"]


def test_a_stand_in_that_is_refused_too_gives_way_to_the_next() -> None:
    """Until nobody is left."""
    tried = walk({"shipper-1": BUDGET, "shipper-2": BUDGET, "shipper-3": BUDGET, "shipper-4": BUDGET})
    assert tried[-4:] == ["shipper-1", "shipper-2", "shipper-3", "shipper-4"]


def test_a_pod_that_was_gone_already_frees_its_memory_all_the_same() -> None:
    """Nobody has to stand in for it."""
    assert walk({"shipper-1": GONE})[-1] == "shipper-1"


@pytest.mark.parametrize("kind", ["cordon", "taint"])
def test_a_failed_isolation_stops_the_evictions(kind: str) -> None:
    """Successors would come right back."""
    tried = walk({kind: (ActionStatus.FAILED, Reason.CONFLICT)})
    assert not any(name.startswith("spark") for name in tried)


def test_the_round_is_not_exceeded_by_stand_ins() -> None:
    """Three pods a round: with one Spark pod refused nobody else of the shippers may go, the target open or not."""
    assert walk({"spark-1": BUDGET})[2:] == ["spark-1", "spark-2", "shipper-1"]


def test_an_approved_plan_takes_no_stand_ins() -> None:
    """A human approved these pods and no others."""
    decision, plan = storm()
    plan = replace(plan, substitutes=False)
    results = [result(a) for a in plan.actions[:-1]] + [result(plan.actions[-1], *BUDGET)]
    assert next_action(plan, decision.ranking, results, storm_policy()) is None


def test_an_online_workload_does_not_lose_a_second_pod_to_a_stand_in() -> None:
    """One pod of an online workload a plan, stand-ins included."""
    decision, plan = storm()
    taken = evictions(decision)[0]
    other = evictions(decision)[1]
    online = RankedPod(
        "batch",
        "twin-1",
        "uid-twin",
        taken.workload,
        Tier.STANDARD,
        0,
        "Burstable",
        GI,
        0,
        GI,
        decision.ranking[0].score,
        Reason.ONE_PER_WORKLOAD,
        eligible=True,
    )
    plan = replace(plan, actions=(taken, other))
    results = [result(taken), result(other, *BUDGET)]
    assert next_action(plan, (online,), results, storm_policy()) is None
    offline = replace(online, tier=Tier.OFFLINE)
    found = next_action(plan, (offline,), results, storm_policy())
    assert found is not None and (found.pod, found.expected_bytes) == ("twin-1", GI)


def test_what_is_left_after_a_crash() -> None:
    """Answered steps and pods that are gone or terminating count as done; budgets may be asked again."""
    _, plan = storm()
    pods = [p for p, _ in World.storm(0).pods.values()]
    alive = [replace(p, terminating_since=T0) if p.name == "spark-1" else p for p in pods if p.name != "shipper-1"]
    results = [(plan.actions[0].key, ActionStatus.DONE, Reason.ACCEPTED)]
    assert [a.pod or a.kind for a in left_of(plan, results, alive).actions] == [ActionKind.TAINT, "spark-2"]
    retry = [(plan.actions[3].key, ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET)]
    assert "spark-2" in [a.pod for a in left_of(plan, retry, alive).actions]
    failed = [(plan.actions[0].key, ActionStatus.FAILED, Reason.API_ERROR)]
    assert left_of(plan, failed, alive).actions[0].kind is ActionKind.CORDON


def test_hashes_tell_their_parts_apart() -> None:
    """The same parts, the same hash."""
    assert short_hash("a", 1) == short_hash("a", 1) != short_hash("a", 2)


SILENCED = SilenceFacts((Silence("s", (Matcher("namespace", "shop"),)),))
RECHECKS: list[tuple[Reason, Observation]] = [
    (Reason.PAUSED, replace(c3(), spec=OperatorSpec(paused=True))),
    (Reason.MODE_OFF, replace(c3(), spec=OperatorSpec(mode=Mode.OFF))),
    (Reason.DATA_UNKNOWN, replace(c3(), memory=Unknown("prometheus", "x"))),
    (Reason.DATA_UNKNOWN, replace(c3(), cluster=Unknown("kubernetes", "x"))),
    (Reason.NODE_UNKNOWN, replace(c3(), cluster=Unknown("kubernetes", "x", Reason.NODE_UNKNOWN))),
    (Reason.DATA_STALE, c3(mem=memory(Level.ORANGE, 16 * GI, GI, at=T0 - 61))),
    (Reason.SILENCES_UNKNOWN, replace(c3(), silences=Unknown("alertmanager", "x"))),
    (Reason.SILENCED, c3(silences=SilenceFacts(alert_silenced_by=("s",)))),
    (Reason.POD_SILENCED, c3(silences=SILENCED)),
    (Reason.RECOVERED, c3(mem=memory(Level.ORANGE, 16 * GI, 4 * GI))),
    (Reason.RECOVERED, c3(mem=memory(Level.YELLOW, 16 * GI, 1.2 * GI))),
    (Reason.STORM_BRAKE, c3(levels={"n1": Level.RED, "n2": Level.RED}, mem=memory(Level.RED, 16 * GI, GI))),
]


@pytest.mark.parametrize(("reason", "seen"), RECHECKS, ids=lambda v: str(v)[:24])
def test_the_look_before_the_act_can_say_no(reason: Reason, seen: Observation) -> None:
    """Everything that may have changed since the plan was made."""
    action = evictions(c3_look(c3()))[0]
    assert recheck(action, c3(), c3_policy(), T0) is None
    said = recheck(action, seen, c3_policy(), T0)
    assert said is not None and said.reason is reason and said.detail


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        (Reason.REPLACED_SINCE, {"uid": "another"}),
        (Reason.TERMINATING, {"terminating_since": T0}),
        (Reason.OPTED_OUT, {"annotations": {"remediator.io/evict": "false"}}),
        (Reason.TIER_CRITICAL, {"annotations": {"remediator.io/business-tier": "critical"}}),
        (Reason.NOT_RUNNING, {"phase": "Failed"}),
        (Reason.ALREADY_GONE, None),
    ],
)
def test_the_pod_itself_is_looked_at_again(reason: Reason, changes: dict[str, Any] | None) -> None:
    """Replaced, terminating, opted out, promoted, gone."""
    action = evictions(c3_look(c3()))[0]
    pods = c3_pods()
    if changes is None:
        del pods["report"]
    else:
        pods["report"] = replace(pods["report"], **changes)
    said = recheck(action, c3(pods), c3_policy(), T0)
    assert said is not None and said.reason is reason


def test_undo_is_stopped_by_off_and_paused_only() -> None:
    """Blind, silenced, stormy: what was taken is given back."""
    undo = Action(ActionKind.UNCORDON, "n1", "e")
    for reason, seen in RECHECKS:
        said = recheck(undo, seen, c3_policy(), T0)
        assert (said.reason if said else None) == (reason if reason in (Reason.PAUSED, Reason.MODE_OFF) else None)


def test_isolation_is_not_held_by_what_concerns_pods() -> None:
    """A cordon is right also when the storm brake is on or the pod is gone."""
    cordon = Action(ActionKind.CORDON, "n1", "e")
    brake = c3(levels={"n1": Level.RED, "n2": Level.RED}, mem=memory(Level.RED, 16 * GI, GI))
    assert recheck(cordon, brake, c3_policy(), T0) is None


def test_the_kubelet_stops_everything_at_the_last_moment() -> None:
    """It began to evict between plan and act."""
    pods = c3_pods()
    pods["dead"] = replace(
        pods["web"], uid="dead", phase="Failed", disruption_target="TerminationByKubelet", ended_at=T0
    )
    node = NodeFacts("n1", allocatable_bytes=16 * GI)
    said = recheck(evictions(c3_look(c3()))[0], c3(pods, node=node), c3_policy(), T0)
    assert said is not None and said.reason is Reason.KUBELET_EVICTING
