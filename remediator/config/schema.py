"""The policy file's shape: pydantic models, one per section, with defaults taken from `core/policy.py`.

Unknown keys are refused and empty selectors too, for both would silently mean "everything" or "the default".
Field names are those of the core policy; nothing here is used after `to_policy`.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StrictStr, model_validator

from remediator.config.koordinator import KoordinatorSection
from remediator.config.limits import CapsSection, SafeguardsSection, TimersSection, Volume
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

SAFE_USED_RATIO = {"graded": 0.70, "sentinel": 0.80, "score": 0.70}
"""Level a round brings the node back to, per profile (decisions.md section 1)."""

_GUARDS, _WEIGHTS, _TAINT, _POLICY = Safeguards(), Weights(), TaintSpec(), Policy()


class LadderSection(Section):
    """What one level may do; keys left out keep the shipped value of that level."""

    notify: StrictBool = True
    """People are told of the level. Danger: false tells nobody."""
    cordon: StrictBool = False
    """The node is cordoned and tainted first. Danger: when ORANGE cordons and RED does not, the worse node is treated
    less.
    """
    drain_endpoints: StrictBool = False
    """Pods that carry `serving_label` are taken out of their Services, and put back when the node is calm."""
    scale_on_pressure: StrictBool = False
    """Workloads whose row of `business` has `scale_on_pressure` are scaled down, and back when the node is calm."""
    evict_tiers: tuple[Tier, ...] = ()
    """Tiers whose pods may be evicted, most dispensable first; empty: none; `critical` is refused. Danger: `important`
    here is the only way in which important pods are ever evicted, and at YELLOW any tier is too early.
    """
    evict_after_seconds: Duration = 0.0
    """How long the node must have been at this level or above before a pod is evicted."""
    max_pods_per_round: Count = 0
    """Pods evicted before looking what it brought; 0: none."""
    max_rounds: Count = 0
    """Rounds in one episode; 0: none. Danger: more than 10 pods of one node (rounds times pods) in one episode."""

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
    """What the workload is worth: `critical` is never evicted. Danger: a row without any condition matches every
    workload and hides all rows after it.
    """
    namespace: Text = "*"
    """Namespace (glob)."""
    kind: Text = "*"
    """Kind of the workload as its owner says: Deployment, StatefulSet, Job, CronJob ... (glob)."""
    workload: Text = "*"
    """Name of the workload, not of the pod (glob)."""
    labels: Labels = Field(default_factory=dict)
    """Labels that the pod must carry, all of them."""
    priority_class: Text = "*"
    """The pod's PriorityClass (glob)."""
    min_ready_replicas: Count | None = None
    """Instead of `safeguards.min_ready_replicas`, for these workloads."""
    allow_single_replica: StrictBool | None = None
    """Instead of `safeguards.allow_single_replica`. Danger: evicting a workload's only pod is an outage."""
    allow_volumes: tuple[Volume, ...] | None = None
    """Instead of `safeguards.volumes_allowed`. Danger: what lies in an emptyDir is lost with the pod."""
    scale_on_pressure: Count | None = None
    """At levels that scale, the workload is scaled to this many replicas instead of being evicted pod by pod, and back
    later. Danger: 0 stops it altogether meanwhile.
    """


class ModeSection(Section):
    """Mode of the nodes whose labels match."""

    node_selector: Annotated[Labels, Field(min_length=1, alias="nodeSelector")]
    """Labels that the node must carry, all of them."""
    mode: ModeName
    """Mode of these nodes."""


class WeightsSection(Section):
    """Weights of the eviction score."""

    business: Ratio = _WEIGHTS.business
    """How dispensable the workload is: 100 less its `importance`. Danger: under 0.2 importance hardly counts within a
    tier.
    """
    memory: Ratio = _WEIGHTS.memory
    """How far the pod is over its request; without a request, its share of what is to be freed."""
    restart: Ratio = _WEIGHTS.restart
    """How quickly it starts again (300 s and more: not at all)."""
    qos: Ratio = _WEIGHTS.qos
    """BestEffort before Burstable before Guaranteed."""

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = self.business + self.memory + self.restart + self.qos
        if abs(total - 1) > 1e-6:
            raise ValueError(f"business, memory, restart and qos must sum to 1, not to {total:g}")
        return self


class TaintSection(Section):
    """The taint set beside the cordon."""

    key: LabelKey = _TAINT.key
    """Key of the taint that is set beside the cordon. Those of Kubernetes itself are refused. Read at start only."""
    value: LabelValue = _TAINT.value
    """Its value."""
    effect: Literal["NoSchedule", "PreferNoSchedule"] = "NoSchedule"
    """Its effect; NoExecute is refused, for it would evict everybody."""

    @model_validator(mode="after")
    def _not_kubernetes_own(self) -> Self:
        if self.key.startswith("node.kubernetes.io/"):
            raise ValueError("taint.key may not begin with node.kubernetes.io/: those belong to Kubernetes")
        return self


class PolicyFile(Section):
    """The whole policy file. Every key may be left out."""

    profile: Literal["graded", "sentinel", "score"] = "graded"
    """Which set of thresholds the rules have: the same as in `remediator rules --profile`. Sets `safe_used_ratio`."""
    mode: ModeName = _POLICY.mode
    """`off`: the node is left alone; `observe`: plans are told, nothing is touched; `approve`: a plan waits for a
    human; `enforce`: plans are carried out. The first of these decides: `spec.mode` of the NodeRemediation, the
    node's label `remediator.io/mode`, `modes`, this. Danger: `enforce` without `modes` acts on every node.
    """
    modes: tuple[ModeSection, ...] = ()
    """Modes of nodes by their labels; the first row that matches decides."""
    safe_used_ratio: Ratio | None = None
    """A round frees memory until the node's used share is back at this. Left out: 0.70 in profiles graded and score,
    0.80 in sentinel. Danger: at or above YELLOW's entry alerts stay; below 0.5 half a node is emptied for one
    alert.
    """
    undeclared: Literal["protect", "important", "standard", "low", "offline"] = "protect"
    """What a workload is that nobody declared: `protect` (never evicted) or a tier. Jobs and CronJobs count as
    `offline` in any case. Danger: anything but `protect` lets workloads be evicted that nobody declared evictable.
    """
    business: tuple[BusinessSection, ...] = ()
    """The business table: the first row whose conditions all hold decides; the annotation
    `remediator.io/business-tier` comes before it. Danger: empty, only Jobs are evicted unless `undeclared` says more.
    """
    importance: dict[Tier, Annotated[float, Field(ge=0, le=100)]] = Field(default_factory=dict)
    """Importance of each tier in the score, 0 to 100; tiers left out keep the shipped one. Danger: out of order, the
    score speaks against the tiers.
    """
    weights: WeightsSection = WeightsSection()
    """Parts of the eviction score; they sum to 1."""
    ladder: LadderSections = LadderSections()
    """What each level may do; what is left out keeps the shipped value of that level."""
    caps: CapsSection = CapsSection()
    """How much may happen, over all nodes."""
    safeguards: SafeguardsSection = SafeguardsSection()
    """Who is never evicted, and on which figures nothing is decided."""
    timers: TimersSection = TimersSection()
    """Our own durations; those of detection are in the rules."""
    taint: TaintSection = TaintSection()
    """The taint set beside the cordon."""
    release: Literal["ask", "auto"] = "ask"
    """Whether a calm node is given back by itself (`auto`) or a human is asked (`ask`)."""
    serving_label: LabelKey = _POLICY.serving_label
    """Label of pods that may be taken out of their Services; it must be in the pod template and the Service's
    selector, not in the controller's.
    """
    alerts: Annotated[tuple[Text, ...], Field(min_length=1)] = _POLICY.alert_names
    """Names of the alerts that are taken as a nudge. All others are counted and ignored. Danger: a list of your own
    replaces the shipped one.
    """
    cluster: StrictStr = ""
    """Value of the external label `cluster` that Prometheus adds, so that silences that name it are recognised.
    Danger: wrong, a silence of this cluster does not stop us.
    """
    koordinator: KoordinatorSection = KoordinatorSection()
    """Koordinator's three eviction strategies ([Koordinator](koordinator.md))."""
    notifications: tuple[TargetSection, ...] = ()
    """Who is told, besides the log and the Events ([notifications](notifications.md))."""
    maintenance: Literal["cordon", "drain"] = "cordon"
    """After an OOM-kill storm: the node is cordoned, or also drained: its evictable pods are moved off one by one."""

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
