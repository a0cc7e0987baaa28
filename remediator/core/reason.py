"""The one closed list of reasons: audit field, metric label, log line and `explain` all use these words.

A reason's value is its machine name (snake_case, stable across releases); `SENTENCES` holds what a person
reads. A reason that is not in this list cannot be given.
"""

from collections.abc import Mapping
from enum import StrEnum


class Reason(StrEnum):
    """Why something is done, held back, or left alone."""

    # why a pod is not a candidate (decisions.md section 3, in the order of the filters)
    NOT_RUNNING = "not_running"
    TERMINATING = "terminating"
    MIRROR_POD = "mirror_pod"
    DAEMONSET_POD = "daemonset_pod"
    NO_CONTROLLER = "no_controller"
    SYSTEM_PRIORITY = "system_priority"
    PROTECTED_NAMESPACE = "protected_namespace"
    OWN_COMPONENT = "own_component"
    TIER_CRITICAL = "tier_critical"
    TIER_NOT_ALLOWED = "tier_not_allowed"
    UNDECLARED = "undeclared"
    HELM_HOOK = "helm_hook"
    JOB_WITHOUT_RETRIES = "job_without_retries"
    OPTED_OUT = "opted_out"
    OPT_OUT_UNREADABLE = "opt_out_unreadable"
    POD_SILENCED = "pod_silenced"
    PRIORITY_ABOVE_CEILING = "priority_above_ceiling"
    HAS_VOLUME = "has_volume"
    LIMIT_OOM = "limit_oom"
    NO_USAGE_SAMPLE = "no_usage_sample"
    TOO_YOUNG = "too_young"
    LAST_READY_REPLICA = "last_ready_replica"
    SINGLE_REPLICA = "single_replica"
    WORKLOAD_COOLDOWN = "workload_cooldown"
    WORKLOAD_BEING_EVICTED = "workload_being_evicted"
    ONE_PER_WORKLOAD = "one_per_workload"
    DISRUPTION_BUDGET = "disruption_budget"
    TOO_SMALL = "too_small"
    FITS_NOWHERE = "fits_nowhere"
    # why a candidate is or is not in the plan
    CHOSEN = "chosen"
    TARGET_COVERED = "target_covered"
    ROUND_FULL = "round_full"
    ALREADY_CHOSEN = "already_chosen"
    # guards (section 4, in order)
    MODE_OFF = "mode_off"
    PAUSED = "paused"
    RECOVERED = "recovered"
    NODE_UNKNOWN = "node_unknown"
    NODE_AMBIGUOUS = "node_ambiguous"
    DATA_UNKNOWN = "data_unknown"
    DATA_STALE = "data_stale"
    DATA_PARTIAL = "data_partial"
    NON_POD_MEMORY = "non_pod_memory"
    IMPLAUSIBLE = "implausible"
    SILENCED = "silenced"
    SILENCES_UNKNOWN = "silences_unknown"
    NODE_COOLDOWN = "node_cooldown"
    KUBELET_EVICTING = "kubelet_evicting"
    STORM_BRAKE = "storm_brake"
    CAP_NODES_ACTING = "cap_nodes_acting"
    CAP_NODES_CORDONED = "cap_nodes_cordoned"
    CAP_EVICTIONS_CLUSTER = "cap_evictions_cluster"
    CAP_EVICTIONS_NAMESPACE = "cap_evictions_namespace"
    CIRCUIT_BREAKER = "circuit_breaker"
    MOVED_NOT_FREED = "moved_not_freed"
    # what a pass came to
    LEVEL_ALLOWS_NOTIFY_ONLY = "level_allows_notify_only"
    LEVEL_TOO_FRESH = "level_too_fresh"
    ALREADY_HANDLED = "already_handled"
    ROUNDS_SPENT = "rounds_spent"
    NO_CANDIDATE = "no_candidate"
    AWAITING_APPROVAL = "awaiting_approval"
    PLAN_EXPIRED = "plan_expired"
    PLAN_REJECTED = "plan_rejected"
    RESOLVED = "resolved"
    CALM = "calm"
    ACTING = "acting"
    SETTLING = "settling"
    NOT_CALM_YET = "not_calm_yet"
    ESCALATED = "escalated"
    STRATEGY_REFUSED = "strategy_refused"
    LEDGER_UNKNOWN = "ledger_unknown"
    OOM_STORM = "oom_storm"
    # drain endpoints
    NOT_SERVING = "not_serving"
    SELECTOR_IN_THE_WAY = "selector_in_the_way"
    TOO_FEW_IN_SERVICE = "too_few_in_service"
    # answers of the API to an action
    ACCEPTED = "accepted"
    DRY_RUN = "dry_run"
    ALREADY_DONE = "already_done"
    ALREADY_GONE = "already_gone"
    REPLACED_SINCE = "replaced_since"
    TWO_BUDGETS = "two_budgets"
    THROTTLED = "throttled"
    NAMESPACE_TERMINATING = "namespace_terminating"
    FORBIDDEN = "forbidden"
    CONFLICT = "conflict"
    TIMED_OUT = "timed_out"
    API_ERROR = "api_error"
    NOT_OURS = "not_ours"
    # rejected alerts
    UNKNOWN_ALERT = "unknown_alert"
    ALERT_WITHOUT_NAME = "alert_without_name"
    ALERT_WITHOUT_NODE = "alert_without_node"
    ALERT_MALFORMED = "alert_malformed"


SENTENCES: Mapping[Reason, str] = {
    Reason.NOT_RUNNING: "it does not run",
    Reason.TERMINATING: "it is terminating already",
    Reason.MIRROR_POD: "it is a static pod, evicting it frees nothing",
    Reason.DAEMONSET_POD: "it belongs to a DaemonSet and would come back at once",
    Reason.NO_CONTROLLER: "it has no controller, nobody would start it again",
    Reason.SYSTEM_PRIORITY: "it has a system-critical priority",
    Reason.PROTECTED_NAMESPACE: "its namespace is protected",
    Reason.OWN_COMPONENT: "it belongs to what watches or remediates the cluster",
    Reason.TIER_CRITICAL: "its business is critical, it is never evicted",
    Reason.TIER_NOT_ALLOWED: "the level does not evict its tier",
    Reason.UNDECLARED: "nobody declared what its business is worth, so it is protected",
    Reason.HELM_HOOK: "it is a Helm hook",
    Reason.JOB_WITHOUT_RETRIES: "it is a Job without retries, evicting it would fail it",
    Reason.OPTED_OUT: "it opted out of eviction",
    Reason.OPT_OUT_UNREADABLE: "its opt-out cannot be read, so it is protected",
    Reason.POD_SILENCED: "a silence protects it",
    Reason.PRIORITY_ABOVE_CEILING: "its priority is above the policy's ceiling",
    Reason.HAS_VOLUME: "it keeps data on a volume that the policy does not open",
    Reason.LIMIT_OOM: "it is OOM-killed at its own limit and would be anywhere",
    Reason.NO_USAGE_SAMPLE: "there is no fresh usage sample of it",
    Reason.TOO_YOUNG: "it is too young",
    Reason.LAST_READY_REPLICA: "too few ready replicas would be left",
    Reason.SINGLE_REPLICA: "it is the only replica and the policy does not consent",
    Reason.WORKLOAD_COOLDOWN: "its workload was disturbed a moment ago",
    Reason.WORKLOAD_BEING_EVICTED: "an earlier eviction of its workload is still under way",
    Reason.ONE_PER_WORKLOAD: "another pod of its workload goes in this plan",
    Reason.DISRUPTION_BUDGET: "a disruption budget holds it",
    Reason.TOO_SMALL: "it frees too little to be worth a restart",
    Reason.FITS_NOWHERE: "no other node has room for it",
    Reason.CHOSEN: "it is chosen",
    Reason.TARGET_COVERED: "it is not needed, the target is covered",
    Reason.ROUND_FULL: "the round is full",
    Reason.ALREADY_CHOSEN: "it was chosen already",
    Reason.MODE_OFF: "the node's mode is off",
    Reason.PAUSED: "remediation of the node is paused",
    Reason.RECOVERED: "the node has recovered",
    Reason.NODE_UNKNOWN: "there is no such node",
    Reason.NODE_AMBIGUOUS: "the alert matches several nodes",
    Reason.DATA_UNKNOWN: "a source did not answer, so nothing is known and nothing is done",
    Reason.DATA_STALE: "the figures are too old to act on",
    Reason.DATA_PARTIAL: "the figures are incomplete",
    Reason.NON_POD_MEMORY: "the memory is not held by pods, evicting them is no cure",
    Reason.IMPLAUSIBLE: "the figures contradict each other",
    Reason.SILENCED: "a silence pauses remediation",
    Reason.SILENCES_UNKNOWN: "nobody could say what is silenced, so nothing is done",
    Reason.NODE_COOLDOWN: "the node cools down after an episode",
    Reason.KUBELET_EVICTING: "the kubelet is evicting, we stand down",
    Reason.STORM_BRAKE: "too many nodes are RED at once, nothing is evicted anywhere",
    Reason.CAP_NODES_ACTING: "enough other nodes are being relieved",
    Reason.CAP_NODES_CORDONED: "enough nodes are cordoned by us",
    Reason.CAP_EVICTIONS_CLUSTER: "the cluster's evictions of this hour are spent",
    Reason.CAP_EVICTIONS_NAMESPACE: "the namespace's evictions of this hour are spent",
    Reason.CIRCUIT_BREAKER: "recent episodes went badly, a human approves each plan for a while",
    Reason.MOVED_NOT_FREED: "its workload brought the pressure here from another node",
    Reason.LEVEL_ALLOWS_NOTIFY_ONLY: "the level evicts nobody",
    Reason.LEVEL_TOO_FRESH: "the level has not held long enough",
    Reason.ALREADY_HANDLED: "the node is being handled already",
    Reason.ROUNDS_SPENT: "the rounds of this episode are spent",
    Reason.NO_CANDIDATE: "nobody may be evicted",
    Reason.AWAITING_APPROVAL: "a plan waits for a human",
    Reason.PLAN_EXPIRED: "a plan expired without an answer",
    Reason.PLAN_REJECTED: "a human rejected the plan",
    Reason.RESOLVED: "the alert is resolved",
    Reason.ACTING: "the plan is performed",
    Reason.CALM: "the node is calm",
    Reason.NOT_CALM_YET: "the node is not calm yet, it is released as soon as it is",
    Reason.SETTLING: "the last round is settling",
    Reason.ESCALATED: "a human is asked, the node does not get well",
    Reason.STRATEGY_REFUSED: "a strategy's settings are refused; the last good ones stay, or it does not run",
    Reason.LEDGER_UNKNOWN: "the node lacks a ledger that a strategy needs",
    Reason.OOM_STORM: "the kernel kills again and again on the node",
    Reason.NOT_SERVING: "it is not in service by a label of ours",
    Reason.SELECTOR_IN_THE_WAY: "its controller's selector uses the serving label",
    Reason.TOO_FEW_IN_SERVICE: "too few endpoints would stay in service",
    Reason.ACCEPTED: "accepted",
    Reason.DRY_RUN: "recorded only",
    Reason.ALREADY_DONE: "it was done already",
    Reason.ALREADY_GONE: "it is gone already",
    Reason.REPLACED_SINCE: "another pod has its name by now",
    Reason.TWO_BUDGETS: "two disruption budgets match it, the API refuses such evictions",
    Reason.THROTTLED: "the API server asks us to slow down",
    Reason.NAMESPACE_TERMINATING: "its namespace is terminating",
    Reason.FORBIDDEN: "we lack the right to do it",
    Reason.CONFLICT: "it was changed by somebody else meanwhile",
    Reason.TIMED_OUT: "no answer in time, it may have taken effect",
    Reason.API_ERROR: "the API server failed",
    Reason.NOT_OURS: "it is not ours to touch",
    Reason.UNKNOWN_ALERT: "an alert we do not act on",
    Reason.ALERT_WITHOUT_NAME: "an alert without a name",
    Reason.ALERT_WITHOUT_NODE: "an alert that names no node",
    Reason.ALERT_MALFORMED: "an alert that cannot be read",
}
"""What a person reads; complete, a test sees to it."""
