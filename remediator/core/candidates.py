"""The ranking: every pod of the node with what speaks for evicting it and what against, in a total order.

Looks things up once, runs the filters, scores, sorts. Who is taken, and how many, is strategies.py.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from remediator.core.business import standing_of
from remediator.core.disturbance import fits_nowhere
from remediator.core.figures import size
from remediator.core.filters import first_reason
from remediator.core.fleet import fleet_evictions
from remediator.core.model import BudgetFacts, PodFacts, Strategy, Tier
from remediator.core.oom import classify
from remediator.core.ordering import eviction_key, kubelet_ranks
from remediator.core.profile import Lookups, Profile
from remediator.core.reason import Reason
from remediator.core.score import score_of
from remediator.core.situation import Situation
from remediator.core.state import EvictionRecord, RankedPod, Reasoned, ScoreParts

GRACE_ANNOTATION = "remediator.io/grace-period-seconds"
STATEFUL_GRACE_SECONDS = 60
OFFLINE_GRACE_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pod, its score, and the reason why it is out (None: eligible)."""

    profile: Profile
    score: ScoreParts | None
    out: Reasoned | None
    notes: tuple[str, ...] = ()

    @property
    def pod(self) -> PodFacts:
        """The pod itself."""
        return self.profile.pod

    @property
    def bytes(self) -> int:
        """What leaves with it: anon + shmem."""
        return self.profile.usage.releasable_bytes if self.profile.usage else 0

    @property
    def workload(self) -> str:
        """Name under which its workload is remembered."""
        return str(self.pod.workload or self.pod.key)


def rank(
    situation: Situation,
    tiers: tuple[Tier, ...],
    *,
    plan_id: str = "",
    strategy: Strategy = Strategy.PRESSURE,
) -> tuple[Candidate, ...]:
    """All pods of the node, eligible ones first, each group in the total order.

    `plan_id` is the plan in hand: its own evictions do not put a workload into cooldown.
    """
    lookups = look_up(situation, tiers, plan_id, strategy)
    ranked = [_candidate(profile_of(pod, situation), lookups) for pod in situation.pods]
    return tuple(sorted(ranked, key=_sort_key))


def _sort_key(candidate: Candidate) -> tuple[bool, bool, tuple[float | int | str, ...]]:
    score = candidate.score or ScoreParts(0, 0, 0, 0, 0)
    return candidate.out is not None, candidate.score is None, eviction_key(candidate.profile, score)


def look_up(situation: Situation, tiers: tuple[Tier, ...], plan_id: str, strategy: Strategy) -> Lookups:
    """The indexes that filters read."""
    cluster = situation.cluster
    return Lookups(
        situation=situation,
        tiers=tiers,
        strategy=strategy,
        budgets=_budgets_by_uid(cluster.budgets if cluster else ()),
        evictions=_evictions_by_workload(situation, plan_id),
        refused={refusal.key: refusal for refusal in situation.state.refused},
    )


def _budgets_by_uid(budgets: Iterable[BudgetFacts]) -> Mapping[str, tuple[BudgetFacts, ...]]:
    index: dict[str, list[BudgetFacts]] = defaultdict(list)
    for budget in budgets:
        for uid in budget.pod_uids:
            index[uid].append(budget)
    return {uid: tuple(found) for uid, found in index.items()}


def _evictions_by_workload(situation: Situation, plan_id: str) -> Mapping[str, tuple[EvictionRecord, ...]]:
    index: dict[str, list[EvictionRecord]] = defaultdict(list)
    for eviction in fleet_evictions(situation):
        if not plan_id or eviction.plan_id != plan_id:
            index[eviction.workload].append(eviction)
    return {workload: tuple(found) for workload, found in index.items()}


def profile_of(pod: PodFacts, situation: Situation) -> Profile:
    """A pod with its workload, tier, usage and OOM class."""
    cluster, policy, now = situation.cluster, situation.policy, situation.now
    workload = cluster.workloads.get(pod.workload) if cluster and pod.workload else None
    usage = situation.usages.get(pod.uid) if situation.usages is not None else None
    fresh = usage is not None and now - usage.sampled_at <= policy.safeguards.max_sample_age_seconds
    oom = classify(pod, usage, situation.state, now, policy.timers.oom_window_seconds)
    return Profile(pod, workload, standing_of(pod, workload, policy), usage, fresh, oom)


def _candidate(profile: Profile, lookups: Lookups) -> Candidate:
    situation, tier = lookups.situation, profile.standing.tier
    score = None
    if tier is not None and profile.usage is not None:
        used, need = profile.usage.working_set_bytes, situation.first_target_bytes
        score = score_of(profile.pod, profile.workload, tier, used, need, situation.policy)
    out = first_reason(profile, lookups)
    return Candidate(profile, score, out, _notes(profile, lookups, out))


def _notes(profile: Profile, lookups: Lookups, out: Reasoned | None) -> tuple[str, ...]:
    notes = []
    if profile.oom is not None:
        notes.append(f"classified {profile.oom.value}")
    if profile.usage is not None and profile.usage.source != "exporter":
        notes.append(f"usage from {profile.usage.source}: working set stands in for releasable bytes")
    if out is None and not profile.online and (nowhere := fits_nowhere(profile, lookups)):
        notes.append(f"{nowhere.detail}: its successor waits")
    return tuple(notes)


def grace_of(candidate: Candidate) -> int:
    """Seconds a pod gets to finish: annotation, else by kind and tier, else its own."""
    pod = candidate.pod
    try:
        declared = int(pod.annotations[GRACE_ANNOTATION])
    except (KeyError, ValueError):
        declared = -1
    if declared >= 0:
        return declared
    if pod.workload is not None and pod.workload.kind == "StatefulSet":
        return max(STATEFUL_GRACE_SECONDS, pod.grace_period_seconds)
    if not candidate.profile.online:
        return min(OFFLINE_GRACE_SECONDS, pod.grace_period_seconds)
    return pod.grace_period_seconds


def rows(candidates: Iterable[Candidate], said: Mapping[str, Reasoned], situation: Situation) -> tuple[RankedPod, ...]:
    """What people are shown; `said` overrides the reason of eligible pods by UID."""
    cluster = situation.cluster
    usages = dict(situation.usages or {})
    ranks = kubelet_ranks(cluster.pods if cluster else (), usages, situation.policy.safeguards.system_priority)
    return tuple(_row(c, said, ranks.get(c.pod.uid)) for c in candidates)


def _row(candidate: Candidate, said: Mapping[str, Reasoned], kubelet_rank: int | None) -> RankedPod:
    pod, usage = candidate.pod, candidate.profile.usage
    told = said.get(pod.uid)
    chosen = told is not None and told.reason is Reason.CHOSEN
    why = (told if chosen else None) or candidate.out or told or Reasoned(Reason.TARGET_COVERED, "not needed")
    return RankedPod(
        namespace=pod.namespace,
        pod=pod.name,
        uid=pod.uid,
        workload=pod.workload,
        tier=candidate.profile.standing.tier,
        priority=pod.priority or 0,
        qos=pod.qos,
        usage_bytes=usage.working_set_bytes if usage else None,
        request_bytes=pod.request_bytes,
        releasable_bytes=usage.releasable_bytes if usage else None,
        score=candidate.score,
        reason=why.reason,
        detail=why.detail,
        kubelet_rank=kubelet_rank,
        eligible=candidate.out is None,
        grace_period_seconds=grace_of(candidate),
        notes=candidate.notes,
    )


def chosen_sentence(candidate: Candidate) -> str:
    """`frees 9.0 GiB, score 94.3`."""
    score = f", score {candidate.score.total:.1f}" if candidate.score else ""
    return f"frees {size(candidate.bytes)}{score}"
