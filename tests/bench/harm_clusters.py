"""Random nodes under pressure for `make bench-harm`: seeded, made without a look at who solves them.

Assumptions, all of them: a node of 64 GiB with 20 to 60 pods of mixed business; what a pod uses is lognormal around
its kind's typical size; requests are wrong by a factor of 0.3 to 2, and a quarter of batch work and a seventh of the
services have none; priorities are
what clusters really have: most are 0, some teams set one, and a tenth of those are plainly wrong (batch work above
services); half of the online workloads have a PodDisruptionBudget, some of them used up; replicas are few; start-up
takes seconds for batch work and minutes for databases and JVM services; a tenth of the workloads was declared by
nobody; one pod in thirty has no usage in Prometheus (the kubelet and its like still see it). DaemonSets, mirror pods
and system pods are on every node. Used memory is 92 to 99 % and lies in pods for the most part.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from remediator.core.model import BudgetFacts, PodFacts, Tier, WorkloadFacts, WorkloadRef

GIB = 2**30
TOTAL_BYTES = 64 * GIB
NOW = 1_800_000_000.0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of business: its true tier, its controllers, typical size, start-up and how often it is there."""

    tier: Tier
    controller: str
    namespace: str
    typical_gib: float
    startup_seconds: tuple[float, float]
    weight: float
    pods_here: tuple[int, int] = (1, 2)
    volumes: frozenset[str] = frozenset()


KINDS = (
    Kind(Tier.CRITICAL, "StatefulSet", "middleware", 4.0, (60, 600), 2, volumes=frozenset({"pvc"})),
    Kind(Tier.CRITICAL, "Deployment", "payments", 1.5, (40, 240), 1.5),
    Kind(Tier.IMPORTANT, "Deployment", "shop", 1.5, (20, 300), 5),
    Kind(Tier.STANDARD, "Deployment", "backoffice", 1.2, (15, 240), 4),
    Kind(Tier.LOW, "Deployment", "logging", 0.8, (5, 60), 2),
    Kind(Tier.OFFLINE, "Job", "analytics", 3.0, (5, 60), 4, (1, 4), frozenset({"emptyDir"})),
    Kind(Tier.OFFLINE, "Job", "reports", 1.5, (5, 30), 2, (1, 3)),
)
UNDECLARED = "sandbox"
"""Workloads of any kind that nobody declared live here."""


@dataclass(slots=True)
class Storm:
    """A node in trouble. `tiers` and `startups` are the truth by pod UID, whatever anybody declared."""

    seed: int
    pods: list[PodFacts] = field(default_factory=list)
    workloads: dict[WorkloadRef, WorkloadFacts] = field(default_factory=dict)
    budgets: list[BudgetFacts] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)
    """Pod UID -> bytes that leave with it."""
    unseen: set[str] = field(default_factory=set)
    """Pods that Prometheus has no sample of."""
    tiers: dict[str, Tier] = field(default_factory=dict)
    startups: dict[str, float] = field(default_factory=dict)
    system_bytes: int = 0

    @property
    def used_bytes(self) -> int:
        """All memory in use."""
        return self.system_bytes + sum(self.used.values())


def storm(seed: int) -> Storm:
    """The storm of a seed."""
    random = Random(seed)  # noqa: S311 - storms, not secrets
    made = Storm(seed)
    _add_infrastructure(made, random)
    wanted = round(random.uniform(0.92, 0.99) * TOTAL_BYTES)
    made.system_bytes = round(random.uniform(2, 6) * GIB)
    for number in range(100):
        _add_workload(made, random, number, wanted)
    # What does not fit to the byte is the system's.
    made.system_bytes += wanted - made.used_bytes
    return made


def _add_workload(made: Storm, random: Random, number: int, most_bytes: int) -> None:
    """One more workload, if its pods find room."""
    kind = random.choices(KINDS, [kind.weight for kind in KINDS])[0]
    declared = random.random() >= 0.1
    ref = WorkloadRef(kind.namespace if declared else UNDECLARED, kind.controller, f"{kind.namespace}-{number}")
    here = random.randint(*kind.pods_here)
    replicas = here if kind.controller == "Job" else max(here, random.choice((1, 2, 2, 3, 3, 4, 6)))
    startup, priority = random.uniform(*kind.startup_seconds), _priority(random, kind)
    uses = [round(kind.typical_gib * GIB * random.lognormvariate(0, 0.6)) for _ in range(here)]
    if made.used_bytes + sum(uses) > most_bytes:
        return
    ready = replicas - (random.random() < 0.1)
    made.workloads[ref] = WorkloadFacts(ref, replicas, ready, startup_seconds=startup, backoff_limit=6)
    pods = [_pod(made, random, kind, ref, priority, index, used) for index, used in enumerate(uses)]
    made.pods += pods
    for pod in pods:
        made.tiers[pod.uid], made.startups[pod.uid] = kind.tier, startup
    if kind.controller != "Job" and random.random() < 0.5:
        allowed = random.choice((0, 1, 1, 2))
        uids = frozenset(pod.uid for pod in pods)
        made.budgets.append(BudgetFacts(ref.namespace, ref.name, uids, allowed, max(0, ready - allowed), ready))


def _priority(random: Random, kind: Kind) -> int:
    if random.random() < 0.7:
        return 0
    right = {Tier.CRITICAL: 10_000, Tier.IMPORTANT: 5_000, Tier.STANDARD: 1_000, Tier.LOW: 100, Tier.OFFLINE: -10}
    return random.choice(list(right.values())) if random.random() < 0.1 else right[kind.tier]


def _pod(made: Storm, random: Random, kind: Kind, ref: WorkloadRef, priority: int, index: int, used: int) -> PodFacts:
    uid = f"{made.seed}-{ref.name}-{index}"
    made.used[uid] = used
    if random.random() < 1 / 30:
        made.unseen.add(uid)
    bare = random.random() < (0.25 if kind.tier is Tier.OFFLINE else 0.15)
    request = 0 if bare else round(used / random.uniform(0.5, 3.3))
    guaranteed = not bare and random.random() < 0.1
    return PodFacts(
        ref.namespace,
        f"{ref.name}-{index}",
        uid,
        node="n1",
        created_at=NOW - random.uniform(600, 86_400),
        workload=ref,
        priority=priority,
        qos="BestEffort" if bare else "Guaranteed" if guaranteed else "Burstable",
        request_bytes=max(request, used) if guaranteed else request,
        limit_bytes=None if bare else 2 * used,
        volumes=kind.volumes,
    )


def _add_infrastructure(made: Storm, random: Random) -> None:
    for pod in _infrastructure(made.seed):
        made.pods.append(pod)
        made.used[pod.uid] = round(random.uniform(0.05, 0.4) * GIB)
        made.tiers[pod.uid], made.startups[pod.uid] = Tier.CRITICAL, 30.0


def _infrastructure(seed: int) -> Iterator[PodFacts]:
    """Nobody's victims: DaemonSets, mirror pods, system pods."""
    for name, kind, priority in (
        ("node-agent", "DaemonSet", 0),
        ("log-agent", "DaemonSet", 1000),
        ("kube-proxy", "DaemonSet", 2_000_001_000),
        ("dns", "Deployment", 2_000_000_000),
    ):
        ref = WorkloadRef("kube-system" if priority >= 2_000_000_000 else "infra", kind, name)
        yield PodFacts(ref.namespace, name, f"{seed}-{name}", node="n1", workload=ref, priority=priority)
    yield PodFacts("kube-system", "static-proxy", f"{seed}-static", node="n1", mirror=True, priority=2_000_001_000)
