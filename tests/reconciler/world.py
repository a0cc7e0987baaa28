"""A small world behind the ports: one view of nodes, pods, records and leases, with its own clock.

Evicted pods terminate and are gone at the next tick; memory follows. It can die at any call (`Crash`), as a
process does that is killed: what was done before the call stays done.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from typing import Any

from remediator.core.model import (
    ClusterFacts,
    Level,
    MemoryFacts,
    Mode,
    NodeFacts,
    PodFacts,
    PodUsage,
    Rejection,
    Signal,
    SignalKind,
    SilenceFacts,
    Taint,
    Tier,
    Unknown,
    WorkloadFacts,
    WorkloadRef,
)
from remediator.core.policy import BusinessRule, Policy, Safeguards
from remediator.core.reason import Reason
from remediator.core.state import (
    Action,
    ActionKind,
    ActionResult,
    ActionStatus,
    NodeState,
    Notice,
    OperatorSpec,
)
from remediator.reconciler import Ports, Reconciler
from remediator.reconciler.places import Places
from remediator.reconciler.ports import RecordConflictError, Trend
from remediator.reconciler.telling import Teller

GIB = 2**30
POLICY = Policy(
    mode=Mode.ENFORCE,
    safe_used_ratio=0.62,
    safeguards=Safeguards(min_pod_share_ratio=0.0),
    business=(
        BusinessRule(Tier.OFFLINE, namespace="batch"),
        BusinessRule(Tier.LOW, namespace="logging"),
        BusinessRule(Tier.IMPORTANT, namespace="shop"),
        BusinessRule(Tier.CRITICAL, namespace="data"),
    ),
)


class Crash(BaseException):
    """The process is killed here."""


class Inline(Executor):
    """An executor that runs at once, in the caller's thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Run it now."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class StoredRecord:
    """A NodeRemediation as loaded."""

    node: str
    state: NodeState = field(default_factory=NodeState)
    spec: OperatorSpec = field(default_factory=OperatorSpec)
    resource_version: str = ""


def pod(namespace: str, name: str, gib: float, *, kind: str = "Deployment", ready: bool = True) -> PodFacts:
    """A pod of a workload of its name, an hour old."""
    return PodFacts(
        namespace=namespace,
        name=f"{name}-0",
        uid=f"uid-{name}",
        node="n1",
        ready=ready,
        created_at=-3600.0,
        labels={"app": name},
        workload=WorkloadRef(namespace, kind, name),
        priority=0,
        request_bytes=int(gib * GIB * 2 / 3),
    )


class World:
    """Everything outside, shared by all replicas."""

    def __init__(self) -> None:
        self.now = 10_000.0
        self.total = 64 * GIB
        self.host_used = 28 * GIB
        self.red_above = 0.89
        self.pods: dict[str, tuple[PodFacts, int]] = {}
        for each, gib in (
            (pod("batch", "spark-a", 9, kind="Job"), 9),
            (pod("batch", "spark-b", 9, kind="Job"), 9),
            (pod("logging", "shipper", 3), 3),
            (pod("shop", "api", 3), 3),
            (pod("data", "kafka", 8, kind="StatefulSet"), 8),
        ):
            self.pods[each.uid] = (each, gib * GIB)
        self.level = Level.RED
        self.node = NodeFacts("n1", uid="node-1", allocatable_bytes=self.total)
        self.peers = tuple(NodeFacts(f"n{i}", allocatable_bytes=self.total) for i in range(2, 7))
        self.records: dict[str, StoredRecord] = {}
        self.leases: dict[str, str] = {}
        self.evictions: list[str] = []
        self.acts: list[str] = []
        self.audit: list[Mapping[str, Any]] = []
        self.notices: list[Notice] = []
        self.events: list[str] = []
        self.answers: dict[str, ActionResult | tuple[ActionStatus, Reason]] = {}
        self.silences: SilenceFacts | Unknown | Exception = SilenceFacts()
        self.die_at: int | None = None
        self.calls = 0
        self.before_act: Callable[[Action], None] = lambda action: None
        self.audit_broken = False
        self.prometheus_gone = False

    def step(self) -> None:
        """One call to the outside: the place where a killed process may die."""
        self.calls += 1
        if self.die_at is not None and self.calls == self.die_at:
            raise Crash

    def tick(self, seconds: float) -> None:
        """Time passes: terminating pods are gone, the level follows the memory."""
        self.now += seconds
        for uid in [uid for uid, (each, _) in self.pods.items() if each.terminating_since is not None]:
            del self.pods[uid]
        used = self.used / self.total
        self.level = Level.RED if used > self.red_above else Level.YELLOW if used > 0.72 else Level.GREEN

    @property
    def used(self) -> int:
        """Bytes in use on n1."""
        return self.host_used + sum(size for _, size in self.pods.values())

    def say(self, node: str, words: Mapping[str, Any], operator: str) -> None:
        """An operator's words into the record's spec."""
        stored = self.records.get(node, StoredRecord(node, resource_version="0"))
        fields = {"approvedPlan": "approved_plan", "rejectedPlan": "rejected_plan", "paused": "paused", "mode": "mode"}
        named = {fields[word]: value for word, value in words.items()}
        by = {name.split("_")[0] + "_by": operator for name in named if name.endswith("_plan")}
        self.records[node] = replace(stored, spec=replace(stored.spec, **named, **by))

    def replica(self, name: str = "a", policy: Policy = POLICY, *, records: Any = None, **more: Any) -> Reconciler:
        """A process of the product looking at this world, with records of its own or elsewhere."""
        eyes = Eyes(self)
        real = Hands(self)
        ports = Ports(
            metrics=eyes,
            cluster=eyes,
            silences=eyes,
            records=records or Shelf(self),
            leases=Locks(self, name),
            actuators={
                Mode.OBSERVE: Pencil(self),
                Mode.OFF: Pencil(self),
                Mode.APPROVE: real,
                Mode.ENFORCE: real,
            },
        )
        mouth = Mouth(self)
        teller = Teller(mouth, mouth, mouth, policy, identity=name, config_hash="c0ffee")
        places = Places(ports.leases, pause=lambda seconds: None, monotonic=lambda: self.now)
        return Reconciler(ports, teller, policy, pool=Inline(), clock=lambda: self.now, places=places, **more)


@dataclass
class Eyes:
    """Metrics, cluster and silences."""

    world: World

    def now(self) -> float | Unknown:
        """The world's clock."""
        return Unknown("prometheus", "gone") if self.world.prometheus_gone else self.world.now

    def memory(self, node: str) -> MemoryFacts | Unknown:
        """n1's memory."""
        if self.world.prometheus_gone:
            return Unknown("prometheus", "gone")
        available = self.world.total - self.world.used
        return MemoryFacts(self.world.level, self.world.total, available, self.world.now, free_bytes=available)

    def usages(self, node: str) -> Mapping[str, PodUsage] | Unknown:
        """Every pod's use."""
        if self.world.prometheus_gone:
            return Unknown("prometheus", "gone")
        return {uid: PodUsage(size, size, self.world.now) for uid, (_, size) in self.world.pods.items()}

    def levels(self) -> Mapping[str, Level] | Unknown:
        """n1 as it is, the others GREEN."""
        return {"n1": self.world.level, **{peer.name: Level.GREEN for peer in self.world.peers}}

    def used_ratios(self, seconds: float) -> Mapping[str, Trend] | Unknown:
        """n1's last moment."""
        return {"n1": [(self.world.now, self.world.used / self.world.total)]}

    def levels_at(self, node: str, times: Sequence[float]) -> Mapping[float, Level] | Unknown:
        """Nobody remembers."""
        return {}

    def firing(self, alertnames: Sequence[str]) -> Sequence[Signal] | Unknown:
        """n1's alert."""
        return [alert(self.world.level)] if self.world.level else []

    def snapshot(self, node: str) -> ClusterFacts | Unknown:
        """n1 with its pods."""
        self.world.step()
        pods = tuple(each for each, _ in self.world.pods.values())
        workloads = {each.workload: WorkloadFacts(each.workload, 2, 2) for each in pods if each.workload}
        return ClusterFacts(self.world.node, pods, workloads, peers=self.world.peers)

    def node_for(self, labels: Mapping[str, str]) -> str | Rejection:
        """By its label."""
        return labels["node"]

    def pod_uid(self, namespace: str, name: str) -> str | Unknown | None:
        """Whoever has the name now."""
        found = [p for p, _ in self.world.pods.values() if (p.namespace, p.name) == (namespace, name)]
        return found[0].uid if found else None

    def config_map(self, name: str) -> str | Unknown | None:
        """There is none."""
        return None

    def ledger_holders(self) -> Mapping[str, tuple[NodeFacts, tuple[PodFacts, ...]]] | Unknown:
        """n1 with its pods."""
        return {"n1": (self.world.node, tuple(each for each, _ in self.world.pods.values()))}

    def isolated_by_us(self) -> Sequence[str] | Unknown:
        """n1 when it carries our mark."""
        return ["n1"] if "remediator.io/cordoned-by" in self.world.node.annotations else []

    def read(self, signal_or_node: str, alertname: str, level: Level | None) -> SilenceFacts | Unknown:
        """The world's silences."""
        if isinstance(self.world.silences, Exception):
            raise self.world.silences
        return self.world.silences


@dataclass
class Hands:
    """The real actuator."""

    world: World

    def perform(self, action: Action) -> ActionResult:
        """Do it, unless the test wants another answer; may die before and after."""
        world = self.world
        world.before_act(action)
        world.step()
        answer = world.answers.get(action.key)
        if answer is not None:
            assert isinstance(answer, tuple)
            return ActionResult(action, answer[0], answer[1], world.now)
        world.acts.append(action.key)
        self._do(action)
        world.step()
        return ActionResult(action, ActionStatus.DONE, Reason.ACCEPTED, world.now)

    def _do(self, action: Action) -> None:
        world = self.world
        match action.kind:
            case ActionKind.EVICT:
                each, size = world.pods[action.pod_uid]
                assert each.terminating_since is None, f"{each.key} was evicted twice"
                world.evictions.append(each.uid)
                world.pods[each.uid] = (replace(each, terminating_since=world.now), size)
            case ActionKind.CORDON:
                marks = {
                    "remediator.io/cordoned-by": action.episode_id,
                    "remediator.io/cordoned-at": str(world.now),
                }
                world.node = replace(world.node, unschedulable=True, annotations=marks)
            case ActionKind.UNCORDON:
                world.node = replace(world.node, unschedulable=False, annotations={})
            case ActionKind.TAINT:
                world.node = replace(world.node, taints=(Taint("memory-pressure", "critical", "NoSchedule"),))
            case ActionKind.UNTAINT:
                world.node = replace(world.node, taints=())


@dataclass
class Pencil:
    """The recording actuator."""

    world: World

    def perform(self, action: Action) -> ActionResult:
        """Only say that it would."""
        return ActionResult(action, ActionStatus.DONE, Reason.DRY_RUN, self.world.now)


@dataclass
class Shelf:
    """Records under their resourceVersion."""

    world: World

    def load(self, node: str) -> StoredRecord:
        """As stored."""
        return copy.deepcopy(self.world.records.get(node, StoredRecord(node)))

    def save(self, record: StoredRecord, state: NodeState) -> StoredRecord:
        """Fenced; may die before and after."""
        self.world.step()
        stored = self.world.records.get(record.node, StoredRecord(record.node))
        if stored.resource_version != record.resource_version:
            raise RecordConflictError(record.node)
        fresh = replace(stored, state=state, resource_version=f"{len(self.world.records)}.{self.world.calls}")
        self.world.records[record.node] = fresh
        self.world.step()
        return fresh

    def all(self) -> Sequence[StoredRecord]:
        """All of them."""
        return [copy.deepcopy(record) for record in self.world.records.values()]


@dataclass
class Locks:
    """Leases of one replica."""

    world: World
    name: str

    def acquire(self, name: str) -> bool:
        """Ours when it is free or already ours."""
        return self.world.leases.setdefault(name, self.name) == self.name

    def release(self, name: str) -> None:
        """Give it back."""
        if self.world.leases.get(name) == self.name:
            del self.world.leases[name]


@dataclass
class Mouth:
    """Audit, notifier and Events."""

    world: World

    def write(self, record: Mapping[str, object]) -> None:
        """Keep the line."""
        if self.world.audit_broken:
            raise OSError("disk full")
        self.world.audit.append(record)

    def notify(self, notice: Notice, context: Mapping[str, object]) -> None:
        """Keep the notice."""
        self.world.notices.append(notice)

    def emit(self, kind: str, name: str, namespace: str, uid: str, reason: str, message: str, warning: bool) -> None:
        """Keep the Event."""
        self.world.events.append(f"{kind}/{name}: {reason}")


def alert(level: Level = Level.RED) -> Signal:
    """The pressure alert of n1."""
    return Signal(
        SignalKind.ALERT,
        "n1",
        alertname="NodeMemoryPressure",
        level=level,
        labels={"alertname": "NodeMemoryPressure", "node": "n1", "level": level.name.lower()},
    )


def timer() -> Signal:
    """A wake-up of n1."""
    return Signal(SignalKind.TIMER, "n1")


def run(world: World, reconciler: Reconciler, first: Signal, *, until: float = 1200.0) -> None:
    """Drive one replica by its own requeue wishes for `until` seconds."""
    end, signal, passes = world.now + until, first, 0
    while world.now < end:
        after = reconciler.reconcile(signal)
        world.tick(min(15.0, after if after is not None else 15.0))
        signal = timer()
        world.now += 0.001
        passes += 1
        assert passes < 500, "it never comes to rest"
