"""What a pass witnesses beside its decision, as audit lines: a level that changed, an OOM kill, a kubelet eviction.

Each is told once: a change of level because the record remembers the last one, a death because it is remembered here.
Another replica, or this one after a restart, may tell a death again for as long as it counts as recent: whoever reads
the audit knows it by its pod, container and time. Decides nothing.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from operator import itemgetter

from remediator.core.business import standing_of
from remediator.core.incidents import kubelet_evictions, oom_kills
from remediator.core.model import ClusterFacts, MemoryFacts, PodFacts, Unknown
from remediator.core.policy import Policy
from remediator.core.reason import Reason
from remediator.core.state import Decision, NodeState, Observation, RankedPod
from remediator.reconciler.explanation import Json

REMEMBERED = 10_000
"""So many deaths are remembered."""
UNTOUCHED = 10
"""So many workloads that could not be touched are named, and as many undeclared ones."""
_LEFT_ANYWAY = (Reason.NOT_RUNNING, Reason.TERMINATING)
Line = tuple[str, Json]
"""(kind, content)."""


class Witness:
    """What one process has seen so far."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._told: OrderedDict[Hashable, None] = OrderedDict()

    def saw(self, seen: Observation, decision: Decision, before: NodeState) -> Iterator[Line]:
        """Lines that this pass is the first to tell."""
        yield from _level(seen, decision, before)
        if isinstance(seen.cluster, ClusterFacts):
            yield from self._kills(seen, seen.cluster, decision)
            yield from self._evictions(seen.cluster, decision)

    def _kills(self, seen: Observation, cluster: ClusterFacts, decision: Decision) -> Iterator[Line]:
        usages = {} if isinstance(seen.usages, Unknown) else seen.usages
        window = self._policy.timers.oom_window_seconds
        for kill in oom_kills(cluster.pods, usages, decision.next_state, decision.at, window):
            end = kill.termination
            if self._first((kill.pod.uid, end.container, end.finished_at)):
                yield (
                    "oom_kill",
                    {
                        **self._dead(kill.pod, cluster, decision.node),
                        "container": end.container,
                        "class": str(kill.oom_class),
                        "exit_code": end.exit_code,
                        "level": kill.level.name if kill.level is not None else None,
                        "died_at": end.finished_at,
                    },
                )

    def _evictions(self, cluster: ClusterFacts, decision: Decision) -> Iterator[Line]:
        for pod, at in kubelet_evictions(cluster.pods, decision.at, self._policy.timers.oom_window_seconds):
            if self._first((pod.uid, "kubelet")):
                dead = self._dead(pod, cluster, decision.node)
                yield "kubelet_eviction", {**dead, "detail": pod.status_message, "died_at": at}

    def _dead(self, pod: PodFacts, cluster: ClusterFacts, node: str) -> Json:
        workload = cluster.workloads.get(pod.workload) if pod.workload else None
        tier = standing_of(pod, workload, self._policy).tier
        return {
            "node": node,
            "namespace": pod.namespace,
            "pod": pod.name,
            "pod_uid": pod.uid,
            "workload": str(pod.workload) if pod.workload else None,
            "tier": str(tier) if tier else None,
        }

    def _first(self, key: Hashable) -> bool:
        if key in self._told:
            return False
        self._told[key] = None
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        return True


def _level(seen: Observation, decision: Decision, before: NodeState) -> Iterator[Line]:
    """The rules' level as the record holds it; a source that is silent changes none."""
    after = decision.next_state.level
    if after is None or after is before.level or not isinstance(seen.memory, MemoryFacts):
        return
    yield (
        "level",
        {
            "node": decision.node,
            "mode": str(decision.mode),
            "level": after.name,
            "level_before": before.level.name if before.level is not None else None,
            "used_ratio": seen.memory.used_ratio,
            "available_bytes": seen.memory.available_bytes,
            "total_bytes": seen.memory.total_bytes,
        },
    )


def untouched(ranking: Iterable[RankedPod]) -> list[Json]:
    """Workloads whose pods may not be evicted, and why: the largest of all, and the largest undeclared ones.

    They stand at the ranking's end, so that its first rows do not show them.
    """
    found: dict[tuple[str, Reason], Json] = {}
    for row in ranking:
        if row.eligible or row.reason in _LEFT_ANYWAY:
            continue
        name = str(row.workload or f"{row.namespace}/Pod/{row.pod}")
        held = found.setdefault((name, row.reason), _held(name, row))
        held["pods"] += 1
        held["releasable_bytes"] += row.releasable_bytes or 0
    by_name = sorted(found.values(), key=itemgetter("workload", "reason"))
    largest = sorted(by_name, key=itemgetter("releasable_bytes"), reverse=True)
    undeclared = [each for each in largest if each["reason"] == Reason.UNDECLARED][:UNTOUCHED]
    return [*largest[:UNTOUCHED], *(each for each in undeclared if each not in largest[:UNTOUCHED])]


def _held(name: str, row: RankedPod) -> Json:
    return {
        "workload": name,
        "reason": str(row.reason),
        "tier": str(row.tier) if row.tier else None,
        "qos": row.qos,
        "priority": row.priority,
        "pods": 0,
        "releasable_bytes": 0,
    }
