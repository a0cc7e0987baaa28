"""Services around the web layer, without cluster, Prometheus or threads."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask.testing import FlaskClient

from remediator.core.model import Level, Rejection, Signal, SilenceFacts, Unknown
from remediator.core.policy import Policy
from remediator.core.reason import Reason
from remediator.core.state import NodeState, OperatorSpec
from remediator.core.trail import Trail, TrailQuestion
from remediator.dispatcher import Dispatcher, QueueFullError
from remediator.reconciler.ports import Trend
from remediator.web.app import create_app
from remediator.web.services import Check, Services
from remediator.web.tokens import OperatorAuth, WebhookAuth


@dataclass(frozen=True)
class FakeRecord:
    """A node's record."""

    node: str
    state: NodeState = field(default_factory=NodeState)
    spec: OperatorSpec = field(default_factory=OperatorSpec)
    resource_version: str = "1"


class QuietDispatcher(Dispatcher):
    """Keeps what is submitted; runs nothing."""

    def __init__(self) -> None:
        super().__init__(lambda signal: None, tuple)
        self.submitted: list[Signal] = []
        self.full = False
        self.stuck_seconds = 0.0

    def submit_all(self, signals: Iterable[Signal]) -> None:
        """Keep them, or refuse when told to be full."""
        if self.full:
            raise QueueFullError("0 signals are waiting, 0 fit")
        self.submitted += signals

    def seconds_without_progress(self) -> float:
        """As set by the test."""
        return self.stuck_seconds


def by_node_label(labels: Mapping[str, str]) -> str | Rejection:
    """A cluster in which every node that is named by the `node` label exists."""
    if labels.get("node"):
        return labels["node"]
    if labels.get("instance", "").startswith("10.0.0.1:"):
        return "n1"
    return Rejection(Reason.ALERT_WITHOUT_NODE, "no label names a node of this cluster")


@dataclass
class Web:
    """A client and what stands behind it."""

    dispatcher: QuietDispatcher = field(default_factory=QuietDispatcher)
    records: list[FakeRecord] = field(default_factory=list)
    levels: Mapping[str, Level] | Unknown = field(default_factory=dict)
    node_for: Callable[[Mapping[str, str]], str | Rejection] = by_node_label
    explain: Callable[[str], Mapping[str, Any]] = lambda node: {"node": node}
    webhook_auth: WebhookAuth = field(default_factory=lambda: WebhookAuth(None))
    operator_auth: OperatorAuth = field(default_factory=lambda: OperatorAuth(None, local_operator="local"))
    ready_checks: Mapping[str, Check] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=lambda: {"valid": True, "problems": []})
    used_ratios: Mapping[str, Trend] | Unknown = field(default_factory=dict)
    silences: SilenceFacts | Unknown = field(default_factory=SilenceFacts)
    said: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    """(node, words, operator) that went into records."""
    audited: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    trail: Callable[[TrailQuestion], Trail] = lambda asked: Trail((), ("a",))
    resync_asked: list[None] = field(default_factory=list)

    def client(self) -> FlaskClient:
        """A test client over these services."""
        services = Services(
            dispatcher=self.dispatcher,
            alert_names=lambda: Policy().alert_names,
            node_for=self.node_for,
            records=lambda: self.records,
            levels=lambda: self.levels,
            explain=self.explain,
            clock=lambda: 1000.0,
            used_ratios=lambda: self.used_ratios,
            silences=lambda: self.silences,
            say=lambda node, words, operator: self.said.append((node, dict(words), operator)),
            audit=lambda node, operator, word: self.audited.append((node, operator, dict(word))),
            trail=self.trail,
            webhook_auth=self.webhook_auth,
            operator_auth=self.operator_auth,
            ready_checks=self.ready_checks,
            config=lambda: self.config,
        )
        return create_app(services).test_client()
