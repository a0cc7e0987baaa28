"""The policy file's shape: pydantic models, one per section, with defaults taken from `core/policy.py`.

Unknown keys are refused and empty selectors too, for both would silently mean "everything" or "the default".
Field names are those of the core policy; nothing here is used after `to_policy`.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from remediator.config.koordinator import KoordinatorSection
from remediator.config.notifications import TargetSection
from remediator.config.sections import (
    Count,
    Duration,
    LabelKey,
    Labels,
    LabelValue,
    ModeName,
    Ratio,
    Section,
    Size,
    Text,
)
from remediator.core.model import Level, Tier
from remediator.core.policy import (
    BusinessRule,
    Caps,
    LadderStep,
    ModeRule,
    Policy,
    Safeguards,
    TaintSpec,
    Timers,
    Weights,
    default_ladder,
)

Volume = Literal["pvc", "emptyDir", "hostPath"]
SAFE_USED_RATIO = {"graded": 0.70, "sentinel": 0.80, "score": 0.70}
"""Level a round brings the node back to, per profile (decisions.md section 1)."""

_TIMERS, _CAPS, _GUARDS, _WEIGHTS, _TAINT, _POLICY = (
    Timers(),
    Caps(),
    Safeguards(),
    Weights(),
    TaintSpec(),
    Policy(),
)


class LadderSection(Section):
    """What one level may do; keys left out keep the shipped value of that level."""

    notify: StrictBool = True
    cordon: StrictBool = False
    drain_endpoints: StrictBool = False
    scale_on_pressure: StrictBool = False
    evict_tiers: tuple[Tier, ...] = ()
    evict_after_seconds: Duration = 0.0
    max_pods_per_round: Count = 0
    max_rounds: Count = 0

    @model_validator(mode="after")
    def _critical_never(self) -> Self:
        if Tier.CRITICAL in self.evict_tiers:
            raise ValueError("evict_tiers may not name critical: critical pods are never evicted")
        return self


class LadderSections(Section):
    """The three levels that may do something."""

    yellow: LadderSection | None = None
    orange: LadderSection | None = None
    red: LadderSection | None = None


class BusinessSection(Section):
    """One row of the business table; all given conditions must hold, the first row that matches decides."""

    tier: Tier
    namespace: Text = "*"
    kind: Text = "*"
    workload: Text = "*"
    labels: Labels = Field(default_factory=dict)
    priority_class: Text = "*"
    min_ready_replicas: Count | None = None
    allow_single_replica: StrictBool | None = None
    allow_volumes: tuple[Volume, ...] | None = None
    scale_on_pressure: Count | None = None


class ModeSection(Section):
    """Mode of the nodes whose labels match."""

    node_selector: Annotated[Labels, Field(min_length=1, alias="nodeSelector")]
    mode: ModeName


class WeightsSection(Section):
    """Weights of the eviction score."""

    business: Ratio = _WEIGHTS.business
    memory: Ratio = _WEIGHTS.memory
    restart: Ratio = _WEIGHTS.restart
    qos: Ratio = _WEIGHTS.qos

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = self.business + self.memory + self.restart + self.qos
        if abs(total - 1) > 1e-6:
            raise ValueError(f"business, memory, restart and qos must sum to 1, not to {total:g}")
        return self


class CapsSection(Section):
    """How much may happen, over all nodes."""

    nodes_acting: Count = _CAPS.nodes_acting
    nodes_cordoned_ratio: Ratio = _CAPS.nodes_cordoned_ratio
    evictions_per_hour: Count = _CAPS.evictions_per_hour
    evictions_per_namespace_per_hour: Count = _CAPS.evictions_per_namespace_per_hour
    storm_red_ratio: Ratio = _CAPS.storm_red_ratio


class SafeguardsSection(Section):
    """Filters and freshness."""

    protected_namespaces: tuple[Text, ...] = _GUARDS.protected_namespaces
    own_namespaces: tuple[Text, ...] = _GUARDS.own_namespaces
    protected_workloads: tuple[Text, ...] = _GUARDS.protected_workloads
    system_priority: StrictInt = _GUARDS.system_priority
    priority_ceiling: StrictInt | None = _GUARDS.priority_ceiling
    volumes_allowed: dict[Tier, tuple[Volume, ...]] = Field(default_factory=dict)
    min_age_seconds: Duration = _GUARDS.min_age_seconds
    min_ready_replicas: Count = _GUARDS.min_ready_replicas
    allow_single_replica: StrictBool = _GUARDS.allow_single_replica
    min_release_ratio: Ratio = _GUARDS.min_release_ratio
    min_release_bytes: Size = _GUARDS.min_release_bytes
    min_pod_share_ratio: Ratio = _GUARDS.min_pod_share_ratio
    max_sample_age_seconds: Duration = _GUARDS.max_sample_age_seconds
    silence_cache_for_red_seconds: Duration = _GUARDS.silence_cache_for_red_seconds
    force_delete: StrictBool = _GUARDS.force_delete
    refusals_max: Count = _GUARDS.refusals_max


class TimersSection(Section):
    """Our own durations."""

    node_cooldown_seconds: Duration = _TIMERS.node_cooldown_seconds
    workload_cooldown_seconds: Duration = _TIMERS.workload_cooldown_seconds
    settle_seconds: Duration = _TIMERS.settle_seconds
    gone_poll_seconds: Annotated[Duration, Field(gt=0)] = _TIMERS.gone_poll_seconds
    drain_grace_seconds: Duration = _TIMERS.drain_grace_seconds
    calm_seconds: Duration = _TIMERS.calm_seconds
    stand_down_seconds: Duration = _TIMERS.stand_down_seconds
    plan_expiry_seconds: Duration = _TIMERS.plan_expiry_seconds
    escalate_after_seconds: Duration = _TIMERS.escalate_after_seconds
    forgotten_cordon_seconds: Duration = _TIMERS.forgotten_cordon_seconds
    resync_seconds: Annotated[Duration, Field(gt=0)] = _TIMERS.resync_seconds
    hour_seconds: Annotated[Duration, Field(gt=0)] = _TIMERS.hour_seconds
    gone_deadline_seconds: Duration = _TIMERS.gone_deadline_seconds
    retry_seconds: Duration = _TIMERS.retry_seconds
    moved_seconds: Duration = _TIMERS.moved_seconds
    oom_window_seconds: Duration = _TIMERS.oom_window_seconds
    ledger_zero_seconds: Duration = _TIMERS.ledger_zero_seconds


class TaintSection(Section):
    """The taint set beside the cordon."""

    key: LabelKey = _TAINT.key
    value: LabelValue = _TAINT.value
    effect: Literal["NoSchedule", "PreferNoSchedule"] = "NoSchedule"

    @model_validator(mode="after")
    def _not_kubernetes_own(self) -> Self:
        if self.key.startswith("node.kubernetes.io/"):
            raise ValueError("taint.key may not begin with node.kubernetes.io/: those belong to Kubernetes")
        return self


class PolicyFile(Section):
    """The whole policy file. Every key may be left out."""

    profile: Literal["graded", "sentinel", "score"] = "graded"
    mode: ModeName = _POLICY.mode
    modes: tuple[ModeSection, ...] = ()
    safe_used_ratio: Ratio | None = None
    undeclared: Literal["protect", "important", "standard", "low", "offline"] = "protect"
    business: tuple[BusinessSection, ...] = ()
    importance: dict[Tier, Annotated[float, Field(ge=0, le=100)]] = Field(default_factory=dict)
    weights: WeightsSection = WeightsSection()
    ladder: LadderSections = LadderSections()
    caps: CapsSection = CapsSection()
    safeguards: SafeguardsSection = SafeguardsSection()
    timers: TimersSection = TimersSection()
    taint: TaintSection = TaintSection()
    release: Literal["ask", "auto"] = "ask"
    serving_label: LabelKey = _POLICY.serving_label
    alerts: Annotated[tuple[Text, ...], Field(min_length=1)] = _POLICY.alert_names
    cluster: StrictStr = ""
    koordinator: KoordinatorSection = KoordinatorSection()
    notifications: tuple[TargetSection, ...] = ()
    maintenance: Literal["cordon", "drain"] = "cordon"

    @model_validator(mode="after")
    def _targets_once(self) -> Self:
        names = [target.name for target in self.notifications]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"notifications: {', '.join(twice)} is there twice: give each target a name of its own")
        return self

    def to_policy(self) -> Policy:
        """The core's frozen policy."""
        safe = self.safe_used_ratio if self.safe_used_ratio is not None else SAFE_USED_RATIO[self.profile]
        return Policy(
            profile=self.profile,
            mode=self.mode,
            mode_rules=tuple(ModeRule(row.node_selector, row.mode) for row in self.modes),
            safe_used_ratio=safe,
            undeclared=self.undeclared,
            business=tuple(BusinessRule(**row.given()) for row in self.business),
            importance={**_POLICY.importance, **self.importance},
            weights=Weights(**self.weights.given()),
            ladder=_ladder(self.ladder),
            caps=Caps(**self.caps.given()),
            safeguards=_safeguards(self.safeguards),
            timers=Timers(**self.timers.given()),
            taint=TaintSpec(**self.taint.given()),
            release=self.release,
            serving_label=self.serving_label,
            alert_names=self.alerts,
            cluster=self.cluster,
            koordinator=self.koordinator.to_policy(),
            notifications=tuple(target.to_target() for target in self.notifications),
            maintenance=self.maintenance,
        )


def _ladder(sections: LadderSections) -> dict[Level, LadderStep]:
    steps = default_ladder()
    for level in (Level.YELLOW, Level.ORANGE, Level.RED):
        section: LadderSection | None = getattr(sections, level.name.lower())
        if section is not None:
            shipped = steps[level]
            kept = {name: getattr(shipped, name) for name in LadderSection.model_fields}
            steps[level] = LadderStep(**{**kept, **section.given()})
    return steps


def _safeguards(section: SafeguardsSection) -> Safeguards:
    given = section.given()
    if "volumes_allowed" in given:
        given["volumes_allowed"] = {**_GUARDS.volumes_allowed, **section.volumes_allowed}
    return Safeguards(**given)


def json_schema() -> dict[str, Any]:
    """JSON schema of the policy file, for editors; shipped as `remediator/config/schema.json`."""
    schema = PolicyFile.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
