"""What the filters look at: one pod with everything looked up for it, and the indexes of a pass.

Values only; nothing is judged here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from remediator.core.business import Standing
from remediator.core.model import BudgetFacts, PodFacts, PodUsage, Strategy, Tier, WorkloadFacts
from remediator.core.oom import OomClass
from remediator.core.situation import Situation
from remediator.core.state import EvictionRecord, Reasoned, Refusal


def best_effort(pod: PodFacts) -> bool:
    """By Koordinator's labels: QoS class BE, priority class batch or free."""
    batch = pod.labels.get("koordinator.sh/priority-class") in ("koord-batch", "koord-free")
    return batch or pod.labels.get("koordinator.sh/qosClass") == "BE"


@dataclass(frozen=True, slots=True)
class Profile:
    """A pod with what was looked up for it."""

    pod: PodFacts
    workload: WorkloadFacts | None
    standing: Standing
    usage: PodUsage | None
    fresh: bool
    oom: OomClass | None = None

    @property
    def online(self) -> bool:
        """Everything serves somebody but `offline`, and what nobody declared and Koordinator calls best effort."""
        tier = self.standing.tier
        return not best_effort(self.pod) if tier is None else tier is not Tier.OFFLINE


@dataclass(frozen=True, slots=True)
class Lookups:
    """Indexes made once per pass, so that a filter costs the same on a node of 5 pods and of 500."""

    situation: Situation
    tiers: tuple[Tier, ...]
    strategy: Strategy = Strategy.PRESSURE
    budgets: Mapping[str, tuple[BudgetFacts, ...]] = field(default_factory=dict)
    """Pod UID -> budgets."""
    evictions: Mapping[str, tuple[EvictionRecord, ...]] = field(default_factory=dict)
    """Workload -> our evictions of the last hour, cluster-wide, plans before this one."""
    refused: Mapping[str, Refusal] = field(default_factory=dict)

    @property
    def by_label(self) -> bool:
        """Koordinator's labels are an opt-in of their own: tiers and controllers are not asked for."""
        return self.strategy is not Strategy.PRESSURE


Filter = Callable[[Profile, Lookups], Reasoned | None]
