"""A pure world around the core: builders for facts, and a node whose pods leave when they are evicted.

`World` plays the reconciler, the API server and the metrics for one node, on a clock the test turns. Nothing
here sleeps, reads or listens.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from remediator.core.model import (
    BudgetFacts,
    ClusterFacts,
    Isolation,
    Level,
    MemoryFacts,
    Mode,
    NodeFacts,
    PodFacts,
    PodUsage,
    ServiceFacts,
    Signal,
    SignalKind,
    SilenceFacts,
    Taint,
    Tier,
    WorkloadFacts,
    WorkloadRef,
)
from remediator.core.planner import after_actions, decide, next_action, recheck
from remediator.core.policy import BusinessRule, LadderStep, Policy, default_ladder
from remediator.core.reason import Reason
from remediator.core.situation import Situation, survey
from remediator.core.state import (
    Action,
    ActionKind,
    ActionResult,
    ActionStatus,
    Decision,
    FleetFacts,
    NodeState,
    Observation,
    OperatorSpec,
    Plan,
)
from remediator.core.tracking import CORDONED_BY, track

GI = 1024**3
MI = 1024**2
T0 = 1_800_000_000.0
SERVING = "remediator.io/serving"


def pod(name: str, *, ns: str = "shop", kind: str | None = "Deployment", owner: str = "", **kw: Any) -> PodFacts:
    """A running, ready pod, one hour old; `owner` defaults to the name's first word."""
    ref = WorkloadRef(ns, kind, owner or name.split("-", maxsplit=1)[0]) if kind else None
    values: dict[str, Any] = {
        "uid": f"uid-{name}",
        "node": "n1",
        "created_at": T0 - 3600,
        "workload": ref,
        "priority": 0,
    }
    return PodFacts(ns, name, **{**values, **kw})


def usage(size: float, *, at: float = T0, **kw: Any) -> PodUsage:
    """Working set and releasable bytes of the same size."""
    return PodUsage(int(size), kw.pop("releasable", int(size)), at, **kw)


def workload(ref: WorkloadRef, ready: int = 3, desired: int | None = None, **kw: Any) -> WorkloadFacts:
    """A healthy controller."""
    return WorkloadFacts(ref, ready if desired is None else desired, ready, **kw)


def workloads_of(pods: Iterable[PodFacts], **ready: int) -> dict[WorkloadRef, WorkloadFacts]:
    """Three ready replicas each, unless said otherwise by name."""
    refs = {p.workload for p in pods if p.workload is not None}
    return {ref: workload(ref, ready.get(ref.name, 3)) for ref in refs}


def peer(name: str, **kw: Any) -> NodeFacts:
    """A node with plenty of room."""
    return NodeFacts(name, allocatable_bytes=kw.pop("allocatable", 64 * GI), **kw)


def memory(level: Level, total: float, available: float, *, at: float = T0, **kw: Any) -> MemoryFacts:
    """Node memory."""
    return MemoryFacts(level, int(total), int(available), at, **kw)


def policy(**kw: Any) -> Policy:
    """Enforce, everything else as shipped."""
    return Policy(**{"mode": Mode.ENFORCE, **kw})


def observation(
    pods: Iterable[PodFacts],
    usages: Mapping[str, PodUsage],
    mem: MemoryFacts,
    *,
    node: NodeFacts | None = None,
    peers: tuple[NodeFacts, ...] = (),
    at: float = T0,
    **kw: Any,
) -> Observation:
    """One node n1 with two roomy peers, nothing silenced, everybody else GREEN."""
    pods = tuple(pods)
    peers = peers or (peer("n2"), peer("n3"))
    cluster = ClusterFacts(
        node or NodeFacts("n1", allocatable_bytes=mem.total_bytes),
        pods,
        kw.pop("workloads", None) or workloads_of(pods),
        kw.pop("budgets", ()),
        kw.pop("services", ()),
        peers,
    )
    levels = {p.name: Level.GREEN for p in peers} | {"n1": mem.level}
    values: dict[str, Any] = {
        "memory": mem,
        "cluster": cluster,
        "usages": usages,
        "silences": SilenceFacts(),
        "fleet": FleetFacts(levels),
    }
    return Observation("n1", at, **{**values, **kw})


def situation(obs: Observation, pol: Policy, state: NodeState | None = None, now: float = T0) -> Situation:
    """The situation of one look."""
    signal = Signal(SignalKind.ALERT, "n1", "NodeMemoryPressure")
    return survey(track(state or NodeState(), obs, pol, now), signal, obs, pol, now)


def look(
    obs: Observation,
    pol: Policy,
    state: NodeState | None = None,
    now: float = T0,
    signal: Signal | None = None,
) -> Decision:
    """One decision."""
    return decide(state or NodeState(), signal or Signal(SignalKind.ALERT, "n1", "NodeMemoryPressure"), obs, pol, now)


# --- the storm -----------------------------------------------------------------------------------------


def storm_policy(**kw: Any) -> Policy:
    """The drill's policy: down to 62 %, tiers declared."""
    business = (
        BusinessRule(Tier.CRITICAL, workload="kafka"),
        BusinessRule(Tier.IMPORTANT, workload="api*"),
        BusinessRule(Tier.OFFLINE, workload="spark*"),
        BusinessRule(Tier.LOW, workload="shipper"),
    )
    return policy(**{"safe_used_ratio": 0.62, "business": business, **kw})


def storm_pods() -> list[tuple[PodFacts, float]]:
    """(pod, GiB) of the storm's node."""
    labels = {"app": "api", SERVING: "true"}
    return [
        (
            pod(
                "kafka-0",
                ns="data",
                kind="StatefulSet",
                volumes=frozenset({"pvc"}),
                request_bytes=16 * GI // 3,
            ),
            8,
        ),
        (pod("api-1", labels=labels, request_bytes=2 * GI), 3),
        (pod("api-2", labels=labels, request_bytes=2 * GI), 3),
        (pod("spark-1", ns="batch", kind="Job", request_bytes=6 * GI), 9),
        (pod("spark-2", ns="batch", kind="Job", request_bytes=6 * GI), 9),
        (pod("shipper-1", ns="logging", request_bytes=2 * GI), 3),
    ]


def level_for(used_ratio: float) -> Level:
    """Stand-in for the rules, for worlds only."""
    bounds = ((0.92, Level.RED), (0.85, Level.ORANGE), (0.75, Level.YELLOW))
    return next((level for bound, level in bounds if used_ratio >= bound), Level.GREEN)


Responder = Callable[[Action], tuple[ActionStatus, Reason] | None]


@dataclass
class World:
    """One node: pods with their GiB, memory taken by others, and the reconciler's loop around `decide`."""

    policy: Policy = field(default_factory=storm_policy)
    pods: dict[str, tuple[PodFacts, float]] = field(default_factory=dict)
    other_gib: float = 0.0
    total_gib: float = 64.0
    now: float = T0
    state: NodeState = field(default_factory=NodeState)
    spec: OperatorSpec = field(default_factory=OperatorSpec)
    silences: Any = field(default_factory=SilenceFacts)
    unschedulable: bool = False
    annotations: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    budgets: tuple[BudgetFacts, ...] = ()
    termination_seconds: float = 3.0
    level: Level | None = None
    fleet_states: dict[str, NodeState] = field(default_factory=dict)
    fleet_levels: dict[str, Level] = field(default_factory=lambda: {"n2": Level.GREEN, "n3": Level.GREEN})
    responder: Responder = lambda action: None
    done: list[Action] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    notices: list[Any] = field(default_factory=list)
    ready_api: int = 6
    thresholds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def storm(cls, other_gib: float, **kw: Any) -> "World":
        """The storm's node with `other_gib` outside pods (its 3 GiB of system included)."""
        return cls(pods={p.uid: (p, gib) for p, gib in storm_pods()}, other_gib=other_gib, **kw)

    @property
    def used_ratio(self) -> float:
        """Used by pods and others."""
        return (sum(gib for _, gib in self.pods.values()) + self.other_gib) / self.total_gib

    def observe(self) -> Observation:
        """What the adapters would say now."""
        self._kubelet()
        pods = [p for p, _ in self.pods.values()]
        mem = memory(
            self.level if self.level is not None else level_for(self.used_ratio),
            self.total_gib * GI,
            (1 - self.used_ratio) * self.total_gib * GI,
            at=self.now,
            thresholds=self.thresholds,
        )
        usages = {p.uid: usage(gib * GI, at=self.now) for p, gib in self.pods.values()}
        node = NodeFacts(
            "n1",
            annotations=dict(self.annotations),
            taints=self.taints,
            unschedulable=self.unschedulable,
            allocatable_bytes=mem.total_bytes,
        )
        drained = {record.uid for record in self.state.drained}
        serving = frozenset(p.uid for p in pods if p.labels.get(SERVING) and p.uid not in drained)
        selector = {"app": "api", SERVING: "true"}
        service = ServiceFacts("shop", "api", selector, self.ready_api, serving)
        obs = observation(pods, usages, mem, node=node, at=self.now, services=(service,), budgets=self.budgets)
        levels = {**self.fleet_levels, "n1": mem.level}
        fleet = FleetFacts(levels, {**self.fleet_states, "n1": self.state})
        return replace(obs, spec=self.spec, silences=self.silences, fleet=fleet)

    def _kubelet(self) -> None:
        for uid, (p, _) in list(self.pods.items()):
            if p.terminating_since is not None and self.now - p.terminating_since >= self.termination_seconds:
                del self.pods[uid]

    def step(self, signal: Signal | None = None, *, crash_after: int | None = None) -> Decision:
        """One pass: decide, perform, fold. `crash_after` N actions: the rest and the folding are lost."""
        signal = signal or Signal(SignalKind.TIMER, "n1")
        decision = decide(self.state, signal, self.observe(), self.policy, self.now)
        self.decisions.append(decision)
        self.notices += decision.notices
        self.state = decision.next_state
        if decision.plan is not None:
            self._perform(decision, decision.plan, crash_after)
        return decision

    def _perform(self, decision: Decision, plan: Plan, crash_after: int | None) -> None:
        results: list[ActionResult] = []
        while (action := next_action(plan, decision.ranking, results, self.policy)) is not None:
            if crash_after is not None and len(results) >= crash_after:
                return
            why = recheck(action, self.observe(), self.policy, self.now)
            if why is not None and (action.irreversible or action.undo):
                results.append(ActionResult(action, ActionStatus.SKIPPED, why.reason, self.now, why.detail))
                continue
            results.append(self._act(action, decision.mode))
        if crash_after is None:
            self.state = after_actions(self.state, results, self.now)

    def _act(self, action: Action, mode: Mode) -> ActionResult:
        if mode is Mode.OBSERVE:
            return ActionResult(action, ActionStatus.DONE, Reason.DRY_RUN, self.now)
        answer = self.responder(action)
        if answer is None:
            self._take_effect(action)
            answer = (ActionStatus.DONE, Reason.ACCEPTED)
        return ActionResult(action, *answer, self.now)

    def _take_effect(self, action: Action) -> None:
        self.done.append(action)
        match action.kind:
            case ActionKind.CORDON:
                self.unschedulable, self.annotations[CORDONED_BY] = True, action.episode_id
            case ActionKind.TAINT:
                self.taints = (Taint("memory-pressure", "critical", "NoSchedule"),)
            case ActionKind.UNTAINT:
                self.taints = ()
            case ActionKind.UNCORDON:
                self.unschedulable = False
                self.annotations.pop(CORDONED_BY, None)
            case ActionKind.EVICT:
                found, gib = self.pods[action.pod_uid]
                self.pods[action.pod_uid] = (replace(found, terminating_since=self.now), gib)
            case ActionKind.DRAIN_ENDPOINTS | ActionKind.RESTORE_ENDPOINTS:
                found, gib = self.pods[action.pod_uid]
                labels = {k: v for k, v in found.labels.items() if k != action.label}
                if action.kind is ActionKind.RESTORE_ENDPOINTS:
                    labels[action.label] = action.label_value
                self.ready_api += 1 if action.kind is ActionKind.RESTORE_ENDPOINTS else -1
                self.pods[action.pod_uid] = (replace(found, labels=labels), gib)

    def run(self, seconds: float, every: float = 5.0) -> None:
        """Turn the clock, looking when due and at least `every` seconds."""
        until = self.now + seconds
        while self.now < until:
            due = self.state.due_at
            soon = self.now + every if due is None else min(max(due, self.now + 0.1), self.now + every)
            self.now = min(until, soon)
            self.step()

    def kinds(self) -> list[str]:
        """What was done, in order."""
        return [f"{a.kind}:{a.pod}" if a.pod else a.kind.value for a in self.done]

    @property
    def isolation(self) -> Isolation:
        """Our isolation, as remembered."""
        return self.state.isolation


def any_tier_ladder() -> dict[Level, LadderStep]:
    """The regression cases' ladder: ORANGE cordons and may evict one pod of any tier but critical at once."""
    tiers = (Tier.OFFLINE, Tier.LOW, Tier.STANDARD, Tier.IMPORTANT)
    orange = LadderStep(cordon=True, evict_tiers=tiers, max_pods_per_round=1, max_rounds=1)
    return {**default_ladder(), Level.ORANGE: orange}
