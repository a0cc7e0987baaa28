"""How much to release and from whom: the walk down an order, and the pressure strategy's refinements.

`walk` takes pods until the target is covered and keeps the books that a plan must not overdraw: budgets,
ready replicas, caps, one pod per online workload. `select` is the pressure strategy: after the walk it drops
whoever is not needed, and prefers one single pod where that covers everything. Koordinator's strategies use
the bare walk (koordinator.py).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from remediator.core.candidates import Candidate, chosen_sentence
from remediator.core.disturbance import may_lose_single, min_ready_of, replicas_matter
from remediator.core.figures import size
from remediator.core.model import Tier
from remediator.core.ordering import DISPENSABLE_FIRST
from remediator.core.profile import Lookups
from remediator.core.reason import Reason
from remediator.core.state import Reasoned

SINGLE_WITHIN_POINTS = 10.0


@dataclass(slots=True)
class Books:
    """What one plan has used up so far; shared by all strategies of a round."""

    lookups: Lookups
    pods_left: int
    cluster_left: int
    namespace_left: Mapping[str, int] = field(default_factory=dict)
    namespace_cap: int = 0
    taken: dict[str, Candidate] = field(default_factory=dict)
    _workloads: Counter[str] = field(default_factory=Counter)
    _ready: Counter[str] = field(default_factory=Counter)
    _namespaces: Counter[str] = field(default_factory=Counter)
    _budgets: Counter[tuple[str, str]] = field(default_factory=Counter)

    def copy(self, pods_left: int) -> "Books":
        """The same books to try a plan in, with room for so many pods."""
        return replace(
            self,
            pods_left=pods_left,
            taken=dict(self.taken),
            _workloads=Counter(self._workloads),
            _ready=Counter(self._ready),
            _namespaces=Counter(self._namespaces),
            _budgets=Counter(self._budgets),
        )

    def refuses(self, candidate: Candidate) -> Reasoned | None:
        """Why this candidate cannot be added to the plan, or None."""
        if candidate.pod.uid in self.taken:
            return Reasoned(Reason.ALREADY_CHOSEN, "already in this plan")
        if len(self.taken) >= self.pods_left:
            return Reasoned(Reason.ROUND_FULL, f"at most {self.pods_left} pods a round")
        return self._caps(candidate) or self._neighbours(candidate)

    def _caps(self, candidate: Candidate) -> Reasoned | None:
        namespace = candidate.pod.namespace
        if len(self.taken) >= self.cluster_left:
            detail = f"only {self.cluster_left} more evictions this hour in the cluster"
            return Reasoned(Reason.CAP_EVICTIONS_CLUSTER, detail)
        left = self.namespace_left.get(namespace, self.namespace_cap)
        if self._namespaces[namespace] >= left:
            detail = f"only {max(0, left)} more evictions this hour in namespace {namespace}"
            return Reasoned(Reason.CAP_EVICTIONS_NAMESPACE, detail)
        return None

    def _neighbours(self, candidate: Candidate) -> Reasoned | None:
        name, profile = candidate.workload, candidate.profile
        if profile.online and self._workloads[name]:
            return Reasoned(Reason.ONE_PER_WORKLOAD, f"another pod of {name} is in this plan")
        if self._overdraws_replicas(candidate):
            return Reasoned(Reason.LAST_READY_REPLICA, f"too few ready pods of {name} would be left")
        for budget in self.lookups.budgets.get(candidate.pod.uid, ()):
            used = self._budgets[budget.namespace, budget.name]
            if candidate.pod.ready and used >= budget.disruptions_allowed:
                return Reasoned(Reason.DISRUPTION_BUDGET, f"this plan uses up budget {budget.name}")
        return None

    def _overdraws_replicas(self, candidate: Candidate) -> bool:
        profile = candidate.profile
        if not replicas_matter(profile) or profile.workload is None or not candidate.pod.ready:
            return False
        if profile.workload.desired_replicas <= 1 and may_lose_single(profile, self.lookups):
            return False
        left = profile.workload.ready_replicas - self._ready[candidate.workload] - 1
        return left < min_ready_of(profile, self.lookups)

    def add(self, candidate: Candidate) -> None:
        """Write it down."""
        self._count(candidate, 1)
        self.taken[candidate.pod.uid] = candidate

    def remove(self, candidate: Candidate) -> None:
        """Strike it out again."""
        self._count(candidate, -1)
        del self.taken[candidate.pod.uid]

    def _count(self, candidate: Candidate, by: int) -> None:
        self._workloads[candidate.workload] += by
        self._ready[candidate.workload] += by * int(candidate.pod.ready)
        self._namespaces[candidate.pod.namespace] += by
        for budget in self.lookups.budgets.get(candidate.pod.uid, ()):
            self._budgets[budget.namespace, budget.name] += by * int(candidate.pod.ready)


@dataclass(frozen=True, slots=True)
class Selection:
    """Whom a strategy takes, in order, and what is said of the others."""

    chosen: tuple[Candidate, ...]
    said: Mapping[str, Reasoned]
    """Pod UID -> reason, for every eligible candidate that was looked at."""

    @property
    def bytes(self) -> int:
        """What the chosen ones release."""
        return sum(candidate.bytes for candidate in self.chosen)


def releasable(candidate: Candidate) -> int:
    """What counts towards a target of node usage."""
    return candidate.bytes


def walk(
    order: Iterable[Candidate],
    target_bytes: int,
    books: Books,
    measure: Callable[[Candidate], int] = releasable,
) -> Selection:
    """Take pods in order until the target is covered or nobody is left. Adds them to the books.

    `measure` says what a pod counts towards the target: its releasable bytes, or its requests.
    """
    chosen: list[Candidate] = []
    said: dict[str, Reasoned] = {}
    freed = 0
    for candidate in order:
        if freed >= target_bytes:
            why: Reasoned | None = Reasoned(Reason.TARGET_COVERED, f"{size(freed)} cover the target")
        else:
            why = books.refuses(candidate)
        if why is None:
            books.add(candidate)
            chosen.append(candidate)
            freed += measure(candidate)
            why = Reasoned(Reason.CHOSEN, chosen_sentence(candidate))
        said.setdefault(candidate.pod.uid, why)
    return Selection(tuple(chosen), said)


def select(order: Sequence[Candidate], target_bytes: int, books: Books, *, alone: bool = True) -> Selection:
    """The pressure strategy's choice among eligible candidates in the total order.

    Surplus is at most one pod: whoever is not needed is struck out, the last in the order first; one single
    candidate of the first one's tier and within 10 points of its score is taken alone if it covers all (`alone`).
    """
    walked = walk(order, target_bytes, books)
    said = dict(walked.said)
    kept, surplus = list(walked.chosen), walked.bytes - target_bytes
    for candidate in reversed(walked.chosen):
        if candidate.bytes <= surplus:
            surplus -= candidate.bytes
            kept.remove(candidate)
            books.remove(candidate)
            said[candidate.pod.uid] = Reasoned(Reason.TARGET_COVERED, "the others of this plan cover the target")
    single = _single(order, kept, target_bytes) if alone else None
    if single is None or len(kept) < 2:
        return Selection(tuple(kept), said)
    return _alone(single, kept, said, books)


def select_in_rounds(
    order: Sequence[Candidate], target_bytes: int, books: Books, rounds: int, *, begun: bool = False
) -> Selection:
    """This round's part of a choice that looks as far ahead as the episode's rounds reach.

    Chosen round by round, small pods would use up rounds and caps, some in vain, and then more important pods would
    have to go. So the larger ones go first among offline pods, or among the pods of one workload, where only that
    covers the target or spares a tier. Once `begun` nobody is taken alone: that would make earlier victims surplus.
    """
    taken, most = len(books.taken), books.pods_left
    ahead = taken + max(0, most - taken) * rounds
    whole = select(order, target_bytes, books.copy(ahead), alone=not begun)
    for reordered in (_large_offline_first(order), _large_siblings_first(order)):
        other = select(reordered, target_bytes, books.copy(ahead), alone=not begun)
        whole = other if _spares(other, whole, target_bytes) else whole
    now, later = whole.chosen[: most - taken], whole.chosen[most - taken :]
    for candidate in now:
        books.add(candidate)
    waits = {c.pod.uid: Reasoned(Reason.ROUND_FULL, f"at most {most} pods a round: in the next one") for c in later}
    return Selection(now, {**whole.said, **waits})


def _spares(other: Selection, first: Selection, target_bytes: int) -> bool:
    """Whether the other choice covers what the first does not, or as much without reaching for its highest tier."""
    covers = other.bytes >= target_bytes, first.bytes >= target_bytes
    if covers[0] != covers[1]:
        return covers[0]
    return covers[0] and _highest(other) < _highest(first)


def _highest(selection: Selection) -> int:
    return max((DISPENSABLE_FIRST.index(_tier(candidate)) for candidate in selection.chosen), default=0)


def _tier(candidate: Candidate) -> Tier:
    return candidate.profile.standing.tier or Tier.CRITICAL


def _large_offline_first(order: Sequence[Candidate]) -> list[Candidate]:
    """The order of all others stays as it is."""
    offline = [candidate for candidate in order if _tier(candidate) is Tier.OFFLINE]
    others = [candidate for candidate in order if _tier(candidate) is not Tier.OFFLINE]
    return sorted(offline, key=lambda candidate: -candidate.bytes) + others


def _large_siblings_first(order: Sequence[Candidate]) -> list[Candidate]:
    """The largest pod of each workload stands where its first one stood: only one of an online workload goes."""
    siblings: dict[str, list[Candidate]] = {}
    for candidate in sorted(order, key=lambda candidate: candidate.bytes):
        siblings.setdefault(candidate.workload, []).append(candidate)
    return [siblings[candidate.workload].pop() for candidate in _large_offline_first(order)]


def _single(order: Sequence[Candidate], kept: Sequence[Candidate], target_bytes: int) -> Candidate | None:
    """The first candidate near the first one that covers the whole target by itself."""
    if not kept or not order or order[0].score is None:
        return None
    first, least = order[0], order[0].score.total - SINGLE_WITHIN_POINTS
    for candidate in order:
        if candidate.profile.standing.tier is not first.profile.standing.tier:
            return None
        if candidate.bytes >= target_bytes and candidate.score and candidate.score.total >= least:
            return candidate
    return None


def _alone(single: Candidate, kept: Sequence[Candidate], said: dict[str, Reasoned], books: Books) -> Selection:
    """Swap the chosen ones for the single one, unless the books refuse it."""
    for candidate in kept:
        books.remove(candidate)
    if books.refuses(single) is not None:
        for candidate in kept:
            books.add(candidate)
        return Selection(tuple(kept), said)
    books.add(single)
    for candidate in kept:
        why = f"{single.pod.key} alone covers the target"
        said[candidate.pod.uid] = Reasoned(Reason.TARGET_COVERED, why)
    said[single.pod.uid] = Reasoned(Reason.CHOSEN, f"{chosen_sentence(single)}; alone covers the target")
    return Selection((single,), said)
