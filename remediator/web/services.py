"""What the web layer is given: callables and the dispatcher, wired by the cli. No adapter is known here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from remediator.core.model import Level, Rejection, SilenceFacts, Unknown
from remediator.core.trail import Trail, TrailQuestion
from remediator.dispatcher import Dispatcher
from remediator.reconciler.ports import Record, Trend
from remediator.web.tokens import OperatorAuth, WebhookAuth

Check = Callable[[], str]
"""Empty when all is well, else one sentence that says what is not."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a request may need."""

    dispatcher: Dispatcher
    alert_names: Callable[[], tuple[str, ...]]
    """Those of the policy in force."""
    node_for: Callable[[Mapping[str, str]], str | Rejection]
    records: Callable[[], Sequence[Record]]
    levels: Callable[[], Mapping[str, Level] | Unknown]
    explain: Callable[[str], Mapping[str, Any]]
    """A node's decision in dry form, as JSON."""
    clock: Callable[[], float]
    """Unix seconds."""
    used_ratios: Callable[[], Mapping[str, Trend] | Unknown]
    """Node -> used memory over the last hour."""
    silences: Callable[[], SilenceFacts | Unknown]
    """The active ones, whatever they hold."""
    say: Callable[[str, Mapping[str, Any], str], None]
    """(node, fields of the record's spec, operator): writes an operator's words into the node's record."""
    audit: Callable[[str, str, Mapping[str, Any]], None]
    """(node, operator, what he said): keeps it."""
    trail: Callable[[TrailQuestion], Trail]
    """The audit of all replicas, a page at a time; whoever could not be asked is named in it."""
    webhook_auth: WebhookAuth = field(default_factory=lambda: WebhookAuth(None))
    operator_auth: OperatorAuth = field(default_factory=lambda: OperatorAuth(None, local_operator=None))
    ready_checks: Mapping[str, Check] = field(default_factory=dict)
    stuck_after_seconds: float = 120.0
    """A worker that has work and has not moved for that long means the process is to be restarted."""
    version: str = ""
    config: Callable[[], Mapping[str, Any]] = lambda: {"valid": True, "problems": []}
    """The state of the policy file: `valid`, `problems`, `hash`, `file`, `in_force_since`."""
