"""Which pods would end: scaling where asked for, Koordinator's strategies, then the pressure strategy.

One set of books for all of them: nobody is chosen twice, and a victim is credited to every ledger that it
relieves.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from remediator.core.candidates import Candidate, grace_of, rank
from remediator.core.figures import duration
from remediator.core.guards import Stopped, Stops, evictions_last_hour, silenced
from remediator.core.koordinator import Demand, label_priority, opted_in, resolved_priority
from remediator.core.model import Strategy, Tier, WorkloadFacts
from remediator.core.ordering import DISPENSABLE_FIRST
from remediator.core.profile import Lookups
from remediator.core.protection import (
    critical,
    opted_out,
    own_component,
    pod_silenced,
    protected_namespace,
    system_priority,
)
from remediator.core.reason import Reason
from remediator.core.situation import Situation
from remediator.core.state import Action, ActionKind, Reasoned
from remediator.core.strategies import Books, Selection, select_in_rounds, walk

SCALABLE = ("Deployment", "StatefulSet")
NEVER_SCALED = (system_priority, protected_namespace, own_component, critical, opted_out, pod_silenced)


@dataclass(frozen=True, slots=True)
class Releases:
    """Actions that end pods, what is said of each eligible pod, and why nobody (else) is taken."""

    actions: tuple[Action, ...] = ()
    said: Mapping[str, Reasoned] = field(default_factory=dict)
    why: tuple[Reasoned, ...] = ()
    due_at: float | None = None


def releases(
    s: Situation,
    stopped: Stopped,
    candidates: tuple[Candidate, ...],
    lookups: Lookups,
    gate: Reasoned | None,
) -> Releases:
    """Scale, then serve the strategies in their fixed order, then what is left of the pressure target."""
    eligible = [candidate for candidate in candidates if candidate.out is None]
    held = gate or stopped.why(Stops.EVICT)
    scales = () if gate else scalings(s, stopped, candidates, lookups)
    scaled = {str(action.workload) for action in scales} | {str(r.workload) for r in s.state.scaled}
    said = {c.pod.uid: _scaled_away() for c in eligible if c.workload in scaled}
    if held is not None:
        said = {candidate.pod.uid: held for candidate in eligible} | said
        return Releases(scales, said, (held, *(note for demand in s.demands for note in _unserved(demand))))
    books = open_books(s, lookups)
    served, asked, notes = _served(s, books)
    said |= asked
    freed = sum(action.expected_bytes for action in scales)
    rest = [c for c in eligible if c.workload not in scaled]
    pressure = _pressure(s, rest, books, freed, len(candidates))
    by_strategy = tuple(evict_action(s, candidate, strategy) for candidate, strategy in served)
    chosen = {candidate.pod.uid: said[candidate.pod.uid] for candidate, _ in served}
    why = (*notes, *(() if served or scales else pressure.why))
    return Releases(
        (*scales, *by_strategy, *pressure.actions), {**said, **pressure.said, **chosen}, why, pressure.due_at
    )


def _scaled_away() -> Reasoned:
    return Reasoned(Reason.ALREADY_CHOSEN, "its workload is scaled instead of evicted pod by pod")


# --- pressure ------------------------------------------------------------------------------------------


def _pressure(s: Situation, eligible: list[Candidate], books: Books, freed_by_scaling: int, seen: int) -> Releases:
    """Whom the pressure strategy evicts; else the one reason that is shown beside every eligible pod."""
    why, due_at = (None, None) if _maintenance(s) else _too_early(s)
    target = s.target_bytes - freed_by_scaling - sum(c.bytes for c in books.taken.values())
    if why is None and not eligible:
        why = Reasoned(Reason.NO_CANDIDATE, f"none of {seen} pods may be evicted")
    if _maintenance(s):
        target = 1  # whoever is first; the next one when this one has gone and the node has settled
    if why is None and target <= 0:
        why = Reasoned(Reason.TARGET_COVERED, "what is under way covers the target")
    if why is not None:
        return Releases((), {candidate.pod.uid: why for candidate in eligible}, (why,), due_at)
    books.pods_left = 1 if _maintenance(s) else s.step.max_pods_per_round
    rounds = 1 if _maintenance(s) else s.step.max_rounds - s.state.rounds
    selection = select_in_rounds(eligible, target, books, rounds, begun=s.state.rounds > 0)
    if not selection.chosen:
        return Releases((), selection.said, (selection.said[eligible[0].pod.uid],), due_at)
    actions = tuple(evict_action(s, candidate) for candidate in selection.chosen)
    return Releases(actions, selection.said, (), due_at)


def _maintenance(s: Situation) -> bool:
    """After an OOM-kill storm, where the policy says so: move evictable pods off one by one."""
    return s.oom_storm is not None and s.policy.maintenance == "drain"


def _too_early(s: Situation) -> tuple[Reasoned | None, float | None]:
    """The ladder's own conditions."""
    step, state = s.step, s.state
    if not step.evict_tiers or step.max_pods_per_round <= 0:
        return Reasoned(Reason.LEVEL_ALLOWS_NOTIFY_ONLY, f"{s.level.name} evicts nobody"), None
    if state.rounds >= step.max_rounds:
        return Reasoned(Reason.ROUNDS_SPENT, f"{state.rounds} of {step.max_rounds} rounds"), None
    if s.leaving:
        return Reasoned(Reason.RECOVERED, s.leaving), None
    since = state.level_since if state.level_since is not None else s.now
    ready_at = since + step.evict_after_seconds
    if s.now < ready_at:
        held = duration(step.evict_after_seconds)
        return Reasoned(Reason.LEVEL_TOO_FRESH, f"{s.level.name} evicts after {held}"), ready_at
    return None, None


def open_books(s: Situation, lookups: Lookups) -> Books:
    """Empty books with what the caps leave."""
    caps = s.policy.caps
    namespaces = {pod.namespace for pod in s.pods}
    per_namespace = caps.evictions_per_namespace_per_hour
    return Books(
        lookups=lookups,
        pods_left=s.policy.koordinator.max_pods_per_round,
        cluster_left=max(0, caps.evictions_per_hour - evictions_last_hour(s)),
        namespace_left={n: per_namespace - evictions_last_hour(s, n) for n in namespaces},
        namespace_cap=per_namespace,
    )


def evict_action(s: Situation, candidate: Candidate, strategy: Strategy = Strategy.PRESSURE) -> Action:
    """Evict one candidate."""
    pod = candidate.pod
    return Action(
        ActionKind.EVICT,
        s.node,
        s.state.episode_id,
        namespace=pod.namespace,
        pod=pod.name,
        pod_uid=pod.uid,
        workload=pod.workload,
        tier=candidate.profile.standing.tier,
        strategy=strategy,
        grace_period_seconds=grace_of(candidate),
        expected_bytes=candidate.bytes,
        score=round(candidate.score.total, 2) if candidate.score else None,
        why=_why(candidate.profile.standing.tier),
    )


def _why(tier: Tier | None) -> str:
    place = DISPENSABLE_FIRST.index(tier) + 1 if tier else 0
    return f"tier {tier}, {place} of {len(DISPENSABLE_FIRST)} from the most dispensable" if tier else "by label"


# --- Koordinator's strategies --------------------------------------------------------------------------

_Served = list[tuple[Candidate, Strategy]]


def _served(s: Situation, books: Books) -> tuple[_Served, dict[str, Reasoned], tuple[Reasoned, ...]]:
    """Serve each strategy's demand; those taken before are credited to every ledger they relieve."""
    served: _Served = []
    said: dict[str, Reasoned] = {}
    notes: list[Reasoned] = []
    rounds = max(step.max_rounds for step in s.policy.ladder.values())
    for demand in s.demands:
        notes += _unserved(demand)
        if demand.bytes and s.state.rounds >= rounds:
            notes.append(Reasoned(Reason.ROUNDS_SPENT, f"{s.state.rounds} of {rounds} rounds"))
            continue
        for selection in serve(s, demand, books):
            served += [(candidate, demand.strategy) for candidate in selection.chosen]
            for uid, reason in selection.said.items():
                said.setdefault(uid, Reasoned(reason.reason, f"{demand.strategy}: {reason.detail}"))
                if reason.reason is Reason.CHOSEN:
                    said[uid] = Reasoned(reason.reason, f"{demand.strategy}: {reason.detail}")
    return served, said, tuple(notes)


def _unserved(demand: Demand) -> list[Reasoned]:
    """Settings that are refused, ledgers that are not there."""
    refused = [Reasoned(Reason.STRATEGY_REFUSED, f"{demand.strategy}: {why}") for why in demand.refused]
    unknown = [Reasoned(Reason.LEDGER_UNKNOWN, f"the node has no {name}") for name in demand.unknown]
    return refused + unknown


def serve(s: Situation, demand: Demand, books: Books) -> list[Selection]:
    """Walk the strategy's order until its demand is covered: no dropping, no preference, no tiers."""
    if not demand.bytes:
        return []
    ranked = rank(s, (), strategy=demand.strategy)
    eligible = [candidate for candidate in ranked if candidate.out is None]
    if demand.strategy is not Strategy.MEMORY_ALLOCATABLE_EVICT:
        left = demand.usage_bytes - sum(c.bytes for c in books.taken.values())
        return [walk(in_order(eligible, demand), left, books)]
    selections = []
    for resource, asked in demand.request_bytes.items():

        def of_class(candidate: Candidate, resource: str = resource) -> int:
            return candidate.pod.extended_requests.get(resource, 0)

        left = asked - sum(of_class(c) for c in books.taken.values())
        selections.append(walk(in_order(eligible, demand, resource), left, books, of_class))
    return selections


def in_order(candidates: Iterable[Candidate], demand: Demand, resource: str = "") -> list[Candidate]:
    """Those the strategy may ask, in its own order; UID last, so that it is total."""

    def key(candidate: Candidate) -> tuple[int, int, int, str]:
        pod, used = candidate.pod, candidate.profile.usage
        size = used.working_set_bytes if used else 0
        if demand.strategy is Strategy.MEMORY_ALLOCATABLE_EVICT:
            size = pod.extended_requests.get(resource, 0)
        by_label = 0 if demand.strategy is Strategy.BE_MEMORY_EVICT else label_priority(pod)
        return resolved_priority(pod), by_label, -size, pod.uid

    return sorted((c for c in candidates if opted_in(c.pod, demand, resource)), key=key)


# --- scale ---------------------------------------------------------------------------------------------


def scalings(s: Situation, stopped: Stopped, candidates: Iterable[Candidate], lookups: Lookups) -> tuple[Action, ...]:
    """Workloads that asked to be scaled down under pressure, once each."""
    if not s.step.scale_on_pressure or s.leaving or (Stops.SCALE & stopped.stops) or silenced(s, ActionKind.SCALE):
        return ()
    found: dict[str, Action] = {}
    done = {str(record.workload) for record in s.state.scaled}
    for candidate in candidates:
        name, profile = candidate.workload, candidate.profile
        if name in done or name in found or name in lookups.refused or profile.workload is None:
            continue
        action = _scaling(s, candidate, profile.workload)
        if action is not None and all(check(profile, lookups) is None for check in NEVER_SCALED):
            found[name] = action
    return tuple(found.values())


def _scaling(s: Situation, candidate: Candidate, workload: WorkloadFacts) -> Action | None:
    rule = candidate.profile.standing.rule
    wanted = rule.scale_on_pressure if rule is not None else None
    if wanted is None or workload.ref.kind not in SCALABLE or workload.desired_replicas <= wanted:
        return None
    here = [pod for pod in s.pods if pod.workload == workload.ref]
    held = sum(u.releasable_bytes for pod in here if (u := (s.usages or {}).get(pod.uid)) is not None)
    share = 1 - wanted / workload.desired_replicas
    return Action(
        ActionKind.SCALE,
        s.node,
        s.state.episode_id,
        namespace=workload.ref.namespace,
        workload=workload.ref,
        tier=candidate.profile.standing.tier,
        expected_bytes=round(held * share),
        replicas=wanted,
        replicas_before=workload.desired_replicas,
        why=f"scale_on_pressure: {workload.desired_replicas} -> {wanted}",
    )
