"""Alertmanager's matcher semantics, and what a silence means for remediation.

As Alertmanager: anchored regular expressions, a missing label equals the empty string, all matchers hold.
Two rules of our own, both on the safe side of their question: a silence pauses us only if at least one
positive matcher hits a label that is really there (so `foo!="bar"` alone pauses nothing), and a regular
expression that Python cannot compile counts as matching (it was good enough for Alertmanager's RE2).
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from remediator.core.model import Level, Matcher, Signal, Silence, SilenceFacts, WorkloadRef
from remediator.core.policy import Policy

REMEDIATION_ALERTNAME = "MemoryRemediation"
DEFAULT_ALERTNAME = "NodeMemoryPressure"


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """None when Python cannot compile it, or would read it differently (POSIX classes)."""
    if "[:" in pattern:
        return None
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return None


def matcher_holds(matcher: Matcher, labels: Mapping[str, str]) -> bool:
    """Whether one matcher holds for a label set."""
    value = labels.get(matcher.name, "")
    if not matcher.is_regex:
        return (value == matcher.value) == matcher.is_equal
    pattern = _compiled(matcher.value)
    if pattern is None:
        return True
    return (pattern.fullmatch(value) is not None) == matcher.is_equal


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
