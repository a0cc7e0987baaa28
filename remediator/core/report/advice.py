"""What to change when a reason keeps holding remediation back: a sentence for each reason of the closed list that can.

A reason that is in neither table holds nobody back (it chooses, settles, answers), and none has to be listed twice.
"""

from collections.abc import Mapping

from remediator.core.reason import Reason

KEPT_ADVICE: Mapping[Reason, str] = {
    Reason.MIRROR_POD: "nothing: static pods go with the node; lower their memory where they are defined",
    Reason.DAEMONSET_POD: "lower what the agent holds, or raise its memory request so that nodes have room for it",
    Reason.NO_CONTROLLER: "give it a controller (Deployment, Job): a bare pod cannot be moved",
    Reason.SYSTEM_PRIORITY: "nothing, unless it does not belong there: give it a priority class that is not system-*",
    Reason.PROTECTED_NAMESPACE: "move it to another namespace, or narrow safeguards.protected_namespaces",
    Reason.OWN_COMPONENT: "narrow safeguards.protected_workloads if it is none of the monitoring",
    Reason.TIER_CRITICAL: "nothing: critical is never evicted; keep critical and batch work on different nodes",
    Reason.TIER_NOT_ALLOWED: "name the tier in ladder.red.evict_tiers if it may go at RED, or declare a lower one",
    Reason.UNDECLARED: "declare it: paste the rows above into the policy's business, with the tier its owners choose",
    Reason.HELM_HOOK: "nothing: hooks end by themselves",
    Reason.JOB_WITHOUT_RETRIES: "give the Job a backoffLimit above 0, so that an eviction does not fail it",
    Reason.OPTED_OUT: "ask its team whether the opt-out annotation is still wanted",
    Reason.OPT_OUT_UNREADABLE: 'correct the annotation to "true" or "false"',
    Reason.POD_SILENCED: "let the silence end, or make it narrower",
    Reason.PRIORITY_ABOVE_CEILING: "raise safeguards.priority_ceiling if such pods may go",
    Reason.HAS_VOLUME: "say allow_volumes in its business row if the data survives a move",
    Reason.LIMIT_OOM: "raise the workload's memory limit, tune its heap, or look for a leak",
    Reason.NO_USAGE_SAMPLE: "look at the exporter or cAdvisor on the node: its usage is not scraped",
    Reason.TOO_YOUNG: "nothing, unless pods are restarted all the time; safeguards.min_age_seconds is the setting",
    Reason.LAST_READY_REPLICA: "run more replicas, or lower min_ready_replicas in its business row",
    Reason.SINGLE_REPLICA: "run two replicas, or consent with allow_single_replica in its business row",
    Reason.WORKLOAD_COOLDOWN: "nothing: it was disturbed a moment before (timers.workload_cooldown_seconds)",
    Reason.WORKLOAD_BEING_EVICTED: "nothing: one pod of a workload goes at a time",
    Reason.DISRUPTION_BUDGET: "loosen the PodDisruptionBudget, or run more replicas",
    Reason.TOO_SMALL: "nothing: safeguards.min_release_bytes is the setting",
    Reason.FITS_NOWHERE: "add room: no other node could take it",
}
"""For pods that were left alone."""
HELD_ADVICE: Mapping[Reason, str] = {
    Reason.MODE_OFF: "set the node's mode to observe, or take the row off the policy's modes",
    Reason.PAUSED: "remediator resume NODE, if the pause is no longer wanted",
    Reason.NODE_UNKNOWN: "make the alert's node label the Kubernetes node name (remediator rules --node-join)",
    Reason.NODE_AMBIGUOUS: "make the alert's node label the Kubernetes node name (remediator rules --node-join)",
    Reason.DATA_UNKNOWN: "look at /readyz and the log: Prometheus or the API server did not answer",
    Reason.DATA_STALE: "check that the node is scraped at least every 15 s and Prometheus is not behind",
    Reason.DATA_PARTIAL: "look at /readyz: usages came incomplete (a scrape missed, or a Thanos store away)",
    Reason.NON_POD_MEMORY: "find what holds memory outside pods: `remediator explain NODE` names system slices",
    Reason.IMPLAUSIBLE: "check for two clusters behind one Prometheus URL, or exporters with wrong host mounts",
    Reason.SILENCED: "let the silence end, or make it narrower",
    Reason.SILENCES_UNKNOWN: "make Alertmanager reachable: nothing is done while nobody can say what is silenced",
    Reason.NODE_COOLDOWN: "nothing if rare; if frequent, the node needs more room, not more evictions",
    Reason.KUBELET_EVICTING: "the kubelet was first: see the deaths below, and consider a profile with lower levels",
    Reason.STORM_BRAKE: "look for a common cause (a rollout, a leak): too many nodes were RED at once",
    Reason.CAP_NODES_ACTING: "raise caps.nodes_acting if so many nodes may be relieved at once",
    Reason.CAP_NODES_CORDONED: "raise caps.nodes_cordoned_ratio, or release nodes sooner (release: auto)",
    Reason.CAP_EVICTIONS_CLUSTER: "raise caps.evictions_per_hour if so many evictions are acceptable",
    Reason.CAP_EVICTIONS_NAMESPACE: "raise caps.evictions_per_namespace_per_hour, or spread the namespace's work",
    Reason.CIRCUIT_BREAKER: "read the outcomes below: recent rounds went badly",
    Reason.MOVED_NOT_FREED: "give the workload room elsewhere: it carries the pressure with it",
    Reason.ROUNDS_SPENT: "raise ladder.red.max_rounds or max_pods_per_round, or declare more that may go",
    Reason.NO_CANDIDATE: "declare workloads: nobody on the node might be evicted",
    Reason.PLAN_EXPIRED: "answer plans within ten minutes, or let the pool enforce",
    Reason.PLAN_REJECTED: "put into the policy what made you say no",
    Reason.ESCALATED: "look at the node: it did not get well by evictions",
    Reason.STRATEGY_REFUSED: "correct Koordinator's settings; `remediator explain NODE` says which",
    Reason.LEDGER_UNKNOWN: "check that Koordinator reports batch-memory on the node",
    Reason.NOT_OURS: "nothing: a human opened the node, and it was left to him",
}
"""For nodes that were left alone."""
