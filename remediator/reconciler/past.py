"""A question about a moment that is over: figures from Prometheus' history, cluster objects as they are now.

What is known of then is taken from then, what is not is said. Nothing of what we remember is used: a record holds what
came after, so the node is looked at as if for the first time, its level being as old as the history says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from remediator.core.model import ClusterFacts, Level, MemoryFacts, NodeFacts, PodFacts, PodUsage, Unknown
from remediator.core.question import Question
from remediator.core.state import FleetFacts, NodeState
from remediator.reconciler.explanation import Json

LEVEL_WINDOW_SECONDS = 3600.0
"""How far back the beginning of a level is looked for; older is old enough for every rule."""
NOTES = (
    "memory, usage and levels are those of then, from Prometheus' history",
    "the cluster's objects (pods, replicas, budgets, cordon) and silences are as they are now",
    "nothing remembered is used: cooldowns, episodes and caps of then are not known; the audit has what was decided",
)


class History(Protocol):
    """What Prometheus still knows of a moment (adapters/prometheus.py)."""

    def pod_names(self, node: str) -> Mapping[str, tuple[str, str]] | Unknown:
        """Pod UID -> (namespace, name)."""

    def last_below(self, node: str, level: Level, window_seconds: float) -> float | Unknown | None:
        """When the node was last below a level, within the window; None: all the while at it or above."""


@dataclass(frozen=True, slots=True)
class Past:
    """A question as of then, and what had to be left out or could not be known."""

    question: Question
    younger: tuple[str, ...] = ()
    """Pods that did not exist yet."""
    gone: tuple[PodFacts, ...] = ()
    """Pods of then that are no more: only name and usage are known, so they cannot be candidates."""

    def told(self, decided: Json) -> Json:
        """The decision with what has to be known about it."""
        usages = self.question.observation.usages
        known: Mapping[str, PodUsage] = {} if isinstance(usages, Unknown) else usages
        uids = {pod.uid for pod in self.gone}
        ranking = [{**row, **_GONE} if row["uid"] in uids else row for row in decided["ranking"]]
        gone = [{"pod": pod.key, "usage_bytes": known[pod.uid].working_set_bytes} for pod in self.gone]
        return {
            **decided,
            "ranking": ranking,
            "past": {"notes": list(NOTES), "younger": list(self.younger), "gone": gone},
        }


_GONE = {
    "sentence": "gone since; only its usage is known",
    "detail": "",
    "tier": None,
    "score": None,
    "kubelet_rank": None,
}


def as_of(question: Question, at: float, history: History) -> Past:
    """The question put to the moment `at`, about which its figures and `history` were asked."""
    seen = replace(question.observation, at=at)
    state = _first_look(seen.memory, seen.node, seen.at, history)
    fleet = FleetFacts(seen.fleet.levels, {})
    if isinstance(seen.cluster, Unknown):
        return Past(replace(question, state=state, observation=replace(seen, fleet=fleet)))
    there = tuple(_as_then(pod, seen.at) for pod in seen.cluster.pods if pod.created_at <= seen.at)
    gone = _gone(question, seen.cluster, history)
    cluster = replace(seen.cluster, pods=there + gone)
    asked = replace(question, state=state, observation=replace(seen, cluster=cluster, fleet=fleet))
    return Past(asked, tuple(pod.key for pod in seen.cluster.pods if pod.created_at > seen.at), gone)


def _first_look(memory: MemoryFacts | Unknown, node: str, at: float, history: History) -> NodeState:
    if isinstance(memory, Unknown):
        return NodeState()
    below = history.last_below(node, memory.level, LEVEL_WINDOW_SECONDS)
    if isinstance(below, Unknown):
        return NodeState()
    return NodeState(level=memory.level, level_since=at - LEVEL_WINDOW_SECONDS if below is None else below)


def _as_then(pod: PodFacts, at: float) -> PodFacts:
    """Without what happened to it later, as far as that can be told."""
    leaving = pod.terminating_since
    ended_later = pod.ended_at is not None and pod.ended_at > at
    return replace(
        pod,
        terminating_since=None if leaving is not None and leaving > at else leaving,
        phase="Running" if ended_later else pod.phase,
        terminations=tuple(each for each in pod.terminations if each.finished_at <= at),
    )


def _gone(question: Question, cluster: ClusterFacts, history: History) -> tuple[PodFacts, ...]:
    """Stand-ins for pods that used memory then: they count as pods' memory, and nobody can choose them."""
    seen = question.observation
    if isinstance(seen.usages, Unknown):
        return ()
    here = {pod.uid for pod in cluster.pods} | {pod.key for pod in cluster.pods}
    vanished = [uid for uid in seen.usages if uid not in here]
    names = history.pod_names(seen.node) if vanished else {}
    known = {} if isinstance(names, Unknown) else names
    return tuple(_stand_in(uid, known.get(uid), cluster.node) for uid in vanished)


def _stand_in(uid: str, name: tuple[str, str] | None, node: NodeFacts) -> PodFacts:
    namespace, _, rest = uid.partition("/")
    found = name or ((namespace, rest) if rest else ("unknown", uid))
    return PodFacts(*found, uid=uid, node=node.name)
