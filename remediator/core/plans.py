"""Plans as values: making one with a stable id, what is left of it, the next step while it is performed."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256

from remediator.core.model import Level, PodFacts, Strategy, Tier
from remediator.core.policy import Policy
from remediator.core.reason import Reason
from remediator.core.state import Action, ActionKind, ActionResult, ActionStatus, Plan, RankedPod

ISOLATING = (ActionKind.CORDON, ActionKind.TAINT)
POD_REASONS = frozenset(
    {
        Reason.DISRUPTION_BUDGET,
        Reason.TWO_BUDGETS,
        Reason.REPLACED_SINCE,
        Reason.ALREADY_GONE,
        Reason.TERMINATING,
        Reason.POD_SILENCED,
        Reason.OPTED_OUT,
        Reason.OPT_OUT_UNREADABLE,
        Reason.TIER_CRITICAL,
        Reason.NAMESPACE_TERMINATING,
    }
)
"""Answers that blame the pod: the next best may stand in. Anything else blames us or the API: stop."""


def short_hash(*parts: object) -> str:
    """Ten hex digits, the same for the same parts."""
    return sha256("|".join(str(part) for part in parts).encode()).hexdigest()[:10]


def episode_id(node: str, started_at: float) -> str:
    """Id of an episode: node and start."""
    return f"{node}-{short_hash(node, f'{started_at:.3f}')}"


def make_plan(
    node: str,
    episode: str,
    level: Level,
    now: float,
    target_bytes: int,
    actions: Sequence[Action],
    expiry_seconds: float,
) -> Plan:
    """A plan; every action carries the episode."""
    owned = tuple(replace(action, episode_id=episode) for action in actions)
    plan_id = short_hash(episode, f"{now:.3f}", *(action.key for action in owned))
    return Plan(plan_id, node, episode, level, now, now + expiry_seconds, target_bytes, owned)


def intersection(approved: Plan, fresh: Iterable[Action]) -> Plan:
    """What was approved and is still right: only steps of both, in the approved order, with fresh figures."""
    now = {action.key: action for action in fresh}
    both = tuple(
        replace(now[action.key], episode_id=approved.episode_id) for action in approved.actions if action.key in now
    )
    return replace(approved, actions=both, substitutes=False)


def left_of(plan: Plan, results: Iterable[tuple[str, ActionStatus, Reason]], pods: Iterable[PodFacts]) -> Plan:
    """The steps still to be done after a crash: a pod that is gone or terminating counts as done.

    Closing the node is done again unless it surely was: it may be repeated, and evictions need it.
    """
    answers = {key: status for key, status, _ in results}
    closing = {action.key for action in plan.actions if action.kind in ISOLATING}
    final = {
        key
        for key, status in answers.items()
        if status is ActionStatus.DONE or (key not in closing and status is not ActionStatus.RETRY_LATER)
    }
    alive = {pod.uid for pod in pods if pod.terminating_since is None}
    left = tuple(
        action for action in plan.actions if action.key not in final and (not action.pod_uid or action.pod_uid in alive)
    )
    return replace(plan, actions=left)


def next_action(
    plan: Plan, ranking: Sequence[RankedPod], results: Sequence[ActionResult], policy: Policy
) -> Action | None:
    """The next step of a plan being performed, or None when it is over. Call it until it says None.

    First the plan's own steps in their order; then, for pods that were refused, the next best of the ranking
    until the target is covered, the round is full or nobody is left. Nothing is evicted unless cordon and
    taint of the same plan succeeded, and an answer that does not blame the pod (forbidden, throttled,
    recovered, silenced, no answer) ends the evictions of the round.
    """
    done = {result.action.key for result in results}
    stop = _isolation_failed(results) or any(_ends_round(result) for result in results)
    for action in plan.actions:
        if action.key not in done and not (stop and not action.undo):
            return action
    return None if stop or not plan.substitutes else _substitute(plan, ranking, results, policy)


def _isolation_failed(results: Iterable[ActionResult]) -> bool:
    return any(r.action.kind in ISOLATING and r.status is not ActionStatus.DONE for r in results)


def _ends_round(result: ActionResult) -> bool:
    if not result.action.irreversible or result.status is ActionStatus.DONE:
        return False
    return result.reason not in POD_REASONS


def _substitute(
    plan: Plan, ranking: Sequence[RankedPod], results: Sequence[ActionResult], policy: Policy
) -> Action | None:
    tried = [result for result in results if result.action.kind is ActionKind.EVICT]
    taken = [r for r in tried if r.status is ActionStatus.DONE]
    freed = sum(r.action.expected_bytes for r in taken)
    freed += sum(r.action.expected_bytes for r in tried if r.reason is Reason.ALREADY_GONE)
    step = policy.ladder[plan.level]
    nobody_refused = len(taken) == len(tried)
    if nobody_refused or freed >= plan.target_bytes or len(taken) >= step.max_pods_per_round:
        return None
    keys = {result.action.pod_uid for result in tried}
    busy: set[object] = {r.action.workload for r in taken}
    for row in ranking:
        if row.uid not in keys and _may_stand_in(row, busy):
            return _action_for(row, plan)
    return None


def _may_stand_in(row: RankedPod, busy: set[object]) -> bool:
    if not row.eligible or row.tier is None or row.score is None:
        return False
    spare = (Reason.TARGET_COVERED, Reason.ROUND_FULL, Reason.ONE_PER_WORKLOAD)
    return row.reason in spare and (row.tier is Tier.OFFLINE or row.workload not in busy)


def _action_for(row: RankedPod, plan: Plan) -> Action:
    return Action(
        ActionKind.EVICT,
        plan.node,
        plan.episode_id,
        namespace=row.namespace,
        pod=row.pod,
        pod_uid=row.uid,
        workload=row.workload,
        tier=row.tier,
        strategy=Strategy.PRESSURE,
        grace_period_seconds=row.grace_period_seconds,
        expected_bytes=row.releasable_bytes or 0,
        score=round(row.score.total, 2) if row.score else None,
        why="stands in for a pod that was refused",
    )
