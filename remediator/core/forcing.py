"""Force deletion of pods that outlived their grace: off unless the policy says so, and never of a StatefulSet.

Only pods that we evicted, that are terminating, and whose node still needs their memory. Each is asked for once.
"""

from remediator.core.guards import Stops
from remediator.core.model import Mode, PodFacts
from remediator.core.situation import Situation
from remediator.core.state import Action, ActionKind, EvictionRecord
from remediator.core.turn import Turn


def force_actions(turn: Turn) -> tuple[Action, ...]:
    """What may be forced now; nothing while anything stands against evictions, or a human is to be asked."""
    s = turn.situation
    allowed = s.policy.safeguards.force_delete and s.mode is Mode.ENFORCE and s.breaker_until is None
    if not allowed or s.target_bytes <= 0 or Stops.EVICT & turn.draft.stopped.stops:
        return ()
    pods = {pod.uid: pod for pod in s.pods}
    return tuple(_action(s, e, pods[e.uid]) for e in s.state.evictions if e.uid in pods and _stuck(s, e, pods[e.uid]))


def _stuck(s: Situation, eviction: EvictionRecord, pod: PodFacts) -> bool:
    ours = eviction.gone_at is None and not eviction.observed_only and not eviction.forced
    overdue = s.now - eviction.at > s.policy.timers.gone_deadline_seconds
    stateful = pod.workload is not None and pod.workload.kind == "StatefulSet"
    return ours and overdue and pod.terminating_since is not None and not stateful


def _action(s: Situation, eviction: EvictionRecord, pod: PodFacts) -> Action:
    return Action(
        ActionKind.FORCE_DELETE,
        s.node,
        eviction.episode_id,
        namespace=pod.namespace,
        pod=pod.name,
        pod_uid=pod.uid,
        workload=pod.workload,
        expected_bytes=eviction.bytes,
        why="terminating longer than its grace, and the policy allows force_delete",
    )
