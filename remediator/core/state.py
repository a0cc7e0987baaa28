"""Values for what is planned and what is remembered: plan, decision, durable node state, outcome.

`NodeState` is the whole content of a NodeRemediation's status: whatever a restart must not lose stands here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from remediator.core.actions import Action, ActionKind, ActionResult, ActionStatus, Plan
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

# Re-exported: everybody imports actions and plans from here.
__all__ = ["Action", "ActionKind", "ActionResult", "ActionStatus", "Plan"]


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
    uncertain: bool = False
    """The API did not answer: taken as evicted until the pod is seen alive and not terminating."""
    forced: bool = False
    """Its deletion was forced, or tried to be: not again."""
    episode_id: str = ""


@dataclass(frozen=True, slots=True)
class DrainRecord:
    """A pod we took out of its Services, so that it can be put back."""

    namespace: str
    pod: str
    uid: str
    label: str
    value: str
    at: float
    observed_only: bool = False


@dataclass(frozen=True, slots=True)
class ScaleRecord:
    """A workload we scaled down, so that its replicas can be given back."""

    workload: WorkloadRef
    replicas_before: int
    replicas_set: int
    at: float
    bytes: int = 0
    observed_only: bool = False


ROUND = "round"
UNDO = "undo"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pod (or workload) that the API refused to let us act on in this episode."""

    key: str
    """Pod UID, namespace/kind/name, or `ROUND` / `UNDO` for answers that blame no pod."""
    reason: Reason
    times: int
    at: float
    final: bool = False


@dataclass(frozen=True, slots=True)
class RejectedPlan:
    """A plan that a human said no to (core/rejections.py)."""

    plan_id: str
    level: Level
    subject: tuple[str, ...]
    """UIDs of its pods, or keys of its steps where it had none."""
    by: str
    at: float
    until: float
    """So long the same is not proposed again."""


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """`NodeRemediation.spec`: the operator's words."""

    mode: Mode | None = None
    paused: bool = False
    paused_by: str = ""
    approved_plan: str = ""
    approved_by: str = ""
    rejected_plan: str = ""
    rejected_by: str = ""
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
    release_granted: str = ""
    """Episode id whose isolation an operator let go; remembered until the node is calm."""
    released_at: float | None = None
    """When the last isolation of ours ended; an OOM-kill storm from before closes the node no more."""
    hands_off_until: float | None = None
    """A human lifted our isolation: leave the node's isolation alone until then."""
    evictions: tuple[EvictionRecord, ...] = ()
    drained: tuple[DrainRecord, ...] = ()
    scaled: tuple[ScaleRecord, ...] = ()
    refused: tuple[Refusal, ...] = ()
    rejected: tuple[RejectedPlan, ...] = ()
    """Plans that a human said no to, the latest last."""
    round_started_at: float | None = None
    """When the plan of the round in hand was made."""
    acted_at: float | None = None
    """When the round in hand was performed; None once it was assessed."""
    escalated_until: float | None = None
    """How long a human is waited for."""
    red_acted_at: float | None = None
    """First act of the episode while RED, for escalation."""
    isolation_observed: bool = False
    """The isolation was only recorded (observe mode), never put on the node."""
    ledger_zero_since: tuple[tuple[str, float], ...] = ()
    """(Koordinator resource, since when its allocatable is zero)."""
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
    grace_period_seconds: int | None = None
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
    audience: str = "operators"
    """Who can do something about it: `operators`, or the `developers` of the workload."""
    namespace: str = ""
    """Of the workload that it is about; empty: it is about a node."""


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
