"""Episodes over time: crashes, refusals, approval, escalation, cooldown, stand-down, release."""

import itertools
from collections import Counter
from dataclasses import replace

import pytest
from core_world import GI, T0, World, any_tier_ladder, storm_policy

from remediator.core.model import (
    Isolation,
    Level,
    Matcher,
    Mode,
    Phase,
    Signal,
    SignalKind,
    Silence,
    SilenceFacts,
    Unknown,
    Verdict,
)
from remediator.core.planner import decide
from remediator.core.policy import Safeguards, Timers
from remediator.core.reason import Reason
from remediator.core.state import (
    Action,
    ActionKind,
    ActionStatus,
    EvictionRecord,
    NodeState,
    OperatorSpec,
    Outcome,
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


def test_approve_mode_stores_a_plan_and_runs_only_what_was_approved() -> None:
    """Nothing happens before the approval; afterwards only pods of both plans leave."""
    world = World.storm(RED_GIB, policy=storm_policy(mode=Mode.APPROVE))
    decision = world.step()
    assert (decision.verdict, decision.plan, world.state.phase) == (Verdict.HOLD, None, Phase.AWAITING_APPROVAL)
    plan = world.state.plan
    assert plan is not None
    assert any(n.key == f"approve:{plan.id}" and plan.id in n.text for n in world.notices)
    world.run(60)
    assert world.done == []
    held, gib = world.pods["uid-spark-2"]
    world.pods["uid-spark-2"] = (replace(held, annotations={"remediator.io/evict": "false"}), gib)
    world.spec = OperatorSpec(approved_plan=plan.id, approved_by="anna")
    world.step()
    assert world.kinds() == ["cordon", "taint", "evict:spark-1", "evict:shipper-1"]
    assert world.state.plan is not None and world.state.plan.id == plan.id


def test_approval_by_signal_names_the_plan() -> None:
    """An approval of another plan does nothing."""
    world = World.storm(RED_GIB, policy=storm_policy(mode=Mode.APPROVE))
    world.step()
    plan = world.state.plan
    assert plan is not None
    world.step(Signal(SignalKind.APPROVAL, "n1", plan_id="another"))
    assert world.done == []
    world.step(Signal(SignalKind.APPROVAL, "n1", plan_id=plan.id))
    assert "evict:spark-1" in world.kinds()


def test_a_plan_expires_and_a_new_one_is_asked_for() -> None:
    """Ten minutes without an answer: the plan is void, also when it is approved afterwards."""
    world = World.storm(RED_GIB, policy=storm_policy(mode=Mode.APPROVE))
    world.step()
    old = world.state.plan
    assert old is not None
    world.run(600)
    world.run(30)
    assert world.state.plan is not None and world.state.plan.id != old.id
    world.spec = OperatorSpec(approved_plan=old.id)
    world.run(20)
    assert world.done == []


def test_a_plan_is_withdrawn_when_the_node_recovers() -> None:
    """Nobody can approve what is not needed any more."""
    world = World.storm(RED_GIB, policy=storm_policy(mode=Mode.APPROVE))
    world.step()
    world.other_gib = 0
    world.run(5)
    assert (world.state.phase, world.state.plan) == (Phase.WATCHING, None)


def test_escalation_to_red_replaces_the_waiting_plan() -> None:
    """An ORANGE plan that waits gives way to the RED one."""
    world = World.storm(21.9, policy=storm_policy(mode=Mode.APPROVE))
    world.step()
    first = world.state.plan
    world.other_gib = RED_GIB
    world.now += 30
    world.step()
    second = world.state.plan
    assert first and second and first.id != second.id
    assert second.level is Level.RED


def test_cooldown_only_alerts() -> None:
    """For ten minutes after an episode even RED changes nothing but tells."""
    world = World.storm(RED_GIB)
    world.run(120)
    assert world.state.phase is Phase.COOLING_DOWN
    before = len(world.done)
    world.other_gib = 50
    world.run(60)
    assert len(world.done) == before
    assert Reason.NODE_COOLDOWN in reasons(world)
    assert any(n.key.startswith("cooling-red") for n in world.notices)


def test_rounds_are_spent_and_a_human_is_asked() -> None:
    """A node that stays RED through its rounds is escalated; the next act needs a human."""
    world = World.storm(RED_GIB + 20)
    world.level = Level.RED
    world.run(90)
    world.run(420)
    assert world.state.phase is Phase.ESCALATED
    assert any(n.key.startswith("escalated") and n.severity == "critical" for n in world.notices)
    world.run(700)
    assert world.state.phase in (Phase.COOLING_DOWN, Phase.ESCALATED)


def test_kubelet_eviction_stands_us_down_for_ten_minutes() -> None:
    """A memory eviction by the kubelet ends the episode at once, critically told."""
    world = World.storm(RED_GIB)
    dead = replace(
        world.pods["uid-shipper-1"][0],
        name="dead",
        uid="uid-dead",
        phase="Failed",
        status_reason="Evicted",
        status_message="The node was low on resource: memory.",
        ended_at=T0 - 20,
    )
    world.pods[dead.uid] = (dead, 0.0)
    world.step()
    assert (world.state.phase, world.done) == (Phase.STOOD_DOWN, [])
    assert any(n.severity == "critical" and "kubelet" in n.title for n in world.notices)
    world.run(570)
    assert world.done == []
    world.run(30)
    assert "cordon" in world.kinds()


def test_a_humans_uncordon_is_respected() -> None:
    """Somebody opens the node: our taint goes too, and the isolation is left alone for the cooldown."""
    world = World.storm(RED_GIB)
    world.run(20)
    world.unschedulable = False
    world.step()
    assert world.isolation is Isolation.NONE
    assert world.state.hands_off_until is not None
    assert world.taints == ()
    count = Counter(world.kinds())["cordon"]
    world.run(300)
    assert Counter(world.kinds())["cordon"] == count == 1


def test_our_own_mark_is_adopted_when_the_record_was_lost() -> None:
    """A cordon with our annotation is ours, whatever the record says."""
    world = World.storm(0.0, unschedulable=True, annotations={"remediator.io/cordoned-by": "n1-old"})
    world.step()
    assert (world.isolation, world.state.isolation_episode_id) == (Isolation.CORDONED_BY_US, "n1-old")


def test_a_foreign_cordon_is_never_touched() -> None:
    """A node cordoned by somebody else is not ours to open."""
    world = World.storm(0.0, unschedulable=True)
    world.run(900)
    assert (world.isolation, world.done) == (Isolation.NONE, [])


def test_release_auto_lifts_without_asking() -> None:
    """`release: auto` uncordons after five calm minutes."""
    world = World.storm(RED_GIB, policy=storm_policy(release="auto"))
    world.run(420)
    assert world.kinds()[-2:] == ["untaint", "uncordon"]
    assert world.isolation is Isolation.NONE


def test_pressure_takes_back_that_the_node_is_releasable() -> None:
    """A node that was calm and is not any more is not released by a late answer."""
    world = World.storm(RED_GIB)
    world.run(420)
    world.other_gib += 12
    world.run(10)
    assert world.isolation is Isolation.CORDONED_BY_US
    world.step(Signal(SignalKind.RELEASE, "n1"))
    assert world.unschedulable


def test_a_forgotten_cordon_is_told_again() -> None:
    """A cordon of ours older than an hour is told."""
    world = World.storm(RED_GIB)
    world.run(120)
    world.run(3700, every=60)
    assert any(n.key.startswith("forgotten:") for n in world.notices)


def test_off_and_paused_stop_even_undo() -> None:
    """`off` leaves the node alone, isolation included."""
    for spec in (OperatorSpec(mode=Mode.OFF), OperatorSpec(paused=True)):
        world = World.storm(RED_GIB, policy=storm_policy(release="auto"))
        world.run(60)
        done = len(world.done)
        world.spec = spec
        world.run(600)
        assert len(world.done) == done


def test_silences_never_stop_undo() -> None:
    """Alertmanager away: nothing is done, but what was taken is given back."""
    world = World.storm(RED_GIB, policy=storm_policy(release="auto"))
    world.run(120)
    world.silences = Unknown("alertmanager", "connection refused")
    world.run(300)
    assert world.kinds()[-2:] == ["untaint", "uncordon"]


def test_blindness_is_told_once_and_stops_the_clock_of_calm() -> None:
    """Unknown memory is neither calm nor alarming."""
    world = World.storm(RED_GIB)
    world.run(120)
    blind = Unknown("prometheus", "no answer")
    for _ in range(3):
        world.now += 15
        observation = replace(world.observe(), memory=blind)
        decision = decide(world.state, Signal(SignalKind.TIMER, "n1"), observation, world.policy, world.now)
        world.state = decision.next_state
        world.notices += decision.notices
    assert world.state.green_since is None
    assert [n.key for n in world.notices].count("held:data_unknown") == 1
    assert decision.plan is None and decision.requeue_after_seconds is not None


def test_circuit_breaker_turns_enforce_into_approve() -> None:
    """Two bad episodes within an hour, anywhere: the next plan waits for a human."""

    def bad(at: float, episode: str) -> Outcome:
        return Outcome(OutcomeKind.NO_EFFECT, episode, at, 0, GI, 0.93, 0.93, Level.RED, Level.RED)

    world = World.storm(RED_GIB)
    world.fleet_states = {
        "n2": NodeState(outcomes=(bad(T0 - 900, "a"),)),
        "n3": NodeState(outcomes=(bad(T0 - 60, "b"),)),
    }
    decision = world.step()
    assert (decision.verdict, decision.plan) == (Verdict.HOLD, None)
    assert Reason.CIRCUIT_BREAKER in reasons(world)
    world.fleet_states = {"n3": NodeState(outcomes=(bad(T0 - 60, "b"),))}
    world.run(5)
    assert "cordon" in world.kinds()


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


def test_the_third_node_waits_for_a_place() -> None:
    """Three other nodes in an episode: this one waits."""
    world = World.storm(RED_GIB)
    world.fleet_states = {n: NodeState(phase=Phase.SETTLING) for n in ("n2", "n3", "n4")}
    world.step()
    assert world.done == [] and Reason.CAP_NODES_ACTING in reasons(world)


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


def test_workload_evicted_elsewhere_is_left_alone() -> None:
    """The successor that brought its memory along is named as such."""
    world = World.storm(RED_GIB)
    record = EvictionRecord("batch", "spark-0", "uid-x", "batch/Job/spark", "n2", "p", T0 - 120, GI, gone_at=T0 - 100)
    world.fleet_states = {"n2": NodeState(evictions=(record,))}
    found, gib = world.pods["uid-spark-1"]
    world.pods["uid-spark-1"] = (replace(found, created_at=T0 - 60), gib)
    world.step()
    rows = {r.pod: r for r in world.decisions[-1].ranking}
    assert rows["spark-2"].reason is Reason.WORKLOAD_COOLDOWN
    assert evicted(world) == ["shipper-1"]


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


def test_failing_undo_backs_off_too() -> None:
    """An uncordon that is refused is asked again later, not at once."""
    tried: list[float] = []
    world = World.storm(RED_GIB, policy=storm_policy(release="auto"))
    world.run(300)

    def fail(action: Action) -> tuple[ActionStatus, Reason] | None:
        if action.kind is not ActionKind.UNCORDON:
            return None
        tried.append(world.now)
        return ActionStatus.FAILED, Reason.API_ERROR

    world.responder = fail
    world.run(200, every=1)
    assert 1 < len(tried) < 10


def test_a_repeat_is_answered_with_the_episode() -> None:
    """A second alert while the first is handled names the episode; a resolved one changes nothing."""
    world = World.storm(RED_GIB)
    world.step(Signal(SignalKind.ALERT, "n1"))
    world.now += 1
    world.step(Signal(SignalKind.ALERT, "n1"))
    handled = [r for r in world.decisions[-1].reasons if r.reason is Reason.ALREADY_HANDLED]
    assert [world.state.episode_id in r.detail for r in handled] == [True]
    world.step(Signal(SignalKind.ALERT, "n1", firing=False))
    assert Reason.RESOLVED in reasons(world)


def test_early_warnings_are_told_once_on_a_green_node() -> None:
    """Repeats of the same alert are not news; a new one is."""
    world = World.storm(0.0)
    for starts_at in ("a", "a", "b"):
        world.step(Signal(SignalKind.ALERT, "n1", "NodeSwapGrowing", starts_at=starts_at))
    assert [n.key for n in world.notices] == ["early:NodeSwapGrowing:a", "early:NodeSwapGrowing:b"]


def test_from_observe_to_enforce_nothing_observed_is_taken_for_real() -> None:
    """An isolation and drains that were only recorded do not outlive observe mode."""
    world = World.storm(RED_GIB, policy=storm_policy(mode=Mode.OBSERVE))
    world.step()
    assert (world.isolation, world.state.isolation_observed) == (Isolation.CORDONED_BY_US, True)
    world.spec = OperatorSpec(mode=Mode.ENFORCE)
    world.run(700)
    assert world.kinds()[:3] == ["cordon", "taint", "evict:spark-1"]


def test_rounds_of_red_stop_at_three() -> None:
    """Three rounds an episode, at most three pods each."""
    world = World.storm(RED_GIB)
    found, _ = world.pods["uid-spark-1"]
    for i in range(20):
        name = f"job{i}-1"
        ref = replace(found.workload, name=f"job{i}") if found.workload else None
        world.pods[f"uid-{name}"] = (replace(found, namespace=f"b{i}", name=name, uid=f"uid-{name}", workload=ref), 1.2)
    world.level = Level.RED
    world.other_gib = 2.0
    del world.pods["uid-spark-1"], world.pods["uid-spark-2"]
    world.policy = storm_policy(safe_used_ratio=0.3)
    world.run(280)
    assert len(evicted(world)) == 9
    assert world.state.phase is Phase.ESCALATED


def test_yellow_after_a_round_keeps_the_episode_open() -> None:
    """Escalation and further rounds belong to the same episode until the node is GREEN."""
    world = World.storm(RED_GIB, policy=storm_policy(safe_used_ratio=0.8, safeguards=Safeguards(min_pod_share_ratio=0)))
    world.run(90)
    assert (world.state.phase, bool(world.state.episode_id)) == (Phase.WATCHING, True)
    episode = world.state.episode_id
    world.other_gib += 8
    world.level = Level.RED
    world.run(5)
    assert world.state.episode_id == episode and world.state.rounds == 2


def test_a_release_granted_early_is_remembered_until_the_node_is_calm() -> None:
    """The operator need not ask twice; the answer says what it waits for."""
    world = World.storm(RED_GIB)
    world.run(60)
    world.step(Signal(SignalKind.RELEASE, "n1", operator="anna"))
    assert Reason.NOT_CALM_YET in reasons(world) and world.unschedulable
    world.run(420)
    assert not world.unschedulable
    assert world.state.release_granted == ""
