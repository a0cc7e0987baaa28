"""Values for what is planned and what is remembered: plan, decision, durable node state, outcome.

`NodeState` is the whole content of a NodeRemediation's status: whatever a restart must not lose stands here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from remediator.core.model import (
    ClusterFacts,
    Isolation,
    Level,
    MemoryFacts,
    Mode,
    Phase,
    PodUsage,
    SilenceFacts,
    Strategy,
    Tier,
    Unknown,
    Verdict,
    WorkloadRef,
)
from remediator.core.reason import Reason


class ActionKind(StrEnum):
    """Everything the remediator can do to a cluster."""

    CORDON = "cordon"
    TAINT = "taint"
    DRAIN_ENDPOINTS = "drain_endpoints"
    EVICT = "evict"
    SCALE = "scale"
    RESTORE_ENDPOINTS = "restore_endpoints"
    RESTORE_SCALE = "restore_scale"
    UNTAINT = "untaint"
    UNCORDON = "uncordon"


@dataclass(frozen=True, slots=True)
class Action:
    """One step of a plan. `pod_uid` fences every step on a pod."""

    kind: ActionKind
    node: str
    episode_id: str
    namespace: str = ""
    pod: str = ""
    pod_uid: str = ""
    workload: WorkloadRef | None = None
    tier: Tier | None = None
    strategy: Strategy = Strategy.PRESSURE
    grace_period_seconds: int | None = None
    expected_bytes: int = 0
    score: float | None = None
    replicas: int | None = None
    why: str = ""

    @property
    def irreversible(self) -> bool:
        """An act that cannot be taken back: look again right before it."""
        return self.kind in (ActionKind.EVICT, ActionKind.SCALE)

    @property
    def undo(self) -> bool:
        """Gives back what we took; silences and cooldowns never stop it."""
        return self.kind in (
            ActionKind.RESTORE_ENDPOINTS,
            ActionKind.RESTORE_SCALE,
            ActionKind.UNTAINT,
            ActionKind.UNCORDON,
        )

    @property
    def key(self) -> str:
        """Stable identity within a plan."""
        return f"{self.kind}:{self.pod_uid or self.workload or self.node}"


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order in which they are to be done."""

    id: str
    node: str
    episode_id: str
    level: Level
    created_at: float
    expires_at: float
    target_bytes: int
    actions: tuple[Action, ...]


class ActionStatus(StrEnum):
    """What became of an action."""

    DONE = "done"
    REFUSED = "refused"
    """Answered no, finally, for this pod: go on with the next candidate."""
    RETRY_LATER = "retry_later"
    """Not now (budget, throttling): may be tried again in a later pass."""
    FAILED = "failed"
    UNKNOWN = "unknown"
    """No answer; it may have taken effect."""
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The answer to one action."""

    action: Action
    status: ActionStatus
    reason: Reason
    at: float
    detail: str = ""


class OutcomeKind(StrEnum):
    """What a round came to (decisions.md section 8)."""

    RELIEVED = "relieved"
    PARTLY = "partly"
    NO_EFFECT = "no-effect"
    REBOUNDED = "rebounded"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Before against after."""

    kind: OutcomeKind
    episode_id: str
    at: float
    released_bytes: int
    expected_bytes: int
    used_ratio_before: float
    used_ratio_after: float
    level_before: Level
    level_after: Level
    workloads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvictionRecord:
    """An eviction of ours, kept for an hour (caps, cooldowns, pending releases, never twice)."""

    namespace: str
    pod: str
    uid: str
    workload: str
    node: str
    plan_id: str
    at: float
    bytes: int
    tier: str = ""
    strategy: str = Strategy.PRESSURE
    gone_at: float | None = None
    observed_only: bool = False


@dataclass(frozen=True, slots=True)
class DrainRecord:
    """A pod we took out of its Services, so that it can be put back."""

    namespace: str
    pod: str
    uid: str
    label: str
    value: str
    at: float


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """`NodeRemediation.spec`: the operator's words."""

    mode: Mode | None = None
    paused: bool = False
    approved_plan: str = ""
    approved_by: str = ""
    release: str = ""
    """Episode id whose isolation may be lifted."""


@dataclass(frozen=True, slots=True)
class NodeState:
    """`NodeRemediation.status`: what is remembered of one node."""

    phase: Phase = Phase.WATCHING
    isolation: Isolation = Isolation.NONE
    level: Level | None = None
    level_since: float | None = None
    mode: Mode | None = None
    """Mode in force at the last pass, for people."""
    episode_id: str = ""
    episode_started_at: float | None = None
    rounds: int = 0
    plan: Plan | None = None
    results: tuple[tuple[str, ActionStatus, Reason], ...] = ()
    """(action key, status, reason) of the plan in hand."""
    used_ratio_before: float | None = None
    available_bytes_before: int | None = None
    level_before: Level | None = None
    due_at: float | None = None
    """When the node must be looked at again, whatever else happens."""
    settle_until: float | None = None
    cooldown_until: float | None = None
    stood_down_until: float | None = None
    green_since: float | None = None
    isolated_at: float | None = None
    isolation_episode_id: str = ""
    release_asked_at: float | None = None
    hands_off_until: float | None = None
    """A human lifted our isolation: leave the node's isolation alone until then."""
    evictions: tuple[EvictionRecord, ...] = ()
    drained: tuple[DrainRecord, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    told: tuple[str, ...] = ()
    """Transitions of this episode that people have been told of, each once."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class FleetFacts:
    """What is going on elsewhere, for caps and brakes."""

    levels: Mapping[str, Level] | Unknown = field(default_factory=dict)
    """Node -> level, every node the rules know."""
    states: Mapping[str, NodeState] = field(default_factory=dict)
    """Node -> its record (this node's included)."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything a decision may look at."""

    node: str
    at: float
    memory: MemoryFacts | Unknown
    cluster: ClusterFacts | Unknown
    usages: Mapping[str, PodUsage] | Unknown
    """Pod UID -> usage."""
    silences: SilenceFacts | Unknown
    fleet: FleetFacts
    spec: OperatorSpec = OperatorSpec()


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """The four parts of the eviction score, each 0..100, and their weighted sum."""

    business: float
    memory: float
    restart: float
    qos: float
    total: float


@dataclass(frozen=True, slots=True)
class RankedPod:
    """One row of the ranking: a pod, what speaks for evicting it, and what against."""

    namespace: str
    pod: str
    uid: str
    workload: WorkloadRef | None
    tier: Tier | None
    priority: int
    qos: str
    usage_bytes: int | None
    request_bytes: int
    releasable_bytes: int | None
    score: ScoreParts | None
    reason: Reason
    """CHOSEN, or why not."""
    detail: str = ""
    kubelet_rank: int | None = None
    """1 = the pod the kubelet would evict first."""
    eligible: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A reason with the figures that make it checkable."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something people are to be told, once per `key`."""

    key: str
    severity: str
    """info, warning or critical."""
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What one look at one node came to."""

    node: str
    at: float
    mode: Mode
    verdict: Verdict
    reasons: tuple[Reasoned, ...]
    next_state: NodeState
    plan: Plan | None = None
    ranking: tuple[RankedPod, ...] = ()
    target_bytes: int = 0
    notices: tuple[Notice, ...] = ()
    outcome: Outcome | None = None
    requeue_after_seconds: float | None = None
