"""The policy file's sections that hold things back: caps, safeguards and timers, with defaults taken from
`core/policy.py`.

The texts under the keys are what docs/policy.md and the JSON schema say of them. Nothing here judges a value beyond its
type: what is legal but dangerous is told by dangers.py.
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt

from remediator.config.sections import Count, Duration, Ratio, Section, Size, Text
from remediator.core.model import Tier
from remediator.core.policy import Caps, Safeguards, Timers

Volume = Literal["pvc", "emptyDir", "hostPath"]
_TIMERS, _CAPS, _GUARDS = Timers(), Caps(), Safeguards()


class CapsSection(Section):
    """How much may happen, over all nodes."""

    nodes_acting: Count = _CAPS.nodes_acting
    """Nodes that may be in the acting or settling phase of an episode at once. 0: nothing is ever done."""
    nodes_cordoned_ratio: Ratio = _CAPS.nodes_cordoned_ratio
    """Share of all nodes that may be cordoned by us at once, but always at least one node. Danger: above 0.34 a bad
    hour can close a third of the cluster.
    """
    evictions_per_hour: Count = _CAPS.evictions_per_hour
    """Evictions of ours in the last hour, over the cluster. 0: nothing is ever evicted. Danger: above 60 it hardly
    limits anything.
    """
    evictions_per_namespace_per_hour: Count = _CAPS.evictions_per_namespace_per_hour
    """The same for one namespace. 0: nothing is ever evicted."""
    storm_red_ratio: Ratio = _CAPS.storm_red_ratio
    """Storm brake: when more than this share of the nodes, and at least two, are RED at once, nothing is evicted
    anywhere (on up to 3 nodes: more than half). Danger: above 0.6 a fault of all nodes, such as wrong figures, is
    acted upon.
    """


class SafeguardsSection(Section):
    """Filters and freshness."""

    protected_namespaces: tuple[Text, ...] = _GUARDS.protected_namespaces
    """Namespaces (globs) of which no pod is ever evicted. Danger: a list of your own replaces the shipped one, so name
    kube-system too.
    """
    own_namespaces: tuple[Text, ...] = _GUARDS.own_namespaces
    """Namespaces of the remediator itself. The one that `serve --namespace` names is always among them."""
    protected_workloads: tuple[Text, ...] = _GUARDS.protected_workloads
    """Names of workloads (globs, any namespace) that are never evicted: what sees and what acts. Danger: a list of
    your own replaces the shipped one.
    """
    system_priority: StrictInt = _GUARDS.system_priority
    """Pods of this priority or above are never evicted, nor those of a class named `system-...`. Danger: above
    2000000000 system-critical pods may be.
    """
    priority_ceiling: StrictInt | None = _GUARDS.priority_ceiling
    """Pods above this priority are never evicted. Danger: at or above `system_priority` it holds nobody."""
    volumes_allowed: dict[Tier, tuple[Volume, ...]] = Field(default_factory=dict)
    """Per tier, kinds of volumes that do not protect a pod: `pvc`, `emptyDir` (of disk), `hostPath`. Danger: what lies
    in an emptyDir is lost with the pod.
    """
    min_age_seconds: Duration = _GUARDS.min_age_seconds
    """Younger pods are left alone, unless their own growth is more than half of the node's. Danger: 0 lets a pod that
    has just been moved be evicted again.
    """
    min_ready_replicas: Count = _GUARDS.min_ready_replicas
    """Ready pods of the workload that must remain after an eviction (Jobs exempt). Danger: 0 lets the last ready one
    go.
    """
    allow_single_replica: StrictBool = _GUARDS.allow_single_replica
    """Whether a workload of one replica may be evicted at all. Danger: evicting a workload's only pod is an outage."""
    min_release_ratio: Ratio = _GUARDS.min_release_ratio
    """A pod is too small to be worth it when it would give back less than this share of the target, and less than
    `min_release_bytes`.
    """
    min_release_bytes: Size = _GUARDS.min_release_bytes
    """See `min_release_ratio`."""
    min_pod_share_ratio: Ratio = _GUARDS.min_pod_share_ratio
    """When all pods together hold less than this share of the used memory, eviction is not the cure and nobody is
    evicted. Danger: 0 evicts pods for memory that is held outside of pods.
    """
    max_sample_age_seconds: Duration = _GUARDS.max_sample_age_seconds
    """Older figures are not decided upon. Danger: the longer, the more a decision is about the past."""
    silence_cache_for_red_seconds: Duration = _GUARDS.silence_cache_for_red_seconds
    """At RED and with Alertmanager gone, its last good answer about silences is believed for this long; 0: nothing is
    done then. Danger: a silence that was set meanwhile is missed.
    """
    force_delete: StrictBool = _GUARDS.force_delete
    """A pod that outlives its grace by `timers.gone_deadline_seconds` is deleted with grace 0; never one of a
    StatefulSet. The chart grants `pods: delete` with it. Danger: the process may still run, and data may be lost.
    """
    refusals_max: Count = _GUARDS.refusals_max
    """How often a pod that a budget refuses is asked for again."""


class TimersSection(Section):
    """Our own durations."""

    node_cooldown_seconds: Duration = _TIMERS.node_cooldown_seconds
    """After an episode nothing is done on the node for this long, even at RED. Danger: under 60 s a node is acted upon
    again and again.
    """
    workload_cooldown_seconds: Duration = _TIMERS.workload_cooldown_seconds
    """A workload that lost a pod to us is left alone for this long."""
    settle_seconds: Duration = _TIMERS.settle_seconds
    """Between the end of the last evicted pod and looking what it brought. Danger: under 30 s a round begins before
    the last one's memory is back.
    """
    gone_poll_seconds: Annotated[Duration, Field(gt=0)] = _TIMERS.gone_poll_seconds
    """How often we look whether evicted pods are gone."""
    drain_grace_seconds: Duration = _TIMERS.drain_grace_seconds
    """Below RED, a pod that was taken out of its Services finishes its requests this long before it is evicted."""
    calm_seconds: Duration = _TIMERS.calm_seconds
    """The node must be GREEN this long, without a gap, before its isolation may be lifted."""
    stand_down_seconds: Duration = _TIMERS.stand_down_seconds
    """After an eviction by the kubelet we leave the node alone for this long."""
    plan_expiry_seconds: Duration = _TIMERS.plan_expiry_seconds
    """A plan that waits for approval is dropped after this. A rejected one is not proposed again for as long."""
    escalate_after_seconds: Duration = _TIMERS.escalate_after_seconds
    """A RED node that is not under its safe level this long after the first act is escalated: an incident, and the
    next action asks a human.
    """
    forgotten_cordon_seconds: Duration = _TIMERS.forgotten_cordon_seconds
    """A cordon of ours that stands longer is told."""
    resync_seconds: Annotated[Duration, Field(gt=0)] = _TIMERS.resync_seconds
    """How often firing alerts are read back from Prometheus, and the policy file is looked at. Read at start only."""
    hour_seconds: Annotated[Duration, Field(gt=0)] = _TIMERS.hour_seconds
    """The hour of the caps and of the circuit breaker. Danger: shorter, it raises every cap."""
    gone_deadline_seconds: Duration = _TIMERS.gone_deadline_seconds
    """A pod that takes longer to end is called stuck."""
    retry_seconds: Duration = _TIMERS.retry_seconds
    """A pod that a budget refused is asked for again after this, each time after twice as long."""
    moved_seconds: Duration = _TIMERS.moved_seconds
    """When the successors of an evicted pod raise another node within this, the pressure was moved, not freed, and the
    workload is left alone.
    """
    oom_window_seconds: Duration = _TIMERS.oom_window_seconds
    """OOM kills of this last stretch count for an OOM-kill storm, and for telling limits that are too small."""
    ledger_zero_seconds: Duration = _TIMERS.ledger_zero_seconds
    """A Koordinator ledger that fell to zero is believed after this."""
