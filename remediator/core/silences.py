"""What a silence means for remediation, and the labels that it is matched against.

As Alertmanager, all matchers must hold (matchers.py). One rule of our own: a silence pauses us only if at least one
positive matcher hits a label that is really there, so `foo!="bar"` alone pauses nothing.
"""

from collections.abc import Iterable, Mapping

from remediator.core.matchers import matcher_holds
from remediator.core.model import Level, Signal, Silence, SilenceFacts, WorkloadRef
from remediator.core.policy import Policy

REMEDIATION_ALERTNAME = "MemoryRemediation"
DEFAULT_ALERTNAME = "NodeMemoryPressure"


def silence_holds(silence: Silence, labels: Mapping[str, str]) -> bool:
    """Whether a silence pauses what carries these labels."""
    if not all(matcher_holds(matcher, labels) for matcher in silence.matchers):
        return False
    return any(matcher.is_equal and labels.get(matcher.name) for matcher in silence.matchers)


def silenced_by(silences: Iterable[Silence], labels: Mapping[str, str]) -> Silence | None:
    """The first silence that holds, else None."""
    return next((silence for silence in silences if silence_holds(silence, labels)), None)


def describe(silence: Silence) -> str:
    """`silence 2dde89fc by alice until 2026-…: kernel upgrade`."""
    until = f" until {silence.ends_at}" if silence.ends_at else ""
    comment = f": {silence.comment}" if silence.comment else ""
    return f"silence {silence.id} by {silence.created_by or 'unknown'}{until}{comment}"


def alert_labels(signal: Signal, level: Level | None, facts: SilenceFacts, policy: Policy) -> dict[str, str]:
    """Labels of the triggering alert: as Alertmanager has it, else as the rules would have set them.

    Timers and resyncs have no alert of their own; a silence on the node's pressure alert holds for them too.
    """
    labels = {"alertname": signal.alertname or DEFAULT_ALERTNAME, "node": signal.node}
    if policy.cluster:
        labels["cluster"] = policy.cluster
    if level is not None:
        labels["level"] = level.name.lower()
    return {**labels, **signal.labels, **facts.alert_labels}


def act_labels(  # noqa: PLR0913 - one argument per documented label
    policy: Policy,
    facts: SilenceFacts,
    *,
    node: str,
    action: str = "",
    namespace: str = "",
    pod: str = "",
    workload: WorkloadRef | None = None,
    tier: str = "",
) -> dict[str, str]:
    """The label set of something we might do; `amtool silence add namespace=payments` protects by it."""
    labels = {
        "alertname": REMEDIATION_ALERTNAME,
        "cluster": policy.cluster or facts.alert_labels.get("cluster", ""),
        "node": node,
        "namespace": namespace,
        "pod": pod,
        "workload": workload.name if workload else "",
        "workload_kind": workload.kind if workload else "",
        "tier": tier,
        "action": action,
    }
    return {name: value for name, value in labels.items() if value}
