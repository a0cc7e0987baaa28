"""The typed policy: everything a person may configure about decisions, with the shipped defaults.

Frozen and complete: reading YAML, reporting errors with their paths and JSON schema belong to
`remediator/config.py`. Durations are scenario seconds, already divided by the drill's `speed` where the
policy was scaled (`config.scaled`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from remediator.core.model import Level, Mode, Tier
from remediator.core.routing import NotificationTarget
from remediator.core.strategy_policy import KoordinatorPolicy


@dataclass(frozen=True, slots=True)
class LadderStep:
    """What one level may do."""

    notify: bool = True
    cordon: bool = False
    drain_endpoints: bool = False
    scale_on_pressure: bool = False
    evict_tiers: tuple[Tier, ...] = ()
    """Most dispensable first; empty: no eviction."""
    evict_after_seconds: float = 0.0
    """How long the node must have been at this level or above before pods are evicted."""
    max_pods_per_round: int = 0
    max_rounds: int = 0


def default_ladder() -> dict[Level, LadderStep]:
    """The shipped ladder (decisions.md section 1)."""
    return {
        Level.GREEN: LadderStep(notify=False),
        Level.YELLOW: LadderStep(),
        Level.ORANGE: LadderStep(
            drain_endpoints=True,
            scale_on_pressure=True,
            evict_tiers=(Tier.OFFLINE,),
            evict_after_seconds=180,
            max_pods_per_round=1,
            max_rounds=1,
        ),
        Level.RED: LadderStep(
            cordon=True,
            scale_on_pressure=True,
            evict_tiers=(Tier.OFFLINE, Tier.LOW, Tier.STANDARD),
            max_pods_per_round=3,
            max_rounds=3,
        ),
    }


@dataclass(frozen=True, slots=True)
class BusinessRule:
    """One row of the business table; all given conditions must hold. Globs as in fnmatch, case-sensitive."""

    tier: Tier
    namespace: str = "*"
    kind: str = "*"
    workload: str = "*"
    labels: Mapping[str, str] = field(default_factory=dict)
    priority_class: str = "*"
    min_ready_replicas: int | None = None
    allow_single_replica: bool | None = None
    allow_volumes: tuple[str, ...] | None = None
    scale_on_pressure: int | None = None
    """Replicas to scale to at ORANGE and above, instead of evicting pod by pod."""


@dataclass(frozen=True, slots=True)
class ModeRule:
    """Mode for the nodes whose labels match."""

    node_selector: Mapping[str, str]
    mode: Mode


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the eviction score; they sum to 1."""

    business: float = 0.4
    memory: float = 0.3
    restart: float = 0.2
    qos: float = 0.1


@dataclass(frozen=True, slots=True)
class Caps:
    """How much may happen, over all nodes."""

    nodes_acting: int = 3
    nodes_cordoned_ratio: float = 0.10
    evictions_per_hour: int = 10
    evictions_per_namespace_per_hour: int = 5
    storm_red_ratio: float = 0.30


@dataclass(frozen=True, slots=True)
class Safeguards:
    """Filters and freshness."""

    protected_namespaces: tuple[str, ...] = ("kube-system", "kube-public", "kube-node-lease")
    own_namespaces: tuple[str, ...] = ()
    """Where the remediator itself runs: its pods are never candidates."""
    protected_workloads: tuple[str, ...] = ("prometheus*", "alertmanager*", "remediator*")
    system_priority: int = 2_000_000_000
    priority_ceiling: int | None = None
    volumes_allowed: Mapping[Tier, tuple[str, ...]] = field(
        default_factory=lambda: {
            Tier.OFFLINE: ("emptyDir", "hostPath"),
            Tier.LOW: ("emptyDir", "hostPath"),
        }
    )
    min_age_seconds: float = 300
    min_ready_replicas: int = 1
    allow_single_replica: bool = False
    min_release_ratio: float = 0.01
    min_release_bytes: int = 100 * 1024**2
    min_pod_share_ratio: float = 0.5
    max_sample_age_seconds: float = 60
    silence_cache_for_red_seconds: float = 0
    force_delete: bool = False
    refusals_max: int = 3


@dataclass(frozen=True, slots=True)
class Timers:
    """Our own durations, in seconds of the node's life (divided by the drill's speed)."""

    node_cooldown_seconds: float = 600
    workload_cooldown_seconds: float = 600
    settle_seconds: float = 45
    gone_poll_seconds: float = 2
    drain_grace_seconds: float = 30
    calm_seconds: float = 300
    stand_down_seconds: float = 600
    plan_expiry_seconds: float = 600
    escalate_after_seconds: float = 300
    forgotten_cordon_seconds: float = 3600
    resync_seconds: float = 15
    hour_seconds: float = 3600
    gone_deadline_seconds: float = 90
    """How long an evicted pod may take to be gone: grace capped at 60 s, plus 30 s; then it is stuck."""
    retry_seconds: float = 5
    """A pod refused by a budget is asked for again after this, at most `refusals_max` times."""
    moved_seconds: float = 600
    oom_window_seconds: float = 1800
    ledger_zero_seconds: float = 60


@dataclass(frozen=True, slots=True)
class TaintSpec:
    """The taint set beside the cordon."""

    key: str = "memory-pressure"
    value: str = "critical"
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True)
class Policy:
    """The whole of it."""

    profile: str = "graded"
    mode: Mode = Mode.OBSERVE
    mode_rules: tuple[ModeRule, ...] = ()
    safe_used_ratio: float = 0.70
    undeclared: str = "protect"
    """`protect`, or the name of a tier."""
    business: tuple[BusinessRule, ...] = ()
    importance: Mapping[Tier, float] = field(
        default_factory=lambda: {
            Tier.CRITICAL: 100.0,
            Tier.IMPORTANT: 80.0,
            Tier.STANDARD: 50.0,
            Tier.LOW: 20.0,
            Tier.OFFLINE: 0.0,
        }
    )
    weights: Weights = Weights()
    ladder: Mapping[Level, LadderStep] = field(default_factory=default_ladder)
    caps: Caps = Caps()
    safeguards: Safeguards = Safeguards()
    timers: Timers = Timers()
    taint: TaintSpec = TaintSpec()
    release: str = "ask"
    """`ask` or `auto`."""
    serving_label: str = "remediator.io/serving"
    alert_names: tuple[str, ...] = (
        "NodeMemoryPressure",
        "NodeMemoryExhaustionPredicted",
        "NodeSwapGrowing",
        "NodeOOMKillStorm",
        "KubeletMemoryEvictionStarted",
        "NodeMemoryEvictBE",
        "NodeMemoryEvict",
        "NodeMemoryAllocatableEvict",
    )
    cluster: str = ""
    koordinator: KoordinatorPolicy = field(default_factory=KoordinatorPolicy)
    notifications: tuple[NotificationTarget, ...] = ()
    """Who is told, besides the log and the Events."""
    maintenance: str = "cordon"
    """After an OOM-kill storm: `cordon` only, or `drain`: move its evictable pods off one by one."""
