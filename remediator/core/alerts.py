"""An Alertmanager webhook body becomes nudges and rejections.

Each alert stands by its own status and labels; the group's status and common labels are ignored, for they are
wrong as soon as a group is mixed or truncated. Which node an alert means is resolved by the cluster adapter.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from remediator.core.model import Level, Rejection, Signal, SignalKind
from remediator.core.reason import Reason

VERSION = "4"
NODE_LABELS = ("node", "instance", "nodename")


class MalformedWebhook(Exception):  # noqa: N818 - named as what it is
    """The body as a whole cannot be used: answer 400. `field` is where, `fix` what to do about it."""

    def __init__(self, field: str, fix: str) -> None:
        super().__init__(f"{field}: {fix}")
        self.field = field
        self.fix = fix


@dataclass(frozen=True, slots=True)
class UnresolvedAlert:
    """A usable alert whose node is still to be resolved from its labels."""

    alertname: str
    labels: Mapping[str, str]
    level: Level | None
    firing: bool
    fingerprint: str = ""
    starts_at: str = ""

    def to_signal(self, node: str) -> Signal:
        """The nudge, once the node is known."""
        return Signal(
            kind=SignalKind.ALERT,
            node=node,
            alertname=self.alertname,
            level=self.level,
            firing=self.firing,
            fingerprint=self.fingerprint,
            starts_at=self.starts_at,
            labels=self.labels,
        )


@dataclass(frozen=True, slots=True)
class ParsedWebhook:
    """`truncated` alerts were left out by Alertmanager (max_alerts): look the rest up by query."""

    signals: tuple[UnresolvedAlert, ...]
    rejections: tuple[Rejection, ...]
    truncated: int = 0


def parse_webhook(payload: object, alert_names: Collection[str]) -> ParsedWebhook:
    """Parse a decoded JSON body of webhook version 4. Raises MalformedWebhook.

    `alert_names` are the accepted alerts. With no usable alert `signals` is empty (the caller answers 400).
    """
    if not isinstance(payload, dict):
        raise MalformedWebhook("body", "send a JSON object, as Alertmanager's webhook does")
    if payload.get("version") != VERSION:
        found = repr(payload.get("version"))[:40]
        raise MalformedWebhook("version", f'must be "{VERSION}" (Alertmanager >= 0.9), is {found}')
    alerts = payload.get("alerts")
    if not isinstance(alerts, list):
        raise MalformedWebhook("alerts", "must be a list of alerts")
    parsed = [_alert(item, f"alerts[{i}]", alert_names) for i, item in enumerate(alerts)]
    return ParsedWebhook(
        signals=tuple(item for item in parsed if isinstance(item, UnresolvedAlert)),
        rejections=tuple(item for item in parsed if isinstance(item, Rejection)),
        truncated=_truncated(payload.get("truncatedAlerts", 0)),
    )


def _truncated(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise MalformedWebhook("truncatedAlerts", "must be a whole number, 0 or more")
    return value


def level_of(value: str | None) -> Level | None:
    """`red` -> RED; None when there is no such level."""
    return Level.__members__.get((value or "").upper())


def _alert(item: object, where: str, alert_names: Collection[str]) -> UnresolvedAlert | Rejection:
    if not isinstance(item, dict):
        return Rejection(Reason.ALERT_MALFORMED, f"{where}: must be an object")
    fingerprint = _text(item.get("fingerprint"))
    labels = item.get("labels")
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        return Rejection(Reason.ALERT_MALFORMED, f"{where}.labels: must map names to strings", fingerprint)
    if item.get("status") not in ("firing", "resolved"):
        return Rejection(Reason.ALERT_MALFORMED, f'{where}.status: must be "firing" or "resolved"', fingerprint)
    unusable = _unusable(labels, where, alert_names)
    if unusable is not None:
        return Rejection(*unusable, fingerprint)
    return UnresolvedAlert(
        alertname=labels["alertname"],
        labels=dict(labels),
        level=level_of(labels.get("level")),
        firing=item["status"] == "firing",
        fingerprint=fingerprint,
        starts_at=_text(item.get("startsAt")),
    )


def _unusable(labels: Mapping[str, str], where: str, alert_names: Collection[str]) -> tuple[Reason, str] | None:
    name = labels.get("alertname", "")
    if not name:
        return Reason.ALERT_WITHOUT_NAME, f"{where}.labels.alertname: missing"
    if name not in alert_names:
        return Reason.UNKNOWN_ALERT, f"{where}: {name} is not among the policy's alert names"
    if not any(labels.get(label) for label in NODE_LABELS):
        return Reason.ALERT_WITHOUT_NODE, f"{where}.labels: needs one of {', '.join(NODE_LABELS)}"
    return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
