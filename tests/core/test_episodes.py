"""Episodes over time: crashes, refusals, silences, settling."""

import itertools
from collections import Counter
from dataclasses import replace

import pytest
from core_world import GI, T0, World, any_tier_ladder, storm_policy

from remediator.core.model import (
    Isolation,
    Level,
    Matcher,
    Phase,
    Signal,
    SignalKind,
    Silence,
    SilenceFacts,
)
from remediator.core.planner import decide
from remediator.core.policy import Timers, default_ladder
from remediator.core.reason import Reason
from remediator.core.state import (
    Action,
    ActionKind,
    ActionStatus,
    EvictionRecord,
    NodeState,
    OutcomeKind,
)

RED_GIB = 24.52


def reasons(world: World) -> set[Reason]:
    """Reasons of the last decision."""
    return {reason.reason for reason in world.decisions[-1].reasons}


def evicted(world: World) -> list[str]:
    """Pods evicted, in order."""
    return [action.pod for action in world.done if action.kind is ActionKind.EVICT]


@pytest.mark.parametrize("crash_after", range(6))
def test_a_crash_after_any_step_ends_the_same(crash_after: int) -> None:
    """Killed after any prefix of the plan and restarted, nobody is evicted twice and the end is the same."""
    world = World.storm(RED_GIB)
    world.step(crash_after=crash_after)
    assert world.state.phase is Phase.ACTING
    world.now += 1
    world.run(300)
    assert sorted(evicted(world)) == ["shipper-1", "spark-1", "spark-2"]
    assert {e.pod for e in world.state.evictions} == {"spark-1", "spark-2", "shipper-1"}
    assert world.isolation is Isolation.CORDONED_BY_US
    assert world.state.outcomes[-1].kind is OutcomeKind.RELIEVED


def test_a_crash_with_progress_written_down_keeps_the_drains() -> None:
    """What a crashed pass had noted as done is remembered, so that endpoints return later."""
    world = World.storm(21.9)
    world.step(crash_after=2)
    keys = [(a.key, ActionStatus.DONE, Reason.ACCEPTED) for a in world.done]
    world.state = replace(world.state, results=tuple(keys))
    world.now += 1
    world.step()
    assert {record.pod for record in world.state.drained} == {"api-1", "api-2"}


def test_an_expired_plan_is_not_resumed() -> None:
    """A plan found half done after its expiry is called done; the node is looked at afresh."""
    world = World.storm(RED_GIB)
    world.step(crash_after=3)
    world.now += 700
    world.other_gib = 0
    world.step()
    assert evicted(world) == ["spark-1"]


def test_a_budget_refusal_takes_the_next_best() -> None:
    """A pod that the API refuses is replaced by the next candidate in the same plan."""
    world = World.storm(RED_GIB)
    world.pods["uid-job"] = (replace(world.pods["uid-spark-1"][0], name="spark-3", uid="uid-spark-3"), 1.0)
    world.pods["uid-spark-3"] = world.pods.pop("uid-job")

    def refuse(action: Action) -> tuple[ActionStatus, Reason] | None:
        refused = action.kind is ActionKind.EVICT and action.pod == "shipper-1"
        return (ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET) if refused else None

    world.responder = refuse
    world.step()
    assert evicted(world) == ["spark-1", "spark-2", "spark-3"] or "spark-3" in evicted(world)


def test_a_pod_refused_three_times_is_left_alone_in_this_episode() -> None:
    """A budget that keeps saying no is asked three times, with pauses, and then no more."""
    asked: Counter[str] = Counter()

    def refuse(action: Action) -> tuple[ActionStatus, Reason] | None:
        if action.kind is not ActionKind.EVICT:
            return None
        asked[action.pod] += 1
        return ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET

    world = World.storm(RED_GIB, responder=refuse)
    world.run(200)
    assert evicted(world) == []
    assert asked and max(asked.values()) == 3


@pytest.mark.parametrize("reason", [Reason.FORBIDDEN, Reason.THROTTLED, Reason.TIMED_OUT, Reason.API_ERROR])
def test_an_answer_that_does_not_blame_the_pod_ends_the_round(reason: Reason) -> None:
    """Forbidden, throttled or silent: no other pod is tried in its place."""
    asked: list[str] = []

    def fail(action: Action) -> tuple[ActionStatus, Reason] | None:
        if action.kind is not ActionKind.EVICT:
            return None
        asked.append(action.pod)
        return ActionStatus.FAILED, reason

    world = World.storm(RED_GIB, responder=fail)
    world.step()
    assert asked == ["spark-1"]


def test_nothing_is_evicted_when_the_cordon_fails() -> None:
    """Cordon first: when it fails nobody is evicted, for successors would come right back."""
    world = World.storm(RED_GIB)
    world.responder = lambda a: (ActionStatus.FAILED, Reason.API_ERROR) if a.kind is ActionKind.CORDON else None
    world.step()
    assert evicted(world) == []
    assert world.isolation is Isolation.NONE


def test_an_eviction_without_an_answer_is_not_sent_again_while_it_may_have_worked() -> None:
    """A time-out is taken as an eviction until the pod is seen alive, and then may be tried again."""
    world = World.storm(RED_GIB)
    world.responder = lambda a: (ActionStatus.UNKNOWN, Reason.TIMED_OUT) if a.kind is ActionKind.EVICT else None
    world.step()
    assert [e.uncertain for e in world.state.evictions] == [True]
    world.responder = lambda a: None
    world.now += 5
    world.step()
    assert [e.pod for e in world.state.evictions if e.uncertain] == []


def test_below_red_a_drainable_pod_is_drained_before_it_is_evicted() -> None:
    """At ORANGE its requests may finish for 30 s; then it goes."""
    pol = storm_policy(ladder=any_tier_ladder())
    world = World.storm(21.9, policy=pol)
    for uid in ("uid-spark-1", "uid-spark-2", "uid-shipper-1", "uid-kafka-0"):
        world.other_gib += world.pods.pop(uid)[1]
    world.pods["uid-big"] = (replace(world.pods["uid-api-1"][0], name="api-big", uid="uid-big"), 29.0)
    world.other_gib -= 29
    world.step()
    assert [k for k in world.kinds() if "api" in k] == ["drain_endpoints:api-big"]
    world.run(25)
    assert evicted(world) == []
    world.run(10)
    assert evicted(world) == ["api-big"]


def test_red_in_the_middle_of_settling_closes_the_node_at_once() -> None:
    """The cordon does not wait for the measurement; further evictions do."""
    world = World.storm(21.9)
    world.run(200)
    assert evicted(world) == ["spark-1"]
    world.now += 10
    world.other_gib = RED_GIB + 9
    world.step()
    assert world.kinds()[-2:] == ["cordon", "taint"]
    assert world.state.phase is Phase.SETTLING
    world.run(10)
    assert evicted(world) == ["spark-1"]


def test_deciding_twice_gives_the_same_decision() -> None:
    """The same arguments give the same decision, plan id included."""
    world = World.storm(RED_GIB)
    observation = world.observe()
    signal = Signal(SignalKind.ALERT, "n1")
    first, second = (decide(world.state, signal, observation, world.policy, T0) for _ in range(2))
    assert first == second


def test_stuck_pods_are_told_and_not_counted_on() -> None:
    """A pod that does not go away within its grace and 30 s is reported with its finalizers."""
    world = World.storm(RED_GIB, termination_seconds=10_000)
    world.run(120)
    assert any(n.key.startswith("stuck:") for n in world.notices)


def test_silence_on_a_namespace_keeps_its_pods() -> None:
    """A silence namespace=batch keeps the Spark pods; the shipper may go."""
    world = World.storm(RED_GIB)
    world.silences = SilenceFacts((Silence("s1", (Matcher("namespace", "batch"),)),))
    world.step()
    assert evicted(world) == ["shipper-1"]
    row = next(r for r in world.decisions[-1].ranking if r.pod == "spark-1")
    assert row.reason is Reason.POD_SILENCED and "s1" in row.detail


def test_scaled_timers_keep_the_story() -> None:
    """All of our own durations come from the policy: a fast clock tells the same story."""
    timers = Timers(**{f: getattr(Timers(), f) / 10 for f in Timers.__dataclass_fields__ if f.endswith("_seconds")})
    world = World.storm(RED_GIB, policy=storm_policy(timers=timers), termination_seconds=0.3)
    world.run(42, every=0.5)
    assert world.isolation is Isolation.RELEASABLE


def evicted_elsewhere(workload: str, at: float) -> NodeState:
    """n2's record: a pod of the workload went from there."""
    record = EvictionRecord("x", "x-0", "uid-x", workload, "n2", "p", at, GI, gone_at=at + 20)
    return NodeState(evictions=(record,))


def test_a_successor_is_left_alone_and_offline_work_that_was_there_before_is_not() -> None:
    """Two nodes in trouble are both relieved of the same batch work, but nobody is chased from node to node."""
    world = World.storm(RED_GIB)
    world.fleet_states = {"n2": evicted_elsewhere("batch/Job/spark", T0 - 480)}
    found, gib = world.pods["uid-spark-1"]
    world.pods["uid-spark-1"] = (replace(found, created_at=T0 - 360), gib)
    world.step()
    rows = {r.pod: r for r in world.decisions[-1].ranking}
    assert rows["spark-1"].reason is Reason.MOVED_NOT_FREED
    assert evicted(world)[0] == "spark-2"


def test_the_next_round_may_go_on_with_the_same_batch_work() -> None:
    """Offline pods serve nobody: they all go before a service does, over as many rounds as it takes."""
    ladder = {**default_ladder(), Level.RED: replace(default_ladder()[Level.RED], max_pods_per_round=1)}
    world = World.storm(RED_GIB, policy=storm_policy(ladder=ladder), level=Level.RED)
    world.run(300)
    assert evicted(world)[:2] in (["spark-1", "spark-2"], ["spark-2", "spark-1"])


def test_an_online_workload_evicted_elsewhere_is_left_alone() -> None:
    """It serves somebody: one disturbance in ten minutes over the whole cluster."""
    world = World.storm(RED_GIB)
    world.fleet_states = {"n2": evicted_elsewhere("logging/Deployment/shipper", T0 - 120)}
    world.step()
    rows = {r.pod: r for r in world.decisions[-1].ranking}
    assert rows["shipper-1"].reason is Reason.WORKLOAD_COOLDOWN


@pytest.mark.parametrize("kind", [ActionKind.EVICT, ActionKind.CORDON])
def test_a_failing_act_is_tried_again_ever_more_slowly(kind: ActionKind) -> None:
    """Forbidden: 5 s, 10 s, 20 s … up to a minute, never in a hot loop."""
    tried: list[float] = []
    world = World.storm(RED_GIB)

    def fail(action: Action) -> tuple[ActionStatus, Reason] | None:
        if action.kind is not kind:
            return None
        tried.append(world.now)
        return ActionStatus.FAILED, Reason.FORBIDDEN

    world.responder = fail
    world.run(200, every=1)
    gaps = [after - before for before, after in itertools.pairwise(tried)]
    assert gaps[0] >= 5 and all(later >= earlier - 1 for earlier, later in itertools.pairwise(gaps))
    assert len(tried) < 10
    assert Reason.FORBIDDEN in reasons(world)


@pytest.mark.parametrize("reason", [Reason.NAMESPACE_TERMINATING, Reason.REPLACED_SINCE, Reason.RECOVERED])
def test_a_pod_that_is_skipped_again_and_again_makes_no_hot_loop(reason: Reason) -> None:
    """Whatever the reason: a pass a second at most, and the pod is left alone in the end or asked for slowly."""
    asked: list[str] = []
    world = World.storm(RED_GIB)
    for uid in ("uid-spark-2", "uid-shipper-1"):
        held, gib = world.pods[uid]
        world.pods[uid] = (replace(held, annotations={"remediator.io/evict": "false"}), gib)

    def skip(action: Action) -> tuple[ActionStatus, Reason] | None:
        if action.kind is not ActionKind.EVICT:
            return None
        asked.append(action.pod)
        return ActionStatus.SKIPPED, reason

    world.responder = skip
    world.run(120, every=1)
    assert 1 <= len(asked) <= 6
