"""The guards: what each says, and what it stops."""

from dataclasses import replace
from typing import Any

import pytest
from core_c3 import c3, c3_look, c3_pods, c3_policy, victims
from core_world import GI, MI, T0, memory, situation, usage

from remediator.core.guards import GUARDS, Stops, run
from remediator.core.model import (
    Isolation,
    Level,
    Matcher,
    Mode,
    NodeFacts,
    Phase,
    Silence,
    SilenceFacts,
    Termination,
    Unknown,
)
from remediator.core.modes import node_mode
from remediator.core.policy import Caps, ModeRule, default_ladder
from remediator.core.reason import Reason
from remediator.core.state import (
    Action,
    ActionKind,
    ActionStatus,
    EvictionRecord,
    FleetFacts,
    NodeState,
    Observation,
    OperatorSpec,
    Plan,
)

LEVELS = {"n1": Level.ORANGE, "n2": Level.GREEN, "n3": Level.GREEN}


def spent(count: int, namespace: str = "shop", node: str = "n2", **kw: Any) -> NodeState:
    """A record with evictions of this hour."""
    records = [
        EvictionRecord(
            namespace,
            f"x{i}",
            f"{node}-{i}",
            f"{namespace}/Deployment/x{i}",
            node,
            "p",
            T0 - 1200,
            MI,
            gone_at=T0 - 1190,
        )
        for i in range(count)
    ]
    return NodeState(evictions=tuple(replace(r, **kw) for r in records))


ONE = Caps(evictions_per_hour=1)


def blind(source: str, reason: Reason = Reason.DATA_UNKNOWN) -> Observation:
    """C3 with one source that does not answer."""
    return replace(c3(), **{source: Unknown(source, "no answer", reason)})


CASES: list[tuple[str, Reason, Stops, Observation, NodeState]] = [
    ("off", Reason.MODE_OFF, Stops.EVERYTHING, replace(c3(), spec=OperatorSpec(mode=Mode.OFF)), NodeState()),
    ("paused", Reason.PAUSED, Stops.EVERYTHING, replace(c3(), spec=OperatorSpec(paused=True)), NodeState()),
    ("recovered", Reason.RECOVERED, Stops.ACTING, c3(mem=memory(Level.ORANGE, 16 * GI, 3.3 * GI)), NodeState()),
    ("no node", Reason.NODE_UNKNOWN, Stops.ACTING, blind("cluster", Reason.NODE_UNKNOWN), NodeState()),
    ("two nodes", Reason.NODE_AMBIGUOUS, Stops.ACTING, blind("cluster", Reason.NODE_AMBIGUOUS), NodeState()),
    ("memory", Reason.DATA_UNKNOWN, Stops.ACTING, blind("memory"), NodeState()),
    ("cluster", Reason.DATA_UNKNOWN, Stops.ACTING, blind("cluster"), NodeState()),
    ("usages", Reason.DATA_PARTIAL, Stops.ACTING, blind("usages", Reason.DATA_PARTIAL), NodeState()),
    ("levels", Reason.DATA_UNKNOWN, Stops.ACTING, c3(fleet=FleetFacts(Unknown("prometheus", "no"))), NodeState()),
    ("stale", Reason.DATA_STALE, Stops.ACTING, c3(mem=memory(Level.ORANGE, 16 * GI, GI, at=T0 - 61)), NodeState()),
    (
        "non-pod",
        Reason.NON_POD_MEMORY,
        Stops.RELEASES,
        c3(usages={"report": usage(GI)}),
        NodeState(),
    ),
    (
        "available far below free",
        Reason.IMPLAUSIBLE,
        Stops.ACTING,
        c3(mem=memory(Level.ORANGE, 16 * GI, 1.2 * GI, free_bytes=8 * GI)),
        NodeState(),
    ),
    ("pods above node", Reason.IMPLAUSIBLE, Stops.ACTING, c3(usages={"report": usage(17 * GI)}), NodeState()),
    ("silenced", Reason.SILENCED, Stops.ACTING, c3(silences=SilenceFacts(alert_silenced_by=("s",))), NodeState()),
    ("no silences", Reason.SILENCES_UNKNOWN, Stops.ACTING, blind("silences"), NodeState()),
    (
        "cooldown",
        Reason.NODE_COOLDOWN,
        Stops.ACTING,
        c3(),
        NodeState(phase=Phase.COOLING_DOWN, cooldown_until=T0 + 60),
    ),
    (
        "stood down",
        Reason.KUBELET_EVICTING,
        Stops.ACTING,
        c3(),
        NodeState(phase=Phase.STOOD_DOWN, stood_down_until=T0 + 60),
    ),
    (
        "storm",
        Reason.STORM_BRAKE,
        Stops.RELEASES,
        c3(levels={"n1": Level.RED, "n2": Level.RED, "n3": Level.GREEN}, mem=memory(Level.RED, 16 * GI, GI)),
        NodeState(),
    ),
    (
        "places",
        Reason.CAP_NODES_ACTING,
        Stops.ACTING,
        c3(fleet=FleetFacts(LEVELS, {f"m{i}": NodeState(phase=Phase.ACTING) for i in range(3)})),
        NodeState(),
    ),
    (
        "cordons",
        Reason.CAP_NODES_CORDONED,
        Stops.CORDON,
        c3(fleet=FleetFacts(LEVELS, {"n2": NodeState(isolation=Isolation.CORDONED_BY_US)})),
        NodeState(),
    ),
    (
        "evictions",
        Reason.CAP_EVICTIONS_CLUSTER,
        Stops.EVICT,
        c3(fleet=FleetFacts(LEVELS, {"n2": spent(10)})),
        NodeState(),
    ),
]


@pytest.mark.parametrize(("name", "reason", "stops", "obs", "state"), CASES, ids=[case[0] for case in CASES])
def test_a_guard_speaks_with_its_reason_and_stops_what_is_documented(
    name: str, reason: Reason, stops: Stops, obs: Observation, state: NodeState
) -> None:
    """Each guard by itself, with figures, and what it stops is not in the plan."""
    stopped = run(situation(obs, c3_policy(), state))
    assert (stops, reason) in [(kind, said.reason) for kind, said in stopped.reasons]
    decision = c3_look(obs, state=state)
    assert reason in {r.reason for r in decision.reasons}
    kinds = {action.kind.value for action in decision.plan.actions} if decision.plan else set()
    if Stops.EVICT & stops:
        assert "evict" not in kinds
    if Stops.CORDON & stops:
        assert "cordon" not in kinds
    else:
        assert "cordon" in kinds


def test_nothing_is_stopped_on_c3() -> None:
    """The fixture itself passes every guard."""
    assert run(situation(c3(), c3_policy())).reasons == ()


def test_guards_are_in_the_documented_order() -> None:
    """One literal holds the order."""
    assert [guard.name for guard in GUARDS] == [
        "off_or_paused",
        "recovered",
        "node_unknown",
        "data_unknown",
        "non_pod_memory",
        "implausible",
        "silenced",
        "node_cooldown",
        "kubelet_evicting",
        "storm_brake",
        "cap_nodes_acting",
        "cap_nodes_cordoned",
        "cap_evictions",
        "circuit_breaker",
    ]


def test_only_off_and_paused_stop_undo() -> None:
    """What was taken is given back whatever else happens."""
    assert [guard.name for guard in GUARDS if Stops.UNDO & guard.stops] == ["off_or_paused"]


def test_the_namespace_cap_names_itself() -> None:
    """Five of an hour in shop: its pods stay, another namespace's may go."""
    obs = c3(fleet=FleetFacts(LEVELS, {"n2": spent(5)}))
    decision = c3_look(obs)
    assert victims(decision) == ["cache"]
    rows = {r.pod: r.reason for r in decision.ranking}
    assert rows["report-9c-eeeee"] is Reason.CAP_EVICTIONS_NAMESPACE


def test_observed_evictions_do_not_spend_the_real_caps() -> None:
    """What was only recorded counts only among what is only recorded."""
    obs = c3(fleet=FleetFacts(LEVELS, {"n2": spent(10, observed_only=True)}))
    assert victims(c3_look(obs)) == ["report"]


def test_evictions_older_than_an_hour_are_forgotten() -> None:
    """The caps are per hour."""
    obs = c3(fleet=FleetFacts(LEVELS, {"n2": spent(10, at=T0 - 3601)}))
    assert victims(c3_look(obs)) == ["report"]


def test_the_cordon_cap_lets_a_second_node_be_relieved() -> None:
    """Two RED nodes of ten: the second is relieved without a cordon."""
    levels = {f"n{i}": Level.GREEN for i in range(1, 11)} | {"n2": Level.RED, "n1": Level.RED}
    fleet = FleetFacts(levels, {"n2": NodeState(isolation=Isolation.CORDONED_BY_US, phase=Phase.SETTLING)})
    mem = memory(Level.RED, 16 * GI, 1.2 * GI)
    decision = c3_look(c3(mem=mem, fleet=fleet))
    assert victims(decision) == ["report", "web"]
    assert decision.plan is not None and {a.kind.value for a in decision.plan.actions} == {"evict"}


def performing(*actions: Action, results: tuple[tuple[str, ActionStatus, Reason], ...] = ()) -> NodeState:
    """n2's record between its intent and its results."""
    made = Plan("p2", "n2", "e2", Level.RED, T0 - 1, T0 + 600, 0, actions)
    return NodeState(phase=Phase.ACTING, plan=made, results=results, mode=Mode.ENFORCE)


def test_what_another_node_is_about_to_do_counts() -> None:
    """Two passes in the same second cannot both take the last cordon or the last eviction of the hour."""
    levels = {f"n{i}": Level.GREEN for i in range(1, 11)} | {"n1": Level.RED}
    cordon = Action(ActionKind.CORDON, "n2", "e2")
    evict = Action(ActionKind.EVICT, "n2", "e2", namespace="shop", pod="a", pod_uid="uid-a")
    mem = memory(Level.RED, 16 * GI, 1.2 * GI)
    busy = c3_look(c3(mem=mem, fleet=FleetFacts(levels, {"n2": performing(cordon, evict)})), c3_policy(caps=ONE))
    reasons = {reason.reason for reason in busy.reasons}
    assert busy.plan is None
    assert {Reason.CAP_NODES_CORDONED, Reason.CAP_EVICTIONS_CLUSTER} <= reasons


def test_what_another_node_failed_to_do_does_not_count() -> None:
    """A refused eviction spends nothing."""
    evict = Action(ActionKind.EVICT, "n2", "e2", namespace="shop", pod="a", pod_uid="uid-a")
    refused = ((evict.key, ActionStatus.REFUSED, Reason.DISRUPTION_BUDGET),)
    fleet = FleetFacts(LEVELS, {"n2": performing(evict, results=refused)})
    assert victims(c3_look(c3(fleet=fleet), c3_policy(caps=ONE))) == ["report"]


def test_caps_round_up_to_one_on_small_clusters() -> None:
    """10 % of three nodes is one."""
    assert c3_look(c3(), c3_policy(caps=Caps(nodes_cordoned_ratio=0.1))).plan is not None


def test_low_available_is_plausible_while_tasks_stall() -> None:
    """Reclaim under pressure: available far below free with PSI full is believed."""
    mem = memory(Level.ORANGE, 16 * GI, 1.2 * GI, free_bytes=8 * GI, stall_full_ratio=0.2)
    assert victims(c3_look(c3(mem=mem))) == ["report"]


def test_a_silence_on_one_action_stops_only_that() -> None:
    """`alertname=MemoryRemediation, action=cordon`: evict without a cordon."""
    matchers = (Matcher("alertname", "MemoryRemediation"), Matcher("action", "cordon"))
    decision = c3_look(c3(silences=SilenceFacts((Silence("s", matchers),))))
    assert decision.plan is not None and {a.kind.value for a in decision.plan.actions} == {"evict"}


def test_the_documented_silence_pauses_everything() -> None:
    """`amtool silence add alertname=MemoryRemediation`."""
    silences = SilenceFacts((Silence("s", (Matcher("alertname", "MemoryRemediation"),)),))
    assert c3_look(c3(silences=silences)).plan is None


def test_external_labels_of_the_alert_are_matched() -> None:
    """A silence on cluster=lab holds, for Alertmanager's copy of the alert carries it."""
    silences = SilenceFacts(
        (Silence("s", (Matcher("cluster", "lab"),)),), alert_labels={"cluster": "lab", "node": "n1"}
    )
    assert c3_look(c3(silences=silences)).plan is None


def test_the_storm_brake_is_told_once_for_the_whole_cluster() -> None:
    """Four RED nodes: the first by name tells it."""
    levels = {f"n{i}": Level.RED if i <= 4 else Level.GREEN for i in range(1, 11)}
    mem = memory(Level.RED, 16 * GI, GI)
    told = [n.key for n in c3_look(c3(mem=mem, levels=levels)).notices]
    assert told.count("storm-brake") == 1
    other = {**levels, "n0": Level.RED}
    assert "storm-brake" not in [n.key for n in c3_look(c3(mem=mem, levels=other)).notices]


def test_oom_kill_storm_cordons_without_evicting() -> None:
    """Three kills of three workloads under pressure: closed for maintenance, told, nobody evicted."""
    pods = {
        name: replace(
            pod,
            terminations=(Termination("c", "OOMKilled", 137, T0 - 60, 1, Level.ORANGE),),
        )
        for name, pod in c3_pods().items()
    }
    mem = memory(Level.YELLOW, 16 * GI, 3.4 * GI)
    decision = c3_look(c3(pods, mem=mem), c3_policy(ladder=default_ladder()))
    assert decision.plan is not None
    assert [a.kind.value for a in decision.plan.actions] == ["cordon", "taint"]
    assert any(n.key == "held:oom-storm" for n in decision.notices)
    drained = c3_look(c3(pods, mem=mem), c3_policy(ladder=default_ladder(), maintenance="drain"))
    assert victims(drained) == ["web"]


def test_two_kills_are_no_storm() -> None:
    """At least three, of three workloads."""
    pods = c3_pods()
    died = (Termination("c", "OOMKilled", 137, T0 - 60, 9, Level.ORANGE),)
    pods["web"] = replace(pods["web"], terminations=died)
    pods["report"] = replace(pods["report"], terminations=died)
    assert situation(c3(pods), c3_policy()).oom_storm is None


@pytest.mark.parametrize(
    ("spec", "label", "rules", "expected"),
    [
        (Mode.OFF, "enforce", (), Mode.OFF),
        (None, "approve", (), Mode.APPROVE),
        (None, "enforc", (), Mode.OBSERVE),
        (None, None, (ModeRule({"pool": "batch"}, Mode.APPROVE),), Mode.APPROVE),
        (None, None, (ModeRule({"pool": "other"}, Mode.APPROVE),), Mode.ENFORCE),
        (None, None, (), Mode.ENFORCE),
    ],
)
def test_mode_resolution(spec: Mode | None, label: str | None, rules: tuple[ModeRule, ...], expected: Mode) -> None:
    """spec > label > selectors > default; an unreadable label falls to observe."""
    labels = {"pool": "batch"} | ({"remediator.io/mode": label} if label else {})
    node = NodeFacts("n1", labels=labels, allocatable_bytes=16 * GI)
    obs = replace(c3(node=node), spec=OperatorSpec(mode=spec))
    assert situation(obs, c3_policy(mode_rules=rules)).mode is expected
    assert spec is not None or node_mode(node, c3_policy(mode_rules=rules)) is expected
