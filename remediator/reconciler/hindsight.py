"""What the node's level was when a container was killed, asked of Prometheus only when there was such a kill.

Whether an OOM kill was the pod's own limit's fault depends on it. Where nobody knows, the core falls back to what
it remembers of the node; nothing is guessed here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from remediator.core.model import ClusterFacts, Level, PodFacts, Termination, Unknown

LOOKED_AT = 20
"""Only so many of the latest kills: more of them are a storm whatever the oldest ones were."""
KILLED_EXIT_CODE = 137
LevelsAt = Callable[[str, Sequence[float]], Mapping[float, Level] | Unknown]


def with_levels(cluster: ClusterFacts | Unknown, levels_at: LevelsAt) -> ClusterFacts | Unknown:
    """The same facts with `level_at` filled in for the latest kills, as far as Prometheus knows."""
    if isinstance(cluster, Unknown):
        return cluster
    times = sorted({t.finished_at for pod in cluster.pods for t in _kills(pod)})[-LOOKED_AT:]
    levels = levels_at(cluster.node.name, times) if times else {}
    if isinstance(levels, Unknown) or not levels:
        return cluster
    return replace(cluster, pods=tuple(_with_levels(pod, levels) for pod in cluster.pods))


def _kills(pod: PodFacts) -> Iterable[Termination]:
    return (t for t in pod.terminations if t.reason == "OOMKilled" or t.exit_code == KILLED_EXIT_CODE)


def _with_levels(pod: PodFacts, levels: Mapping[float, Level]) -> PodFacts:
    if not pod.terminations:
        return pod
    told = tuple(replace(t, level_at=levels.get(t.finished_at)) for t in pod.terminations)
    return replace(pod, terminations=told)
