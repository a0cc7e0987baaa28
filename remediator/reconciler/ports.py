"""The outside world as the reconciler needs it: one Protocol per outside system, satisfied by `adapters/`.

Declared here, where they are used, so that the reconciler can be driven by small fakes and the adapters
never need to know one another. A source that cannot answer returns `Unknown`; only the fence
(`Records.save`) and the audit raise.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from remediator.core.fences import AuditUnavailableError, RecordConflictError
from remediator.core.model import (
    ClusterFacts,
    Level,
    MemoryFacts,
    NodeFacts,
    PodFacts,
    PodUsage,
    Rejection,
    Signal,
    SilenceFacts,
    Unknown,
)
from remediator.core.state import Action, ActionResult, NodeState, Notice, OperatorSpec

__all__ = ["AuditUnavailableError", "RecordConflictError"]


Trend = Sequence[tuple[float, float]]
"""(unix seconds, ratio), oldest first."""


class Metrics(Protocol):
    """What Prometheus says (adapters/prometheus.py)."""

    def memory(self, node: str) -> MemoryFacts | Unknown:
        """The node's memory as recorded by the rules."""

    def usages(self, node: str) -> Mapping[str, PodUsage] | Unknown:
        """Pod UID -> usage; two consecutive answers must agree on the set of pods."""

    def levels(self) -> Mapping[str, Level] | Unknown:
        """Level of every node that the rules know."""

    def used_ratios(self, seconds: float) -> Mapping[str, Trend] | Unknown:
        """Node -> its used memory over the last so many seconds, about sixty points."""

    def levels_at(self, node: str, times: Sequence[float]) -> Mapping[float, Level] | Unknown:
        """The node's highest level in the minute before each of these moments, where it is known."""

    def firing(self, alertnames: Sequence[str]) -> Sequence[Signal] | Unknown:
        """Firing alerts of these names, as RESYNC signals."""

    def now(self) -> float | Unknown:
        """Prometheus' own time, the clock of every decision."""


class Cluster(Protocol):
    """What the Kubernetes API says (adapters/cluster.py)."""

    def snapshot(self, node: str) -> ClusterFacts | Unknown:
        """The node, its pods, and what surrounds them."""

    def node_for(self, labels: Mapping[str, str]) -> str | Rejection:
        """The one node an alert's labels mean; none or several are refused."""

    def pod_uid(self, namespace: str, name: str) -> str | Unknown | None:
        """UID of the pod that has this name now; None when there is none."""

    def config_map(self, name: str) -> str | Unknown | None:
        """Koordinator's `resource-threshold-config` in the ConfigMap of this namespace/name; None: there is none."""

    def ledger_holders(self) -> Mapping[str, tuple[NodeFacts, tuple[PodFacts, ...]]] | Unknown:
        """Every node with its pods that ask for Koordinator's extended memory."""

    def isolated_by_us(self) -> Sequence[str] | Unknown:
        """Nodes that carry our cordon annotation."""


class Silences(Protocol):
    """What Alertmanager says (adapters/alertmanager.py)."""

    def read(self, signal_or_node: str, alertname: str, level: Level | None) -> SilenceFacts | Unknown:
        """Active silences of all peers, and those that hold this alert of this node."""


class Actuator(Protocol):
    """Performs actions (adapters/actuator.py), or only says that it would (its recording twin)."""

    def perform(self, action: Action) -> ActionResult:
        """One action; never raises for an answer of the API."""


class Record(Protocol):
    """A node's NodeRemediation as loaded."""

    @property
    def node(self) -> str:
        """Name of the node."""

    @property
    def state(self) -> NodeState:
        """Ours: the status."""

    @property
    def spec(self) -> OperatorSpec:
        """The operator's: the spec."""

    @property
    def resource_version(self) -> str:
        """The fence; empty when the object does not exist yet."""


class Records(Protocol):
    """Durable state of the nodes (adapters/records.py)."""

    def load(self, node: str) -> Record:
        """The node's record; an empty one when there is none."""

    def save(self, record: Any, state: NodeState) -> Record:
        """Write under the resourceVersion of what `load`, `save` or `all` gave; RecordConflictError when stale."""

    def all(self) -> Sequence[Record]:
        """Every node's record."""

    def say(self, node: str, words: Mapping[str, Any], operator: str) -> None:
        """Write an operator's words (fields of `spec`, None takes one back) in the operator's name."""


class Leases(Protocol):
    """Locks among replicas (adapters/leases.py)."""

    def acquire(self, name: str) -> bool:
        """True when we hold it afterwards (new, renewed, or taken over after its expiry)."""

    def release(self, name: str) -> None:
        """Give it back; nothing happens when it is not ours."""


class Audit(Protocol):
    """The file of what was decided, intended and done (adapters/audit.py)."""

    def write(self, record: Mapping[str, object]) -> None:
        """One line, flushed; raises AuditUnavailableError when it cannot be kept, and then nothing may be done."""


class Notifier(Protocol):
    """Chat and webhooks (adapters/notifier.py)."""

    def notify(self, notice: Notice, context: Mapping[str, object]) -> None:
        """Queue a message; never blocks, never raises."""


class Events(Protocol):
    """Kubernetes Events (adapters/events.py)."""

    def emit(self, kind: str, name: str, namespace: str, uid: str, reason: str, message: str, warning: bool) -> None:
        """Tell an object's watchers; never raises."""


__all__ = ["RecordConflictError"]
