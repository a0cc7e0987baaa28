"""Approval, escalation, rounds, cooldown, stand-down: when an episode waits, and for whom."""

from dataclasses import replace

from core_world import GI, T0, World, storm_policy

from remediator.core.model import (
    Level,
    Mode,
    Phase,
    Signal,
    SignalKind,
    Verdict,
)
from remediator.core.policy import Safeguards
from remediator.core.reason import Reason
from remediator.core.state import (
    ActionKind,
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


def test_the_third_node_waits_for_a_place() -> None:
    """Three other nodes in an episode: this one waits."""
    world = World.storm(RED_GIB)
    world.fleet_states = {n: NodeState(phase=Phase.SETTLING) for n in ("n2", "n3", "n4")}
    world.step()
    assert world.done == [] and Reason.CAP_NODES_ACTING in reasons(world)


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


def test_early_warnings_are_told_once_until_the_node_was_far_from_yellow() -> None:
    """Repeats and resyncs of a warning are not news; after the node was well below YELLOW it is one again."""
    world = World.storm(0.0)
    world.thresholds = {"yellow/enter": 0.60}
    for kind in (SignalKind.ALERT, SignalKind.RESYNC, SignalKind.ALERT):
        world.step(Signal(kind, "n1", "NodeSwapGrowing", starts_at="a" if kind is SignalKind.ALERT else ""))
    assert [n.key for n in world.notices] == ["early:NodeSwapGrowing"]
    world.thresholds = {"yellow/enter": 0.75}
    world.step(Signal(SignalKind.TIMER, "n1"))
    world.step(Signal(SignalKind.ALERT, "n1", "NodeSwapGrowing", starts_at="b"))
    assert [n.key for n in world.notices] == ["early:NodeSwapGrowing"] * 2


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
