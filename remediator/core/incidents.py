"""What was killed for memory without us: OOM kills and evictions by the kubelet, read off the pods of a node.

Only what is recent: pods that ended stay listed for days. Nothing is decided here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from remediator.core.model import Level, PodFacts, PodUsage, Termination
from remediator.core.oom import OomClass, classify, is_suspicious, level_at, recent_terminations
from remediator.core.state import NodeState


@dataclass(frozen=True, slots=True)
class OomKill:
    """A container that the kernel killed, or may have killed."""

    pod: PodFacts
    termination: Termination
    oom_class: OomClass
    level: Level | None
    """The node's level then, as far as anybody knows."""


def oom_kills(
    pods: Iterable[PodFacts], usages: Mapping[str, PodUsage], state: NodeState, now: float, window_seconds: float
) -> Iterator[OomKill]:
    """Kills of the last `window_seconds`."""
    for pod in pods:
        found = classify(pod, usages.get(pod.uid), state, now, window_seconds)
        if found is not None:
            for each in recent_terminations(pod, now, window_seconds):
                if is_suspicious(each):
                    yield OomKill(pod, each, found, level_at(each, state))


def kubelet_evictions(pods: Iterable[PodFacts], now: float, window_seconds: float) -> Iterator[tuple[PodFacts, float]]:
    """(pod, when) of the last `window_seconds`; those of which nobody can say when are left out."""
    for pod in pods:
        at = ended_at(pod)
        if at is not None and 0 <= now - at <= window_seconds and evicted_for_memory(pod):
            yield pod, at


def evicted_for_memory(pod: PodFacts) -> bool:
    """Whether the kubelet ended it because the node ran out of memory."""
    about_memory = "memory" in pod.status_message.lower()
    if pod.status_reason == "Evicted":
        return about_memory
    return pod.disruption_target == "TerminationByKubelet" and (about_memory or not pod.status_message)


def ended_at(pod: PodFacts) -> float | None:
    """When it ended, or began to."""
    if pod.ended_at is not None:
        return pod.ended_at
    return max((t.finished_at for t in pod.terminations), default=pod.terminating_since)
