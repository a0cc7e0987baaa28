"""Placeholder."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from remediator.config import Settings
from remediator.core.policy import Policy
from remediator.reconciler import Ports
from remediator.reconciler.ports import Audit, Events, Notifier
from remediator.web.services import Check


@dataclass(frozen=True, slots=True)
class Outside:
    """Every adapter, connected."""

    ports: Ports
    audit: Audit
    events: Events
    notifier: Notifier
    ready_checks: Mapping[str, Check] = field(default_factory=dict)

    def close(self) -> None:
        """Flush."""


def connect(settings: Settings, policy: Policy, *, reads_only: bool) -> Outside:
    """Connect."""
    raise NotImplementedError
