"""Whatever happens, in whatever order: no exception, no forbidden act, no pod evicted twice, no dead end."""

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from core_world import GI, T0, World, memory, storm_policy
from hypothesis import given, settings
from hypothesis import strategies as st

from remediator.core.alerts import MalformedWebhook, parse_webhook
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
from remediator.core.policy import Policy
from remediator.core.reason import Reason
from remediator.core.state import Action, ActionKind, ActionStatus, NodeState, OperatorSpec, Plan

PLAN = Plan("p1", "n1", "n1-e", Level.RED, T0 - 10, T0 + 100, 10 * GI, (Action(ActionKind.CORDON, "n1", "n1-e"),))
SOURCES = ("memory", "cluster", "usages", "silences", "fleet.levels")


@pytest.mark.parametrize(
    ("phase", "signal", "mode"), list(product(Phase, SignalKind, (Mode.ENFORCE, Mode.OBSERVE, Mode.APPROVE, Mode.OFF)))
)
def test_every_phase_takes_every_signal_at_every_level_with_every_source_missing(
    phase: Phase, signal: SignalKind, mode: Mode
) -> None:
    """decide answers; blind it performs nothing that takes; the phase is one the table allows."""
    for level, source, isolation in product(Level, (None, *SOURCES), Isolation):
        world = World.storm(24.52, policy=storm_policy(mode=mode), level=level)
        state = NodeState(
            phase=phase,
            isolation=isolation,
            isolated_at=T0 - 500,
            isolation_episode_id="n1-e",
            episode_id="n1-e",
            plan=PLAN,
            acted_at=T0 - 5,
            round_started_at=T0 - 6,
            cooldown_until=T0 + 5,
            stood_down_until=T0 + 5,
            escalated_until=T0 + 5,
            level=Level.GREEN,
            green_since=T0 - 1000,
        )
        observation = world.observe()
        if source == "fleet.levels":
            observation = replace(observation, fleet=replace(observation.fleet, levels=Unknown("prometheus", "x")))
        elif source is not None:
            observation = replace(observation, **{source: Unknown(source, "x")})
        decision = decide(state, Signal(signal, "n1", plan_id="p1"), observation, world.policy, T0)
        acts = [a for a in decision.plan.actions if not a.undo] if decision.plan else []
        assert not (source and acts)
        assert not (mode is Mode.OFF and decision.plan)
        assert decision.reasons and decision.next_state.message
        assert (decision.verdict is Verdict.ALLOW) == (decision.plan is not None)
        assert decision.next_state.phase is Phase.ACTING or not acts


events = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "wait",
                "spike",
                "relief",
                "crash",
                "silence",
                "unsilence",
                "refuse",
                "timeout",
                "obey",
                "uncordon",
                "release",
                "approve",
                "reject",
                "slow",
                "pause",
                "resume",
                "forget",
            ]
        ),
        st.integers(1, 400),
    ),
    max_size=14,
)


def apply(world: World, event: str, amount: int) -> None:  # noqa: C901, PLR0912 - one case per event
    """One thing that can happen to a node."""
    answers: dict[str, Any] = {
        "refuse": (ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET),
        "timeout": (ActionStatus.UNKNOWN, Reason.TIMED_OUT),
    }
    match event:
        case "spike":
            world.other_gib = min(40.0, world.other_gib + amount / 10)
        case "relief":
            world.other_gib = max(0.0, world.other_gib - amount / 5)
        case "crash":
            world.now += 1
            world.step(crash_after=amount % 5)
        case "silence":
            world.silences = SilenceFacts((Silence("s", (Matcher("namespace", "batch"),)),))
        case "unsilence":
            world.silences = SilenceFacts()
        case "refuse" | "timeout":
            world.responder = lambda a: answers[event] if a.kind is ActionKind.EVICT else None
        case "obey":
            world.responder = lambda a: None
        case "uncordon":
            world.unschedulable = False
        case "release":
            world.spec = replace(world.spec, release=world.state.isolation_episode_id)
        case "approve":
            plan = world.state.plan
            world.spec = replace(world.spec, approved_plan=plan.id if plan else "")
        case "reject":
            plan = world.state.plan
            world.spec = replace(world.spec, rejected_plan=plan.id if plan else "")
        case "slow":
            world.termination_seconds = float(amount)
        case "pause" | "resume":
            world.spec = replace(world.spec, paused=event == "pause")
        case "forget":
            world.state = NodeState()
    world.run(amount, every=15)


@settings(max_examples=60, deadline=None)
@given(events, st.sampled_from([Mode.ENFORCE, Mode.APPROVE]))
def test_no_story_breaks_the_promises(story: list[tuple[str, int]], mode: Mode) -> None:
    """Random histories: nobody protected goes, nobody goes twice, and in the end the node is given back."""
    world = World.storm(17.0, policy=storm_policy(mode=mode, release="auto"))
    for event, amount in story:
        apply(world, event, amount)
    gone = Counter(a.pod_uid for a in world.done if a.kind is ActionKind.EVICT)
    assert all(times == 1 for times in gone.values())
    assert not {"uid-kafka-0", "uid-api-1", "uid-api-2"} & set(gone)
    apply(world, "obey", 1)
    world.spec, world.silences, world.other_gib, world.termination_seconds = OperatorSpec(), SilenceFacts(), 0.0, 3.0
    world.run(3600, every=15)
    assert (world.state.phase, world.isolation) == (Phase.WATCHING, Isolation.NONE)
    assert (world.state.drained, world.state.due_at) == ((), None)
    assert not world.unschedulable


@settings(max_examples=40, deadline=None)
@given(events)
def test_observe_mode_never_touches_anything(story: list[tuple[str, int]]) -> None:
    """Not one action reaches the cluster, whatever happens."""
    world = World.storm(17.0, policy=storm_policy(mode=Mode.OBSERVE))
    for event, amount in story:
        apply(world, event, amount)
    assert world.done == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
alerts = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["firing", "resolved", "x", 1, None]),
        "labels": st.dictionaries(
            st.sampled_from(["alertname", "node", "level", "x"]), st.sampled_from(["A", "red", "", 1])
        )
        | json_values,
        "fingerprint": json_values,
        "startsAt": json_values,
    },
)


@settings(max_examples=200, deadline=None)
@given(
    json_values | st.fixed_dictionaries({"version": st.just("4"), "alerts": st.lists(alerts | json_values, max_size=4)})
)
def test_any_body_is_parsed_or_refused_by_name(payload: Any) -> None:
    """Never another exception; each alert is a signal or a rejection."""
    try:
        parsed = parse_webhook(payload, ["A"])
    except MalformedWebhook as refused:
        assert refused.field and refused.fix
        return
    assert len(parsed.signals) + len(parsed.rejections) == len(payload["alerts"])


def test_planning_is_pure_and_small(benchmark_pods: int = 250) -> None:
    """A node of 250 pods is ranked whole."""
    world = World.storm(24.52)
    found, gib = world.pods["uid-spark-1"]
    for i in range(benchmark_pods):
        world.pods[f"x{i}"] = (replace(found, name=f"x{i}", uid=f"x{i}"), gib / 100)
    decision = decide(NodeState(), Signal(SignalKind.TIMER, "n1"), world.observe(), world.policy, T0)
    assert len(decision.ranking) == benchmark_pods + 6
    assert isinstance(world.policy, Policy) and memory(Level.RED, 1, 0)
