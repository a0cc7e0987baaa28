"""Values for what is to be done and what became of it: actions, plans, results.

Import them from `remediator.core.state`. Nothing is decided or performed here.
"""

from dataclasses import dataclass
from enum import StrEnum

from remediator.core.model import Level, Strategy, Tier, WorkloadRef
from remediator.core.reason import Reason


class ActionKind(StrEnum):
    """Everything the remediator can do to a cluster."""

    CORDON = "cordon"
    TAINT = "taint"
    DRAIN_ENDPOINTS = "drain_endpoints"
    EVICT = "evict"
    FORCE_DELETE = "force_delete"
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
    """SCALE: the count to set; RESTORE_SCALE: the count to give back."""
    replicas_before: int | None = None
    """SCALE: the count found, to be given back."""
    why: str = ""
    label: str = ""
    """DRAIN_ENDPOINTS, RESTORE_ENDPOINTS: the pod label to take off or put back, and its value."""
    label_value: str = ""

    @property
    def irreversible(self) -> bool:
        """An act that cannot be taken back: look again right before it."""
        return self.kind in (ActionKind.EVICT, ActionKind.SCALE, ActionKind.FORCE_DELETE)

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
    substitutes: bool = True
    """Whether the next best may stand in for a refused pod; a plan that a human approved runs as approved."""
    approved_by: str = ""
    """Who approved it; empty while it waits, and when it ran without being asked."""


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
