"""What would be done about a node now: the actions a plan would hold, and why everything else is left alone.

Composes the level's ladder, the candidates, the strategies and the guards. It decides nothing about phases or
modes (planner.py), so `explain` shows the same draft that would be acted on.
"""

from dataclasses import dataclass, replace

from remediator.core.candidates import look_up, profile_of, rank, rows
from remediator.core.draining import Floor, not_drainable
from remediator.core.figures import duration
from remediator.core.guards import Stopped, Stops, run, silenced
from remediator.core.model import Isolation, Level, Strategy
from remediator.core.profile import Lookups
from remediator.core.reason import Reason
from remediator.core.releases import releases
from remediator.core.situation import Situation
from remediator.core.state import ROUND, Action, ActionKind, RankedPod, Reasoned


@dataclass(frozen=True, slots=True)
class Draft:
    """Actions in their order, the full ranking, and every reason that held something back."""

    actions: tuple[Action, ...]
    reasons: tuple[Reasoned, ...]
    ranking: tuple[RankedPod, ...]
    stopped: Stopped
    due_at: float | None = None
    """When time alone will allow more (evict_after_seconds, drain grace)."""


def draft(s: Situation, *, plan_id: str = "", gate: Reasoned | None = None) -> Draft:
    """The draft; `gate` holds evictions back for a reason of the phase (settling, cooling down)."""
    stopped = run(s)
    tiers = s.step.evict_tiers or s.policy.ladder[Level.RED].evict_tiers
    candidates = rank(s, tiers, plan_id=plan_id)
    lookups = look_up(s, tiers, plan_id, Strategy.PRESSURE)
    isolation, withheld = _isolation(s, stopped)
    drains, skipped = _drains(s, stopped, lookups)
    released = releases(s, stopped, candidates, lookups, gate)
    drains, endings, due_at = _drain_first(s, lookups, drains, released.actions, released.due_at)
    reasons = [reason for _, reason in stopped.reasons]
    reasons += [reason for reason in (*withheld, *skipped, *released.why) if reason not in reasons]
    ranking = rows(candidates, released.said, s)
    failed = s.backing_off(ROUND)
    if failed is not None:
        why = Reasoned(failed[0].reason, f"tried {failed[0].times} times; again in {duration(failed[1] - s.now)}")
        return Draft((), (why, *reasons), ranking, stopped, failed[1])
    return Draft((*isolation, *drains, *endings), tuple(reasons), ranking, stopped, due_at)


# --- isolation -----------------------------------------------------------------------------------------


def _isolation(s: Situation, stopped: Stopped) -> tuple[tuple[Action, ...], tuple[Reasoned, ...]]:
    """Cordon and taint, where the level (or an OOM-kill storm) asks for it and nothing stands against it."""
    wanted = s.step.cordon or s.oom_storm is not None
    if not wanted or Stops.CORDON & stopped.stops:
        return (), ()
    if s.state.isolation is not Isolation.NONE:
        return _missing_taint(s), ()
    if s.state.hands_off_until is not None:
        left = duration(s.state.hands_off_until - s.now)
        return (), (Reasoned(Reason.NOT_OURS, f"a human opened the node: hands off for another {left}"),)
    held = silenced(s, "cordon")
    if held is not None:
        return (), (held,)
    why = s.oom_storm or f"{s.level.name}: new pods would go where memory is short"
    return tuple(
        Action(kind, s.node, s.state.episode_id, why=why) for kind in (ActionKind.CORDON, ActionKind.TAINT)
    ), ()


def _missing_taint(s: Situation) -> tuple[Action, ...]:
    """Cordoned by us, but the taint did not take: once more."""
    taint = s.policy.taint
    if s.cluster is None or s.state.isolation_observed or s.state.hands_off_until is not None:
        return ()
    if any(t.key == taint.key and t.effect == taint.effect for t in s.cluster.node.taints):
        return ()
    return (Action(ActionKind.TAINT, s.node, s.state.episode_id, why="cordoned by us, but without our taint"),)


# --- drain endpoints -----------------------------------------------------------------------------------


def _drains(s: Situation, stopped: Stopped, lookups: Lookups) -> tuple[tuple[Action, ...], tuple[Reasoned, ...]]:
    """Online pods to take out of service at a level that drains."""
    if not s.step.drain_endpoints or Stops.DRAIN & stopped.stops or silenced(s, "drain_endpoints"):
        return (), ()
    if s.leaving:
        return (), (Reasoned(Reason.RECOVERED, s.leaving),)
    drained, floor = {record.uid for record in s.state.drained}, Floor(lookups)
    actions, skipped = [], []
    for pod in sorted(s.pods, key=lambda pod: (pod.namespace, pod.name)):
        if pod.uid in drained or not_drainable(profile_of(pod, s), lookups) is not None:
            continue
        kept = floor.refuses(pod)
        if kept is None:
            actions.append(drain_action(s, pod.uid, f"{s.level.name}: traffic goes to other nodes"))
        else:
            skipped.append(replace(kept, detail=f"{pod.key}: {kept.detail}"))
    return tuple(actions), tuple(skipped)


def drain_action(s: Situation, uid: str, why: str) -> Action:
    """Take one pod of the node out of its Services."""
    pod = next(pod for pod in s.pods if pod.uid == uid)
    label = s.policy.serving_label
    return Action(
        ActionKind.DRAIN_ENDPOINTS,
        s.node,
        s.state.episode_id,
        namespace=pod.namespace,
        pod=pod.name,
        pod_uid=pod.uid,
        workload=pod.workload,
        tier=profile_of(pod, s).standing.tier,
        why=why,
        label=label,
        label_value=pod.labels.get(label, "true"),
    )


def _drain_first(
    s: Situation,
    lookups: Lookups,
    drains: tuple[Action, ...],
    evictions: tuple[Action, ...],
    due_at: float | None,
) -> tuple[tuple[Action, ...], tuple[Action, ...], float | None]:
    """Below RED a drainable pod gets time to finish its requests before it is evicted."""
    if s.level >= Level.RED or not evictions:
        return drains, evictions, due_at
    since = {record.uid: record.at for record in s.state.drained}
    draining = {action.pod_uid for action in drains}
    profiles = {pod.uid: profile_of(pod, s) for pod in s.pods}
    now, more = [], []
    for action in evictions:
        uid = action.pod_uid
        if not uid:  # scaling: its pods finish by their own grace
            now.append(action)
            continue
        finished = since[uid] + s.policy.timers.drain_grace_seconds if uid in since else None
        if finished is not None and s.now < finished:
            due_at = min(due_at or finished, finished)
        elif finished is None and uid in draining:
            pass  # evicted by a later pass, when its requests are done
        elif finished is None and not_drainable(profiles[uid], lookups) is None:
            more.append(drain_action(s, uid, "to be evicted: its requests may finish first"))
        else:
            now.append(action)
    return (*drains, *more), tuple(now), due_at
