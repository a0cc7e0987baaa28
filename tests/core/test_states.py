"""Any remembered state, however odd, with any observation: a decision, a legal phase, nothing forgotten."""

from dataclasses import replace

from core_world import GI, T0, World, storm_policy
from hypothesis import given, settings
from hypothesis import strategies as st

from remediator.core.lifecycle import PHASES
from remediator.core.model import (
    Isolation,
    Level,
    Mode,
    Phase,
    Signal,
    SignalKind,
    Strategy,
    Tier,
    Unknown,
    WorkloadRef,
)
from remediator.core.planner import decide
from remediator.core.reason import Reason
from remediator.core.state import (
    Action,
    ActionKind,
    ActionStatus,
    DrainRecord,
    EvictionRecord,
    NodeState,
    OperatorSpec,
    Outcome,
    OutcomeKind,
    Plan,
    ScaleRecord,
)

times = st.none() | st.sampled_from([T0 - 4000, T0 - 700, T0 - 60, T0 - 1, T0, T0 + 1, T0 + 700])
pods = st.sampled_from(["spark-1", "spark-2", "api-1", "gone-1"])


@st.composite
def plans(draw: st.DrawFn) -> Plan | None:
    """A plan of this node, or none."""
    if draw(st.booleans()):
        return None
    names = draw(st.lists(pods, max_size=3, unique=True))
    evictions = tuple(
        Action(ActionKind.EVICT, "n1", "n1-e", "batch", n, f"uid-{n}", tier=Tier.OFFLINE, expected_bytes=GI)
        for n in names
    )
    node = (Action(ActionKind.CORDON, "n1", "n1-e"), Action(ActionKind.TAINT, "n1", "n1-e"))
    actions = (*(node if draw(st.booleans()) else ()), *evictions)
    return Plan("p1", "n1", "n1-e", draw(st.sampled_from(Level)), T0 - 9, draw(times) or T0 + 9, 9 * GI, actions)


@st.composite
def states(draw: st.DrawFn) -> NodeState:
    """Any record that could have been read back."""
    evictions = tuple(
        EvictionRecord(
            "batch",
            name,
            f"uid-{name}",
            "batch/Job/spark",
            "n1",
            "p1",
            draw(times) or T0 - 5,
            GI,
            strategy=Strategy.PRESSURE,
            gone_at=draw(times),
            observed_only=draw(st.booleans()),
            uncertain=draw(st.booleans()),
            episode_id=draw(st.sampled_from(["", "n1-e"])),
        )
        for name in draw(st.lists(pods, max_size=2, unique=True))
    )
    results = tuple(
        (f"evict:uid-{name}", draw(st.sampled_from(ActionStatus)), Reason.ACCEPTED)
        for name in draw(st.lists(pods, max_size=2, unique=True))
    )
    outcomes = (Outcome(OutcomeKind.NO_EFFECT, "n1-e", T0 - 9, 0, 0, 0.9, 0.9, Level.RED, Level.RED),)
    ref = WorkloadRef("shop", "Deployment", "api")
    return NodeState(
        phase=draw(st.sampled_from(Phase)),
        isolation=draw(st.sampled_from(Isolation)),
        isolation_observed=draw(st.booleans()),
        level=draw(st.none() | st.sampled_from(Level)),
        level_since=draw(times),
        mode=draw(st.none() | st.sampled_from(Mode)),
        episode_id=draw(st.sampled_from(["", "n1-e"])),
        rounds=draw(st.integers(0, 4)),
        plan=draw(plans()),
        results=results,
        settle_until=draw(times),
        cooldown_until=draw(times),
        stood_down_until=draw(times),
        escalated_until=draw(times),
        green_since=draw(times),
        isolated_at=draw(times),
        isolation_episode_id=draw(st.sampled_from(["", "n1-e"])),
        hands_off_until=draw(times),
        round_started_at=draw(times),
        acted_at=draw(times),
        red_acted_at=draw(times),
        evictions=evictions,
        drained=(DrainRecord("shop", "api-1", "uid-api-1", "l", "true", T0 - 9),) if draw(st.booleans()) else (),
        scaled=(ScaleRecord(ref, 3, 0, T0 - 9),) if draw(st.booleans()) else (),
        outcomes=outcomes if draw(st.booleans()) else (),
    )


@settings(max_examples=300, deadline=None)
@given(
    states(),
    st.sampled_from([0.0, 17.5, 21.9, 24.5]),
    st.sampled_from(Mode),
    st.sampled_from(SignalKind),
    st.none() | st.sampled_from(["memory", "cluster", "usages", "silences"]),
    st.booleans(),
    st.sampled_from(["", "p1"]),
)
def test_any_state_gives_a_decision_and_a_legal_phase(
    state: NodeState, other: float, mode: Mode, kind: SignalKind, blind: str | None, cordoned: bool, rejected: str
) -> None:
    """No exception; the phase is one that the table leads to; performed plans are in the record."""
    world = World.storm(other, policy=storm_policy(mode=mode), unschedulable=cordoned)
    world.spec = OperatorSpec(approved_plan="p1", rejected_plan=rejected)
    observation = world.observe()
    if blind:
        observation = replace(observation, **{blind: Unknown(blind, "x")})
    decision = decide(state, Signal(kind, "n1", plan_id="p1"), observation, world.policy, T0)
    after, reachable = decision.next_state.phase, {state.phase}
    while (wider := reachable | {to for (frm, _), to in PHASES.items() if frm in reachable}) != reachable:
        reachable = wider
    assert after in reachable
    assert decision.requeue_after_seconds is None or decision.requeue_after_seconds >= 0
    if after is Phase.ACTING and decision.plan is not None:
        assert decision.next_state.plan is not None
        assert {a.key for a in decision.plan.actions} <= {a.key for a in decision.next_state.plan.actions}
    if decision.plan is not None and any(not a.undo for a in decision.plan.actions):
        assert after is Phase.ACTING


@settings(max_examples=150, deadline=None)
@given(states(), st.sampled_from([0.0, 24.5]), st.sampled_from([Mode.ENFORCE, Mode.APPROVE]))
def test_evictions_of_a_crashed_pass_are_never_forgotten(state: NodeState, other: float, mode: Mode) -> None:
    """Found in ACTING: every pod of the plan that is gone is in the evictions afterwards, whatever else happens."""
    world = World.storm(other, policy=storm_policy(mode=mode))
    state = replace(state, phase=Phase.ACTING)
    decision = decide(state, Signal(SignalKind.TIMER, "n1"), world.observe(), world.policy, T0)
    if state.plan is not None:
        gone = {a.pod_uid for a in state.plan.actions if a.pod_uid == "uid-gone-1"}
        assert gone <= {e.uid for e in decision.next_state.evictions}


def test_a_crash_is_not_forgotten_while_the_cluster_is_silent_or_the_kubelet_evicts() -> None:
    """ACTING is kept until somebody can say who has left; standing down keeps the evictions too."""
    world = World.storm(24.52)
    world.step(crash_after=4)
    blind = replace(world.observe(), cluster=Unknown("kubernetes", "no answer"))
    kept = decide(world.state, Signal(SignalKind.TIMER, "n1"), blind, world.policy, T0 + 1).next_state
    assert kept.phase is Phase.ACTING and kept.plan is not None
    dead = replace(
        world.pods["uid-shipper-1"][0],
        uid="uid-dead",
        phase="Failed",
        status_reason="Evicted",
        status_message="low on resource: memory",
        ended_at=T0,
    )
    world.pods["uid-dead"] = (dead, 0.0)
    world.step()
    assert world.state.phase is Phase.STOOD_DOWN
    assert {e.pod for e in world.state.evictions} == {"spark-1", "spark-2"}
