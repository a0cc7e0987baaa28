"""Values that cross the functional core: facts in, decisions out.

All are frozen; times are unix seconds on Prometheus' clock (`now` of a pass comes from there too), sizes are
bytes, ratios 0..1. Nothing here reads anything or decides anything. A source that could not answer is an
`Unknown`, which is neither calm nor alarming: whoever meets one must not act.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from remediator.core.reason import Reason
from remediator.core.terms import Isolation, Level, Mode, Phase, Strategy, Tier, Verdict

# Re-exported: everybody imports the words from here.
__all__ = ["Isolation", "Level", "Mode", "Phase", "Strategy", "Tier", "Verdict"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A source that did not give a trustworthy answer."""

    source: str
    why: str
    reason: Reason = Reason.DATA_UNKNOWN


# --- signals -------------------------------------------------------------------------------------------


class SignalKind(StrEnum):
    """By which door a nudge came in."""

    ALERT = "alert"
    RESYNC = "resync"
    TIMER = "timer"
    APPROVAL = "approval"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Signal:
    """A nudge: look at this node now. Carries no number that a decision may use."""

    kind: SignalKind
    node: str
    alertname: str = ""
    level: Level | None = None
    firing: bool = True
    fingerprint: str = ""
    starts_at: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    operator: str = ""
    plan_id: str = ""


@dataclass(frozen=True, slots=True)
class Rejection:
    """An alert that cannot be used, and why."""

    reason: Reason
    detail: str
    fingerprint: str = ""


# --- facts about the node and its pods ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Taint:
    """A node taint."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A Node object, as far as decisions need it."""

    name: str
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    memory_pressure: bool = False
    allocatable_bytes: int = 0
    requested_bytes: int = 0
    """Sum of the memory requests of the pods bound to it (for fits-elsewhere)."""
    extended_allocatable: Mapping[str, int] = field(default_factory=dict)
    """Koordinator's ledgers (`kubernetes.io/batch-memory`, `.../mid-memory`) in bytes; absent: not there."""


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """A node's memory as recorded by the rules."""

    level: Level
    total_bytes: int
    available_bytes: int
    sampled_at: float
    """Timestamp of the oldest raw sample behind these values."""
    score: float | None = None
    growth_bytes_per_second: float | None = None
    free_bytes: int | None = None
    stall_full_ratio: float | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """`"red/enter"` -> ratio, as in force."""
    system_slices: Mapping[str, int] = field(default_factory=dict)
    """Top-level cgroup path -> bytes: names the memory that is not in pods."""

    @property
    def used_bytes(self) -> int:
        """MemTotal - MemAvailable (hugepages already taken out of the total)."""
        return max(0, self.total_bytes - self.available_bytes)

    @property
    def used_ratio(self) -> float:
        """used / total; 0 when the total is 0."""
        return self.used_bytes / self.total_bytes if self.total_bytes else 0.0


@dataclass(frozen=True, slots=True)
class PodUsage:
    """What Prometheus says of one pod."""

    working_set_bytes: int
    releasable_bytes: int
    """anon + shmem; the working set where only cAdvisor is there (then `source` says so)."""
    sampled_at: float
    source: str = "exporter"
    growth_bytes_per_second: float | None = None
    working_set_max_bytes: int | None = None
    """max_over_time(10m), for the limit-OOM class."""


@dataclass(frozen=True, slots=True, order=True)
class WorkloadRef:
    """The thing a team calls by name: the top of a pod's owner chain."""

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Termination:
    """Last termination of one container."""

    container: str
    reason: str
    exit_code: int
    finished_at: float
    restart_count: int = 0
    level_at: Level | None = None
    """The node's level at `finished_at`, where Prometheus still knows it."""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """A Pod object, as far as decisions need it."""

    namespace: str
    name: str
    uid: str
    node: str = ""
    phase: str = "Running"
    status_reason: str = ""
    status_message: str = ""
    ready: bool = True
    terminating_since: float | None = None
    created_at: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    workload: WorkloadRef | None = None
    """None for a bare pod."""
    mirror: bool = False
    priority: int | None = None
    priority_class: str = ""
    qos: str = "Burstable"
    request_bytes: int = 0
    limit_bytes: int | None = None
    volumes: frozenset[str] = frozenset()
    """Kinds that hold data: `pvc`, `hostPath`, `emptyDir` (tmpfs emptyDir is not listed)."""
    grace_period_seconds: int = 30
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    terminations: tuple[Termination, ...] = ()
    disruption_target: str = ""
    """Reason of the DisruptionTarget condition, e.g. TerminationByKubelet."""
    finalizers: tuple[str, ...] = ()
    extended_requests: Mapping[str, int] = field(default_factory=dict)
    """Requests of Koordinator's batch/mid memory by resource name."""
    ended_at: float | None = None
    """When it became terminal: DisruptionTarget's lastTransitionTime, else the last finishedAt."""

    @property
    def key(self) -> str:
        """namespace/name, for people."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """Where one pod of a workload runs, for the assessment (successors of evicted pods)."""

    uid: str
    node: str
    ready: bool = False
    created_at: float = 0.0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """A controller and the state of its pods over the whole cluster."""

    ref: WorkloadRef
    desired_replicas: int
    ready_replicas: int
    startup_seconds: float | None = None
    """Median over its pods of Ready time minus container start; None when not measurable."""
    selector: Mapping[str, str] = field(default_factory=dict)
    """matchLabels of the controller that owns the pods (the ReplicaSet's for a Deployment)."""
    backoff_limit: int | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    pods: tuple[PodPlacement, ...] = ()
    """Its live pods over the whole cluster, where the adapter could tell."""


@dataclass(frozen=True, slots=True)
class BudgetFacts:
    """A PodDisruptionBudget that matches at least one pod of the node."""

    namespace: str
    name: str
    pod_uids: frozenset[str]
    disruptions_allowed: int
    desired_healthy: int = 0
    current_healthy: int = 0
    unhealthy_pod_eviction_policy: str = "IfHealthyBudget"


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """A Service that selects at least one pod of the node."""

    namespace: str
    name: str
    selector: Mapping[str, str]
    ready_endpoints: int
    pod_uids: frozenset[str] = frozenset()
    """UIDs of all pods in its EndpointSlices that are ready, wherever they run."""


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What the Kubernetes API says about one node and what surrounds it, read in one go."""

    node: NodeFacts
    pods: tuple[PodFacts, ...]
    workloads: Mapping[WorkloadRef, WorkloadFacts] = field(default_factory=dict)
    budgets: tuple[BudgetFacts, ...] = ()
    services: tuple[ServiceFacts, ...] = ()
    peers: tuple[NodeFacts, ...] = ()
    """All other nodes."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """One matcher of an Alertmanager silence."""

    name: str
    value: str
    is_regex: bool = False
    is_equal: bool = True


@dataclass(frozen=True, slots=True)
class Silence:
    """An active Alertmanager silence."""

    id: str
    matchers: tuple[Matcher, ...]
    comment: str = ""
    created_by: str = ""
    ends_at: str = ""


@dataclass(frozen=True, slots=True)
class SilenceFacts:
    """Active silences of all Alertmanager peers (union), and those that hold the triggering alert."""

    silences: tuple[Silence, ...] = ()
    alert_silenced_by: tuple[str, ...] = ()
    alert_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the alert as Alertmanager has it (external ones like `cluster` included)."""
