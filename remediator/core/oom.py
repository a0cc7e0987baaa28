"""Three-way classification of OOM kills, and the OOM-kill storm of a node.

A pod that hits its own limit would do so on any node: evicting it helps nobody, its developers are told. Only
terminations of the last half hour count. Kubernetes shows the last termination of each container and its
restart count; "at least twice" is read from both.
"""

from collections.abc import Iterable
from enum import StrEnum

from remediator.core.model import Level, PodFacts, PodUsage, Termination
from remediator.core.state import NodeState

LIMIT_SHARE = 0.9
STORM_KILLS = 3
STORM_WORKLOADS = 3


class OomClass(StrEnum):
    """Whose fault an OOM kill was."""

    LIMIT = "limit-oom"
    NODE = "node-oom"
    UNKNOWN = "unknown"


def level_at(termination: Termination, state: NodeState) -> Level | None:
    """The node's level when the container died, as far as anybody knows."""
    if termination.level_at is not None:
        return termination.level_at
    since = state.green_since if state.level is Level.GREEN else state.level_since
    return state.level if since is not None and since <= termination.finished_at else None


def _is_kill(termination: Termination) -> bool:
    """A child process may be killed while the container ends with 0: such a record proves nothing."""
    return termination.reason == "OOMKilled" and termination.exit_code != 0


def is_suspicious(termination: Termination) -> bool:
    """It may have been an OOM kill."""
    return termination.reason == "OOMKilled" or termination.exit_code == 137


def recent_terminations(pod: PodFacts, now: float, window_seconds: float) -> tuple[Termination, ...]:
    """Terminations of the last `window_seconds`."""
    return tuple(t for t in pod.terminations if 0 <= now - t.finished_at <= window_seconds)


def classify(
    pod: PodFacts, usage: PodUsage | None, state: NodeState, now: float, window_seconds: float
) -> OomClass | None:
    """None when there is nothing to classify."""
    recent = recent_terminations(pod, now, window_seconds)
    kills = [t for t in recent if _is_kill(t)]
    if not kills:
        return OomClass.UNKNOWN if any(is_suspicious(t) for t in recent) else None
    levels = [level_at(t, state) for t in kills]
    if pod.limit_bytes is None or any(level is not None and level > Level.GREEN for level in levels):
        return OomClass.NODE
    times = sum(max(1, t.restart_count) for t in kills)
    green = all(level is Level.GREEN for level in levels)
    return OomClass.LIMIT if green and times >= 2 and _at_its_limit(pod, usage) else OomClass.UNKNOWN


def _at_its_limit(pod: PodFacts, usage: PodUsage | None) -> bool:
    if usage is None or not pod.limit_bytes:
        return False
    peak = max(usage.working_set_bytes, usage.working_set_max_bytes or 0)
    return peak >= LIMIT_SHARE * pod.limit_bytes


def storm(
    pods: Iterable[tuple[PodFacts, PodUsage | None]], state: NodeState, now: float, window_seconds: float
) -> str | None:
    """A sentence when 3 kills or more of 3 workloads hit a node under pressure; limit-OOMs left out."""
    kills, workloads = 0, set()
    for pod, usage in pods:
        recent = [t for t in recent_terminations(pod, now, window_seconds) if _is_kill(t)]
        recent = [t for t in recent if t.finished_at > (state.released_at or 0.0)]
        under_pressure = [t for t in recent if (level_at(t, state) or state.level or 0) > Level.GREEN]
        if under_pressure and classify(pod, usage, state, now, window_seconds) is not OomClass.LIMIT:
            kills += len(under_pressure)
            workloads.add(str(pod.workload or pod.key))
    if kills < STORM_KILLS or len(workloads) < STORM_WORKLOADS:
        return None
    return f"{kills} OOM kills of {len(workloads)} workloads in {window_seconds / 60:.0f} min"
