"""The remediator itself: what it decides, what comes of it, and what holds it back."""

from dashboards.panels import UP_MAPPING, Panel, dashboard
from dashboards.selecting import BY_NODE, CLUSTER, CLUSTERS, OURS, episodes, increase


def _quantile(share: float) -> str:
    buckets = f"sum by (le) (rate(remediator_pass_duration_seconds_bucket{OURS}[$__rate_interval]))"
    return f"histogram_quantile({share:g}, {buckets})"


PANELS = [
    Panel(
        "Replicas up",
        [(f'sum(up{{{CLUSTER},job="remediator"}})', "replicas")],
        "stat",
        width=4,
        height=4,
        runbook="remediatordown",
    ),
    Panel(
        "Policy accepted",
        [(f"min(remediator_config_valid{OURS})", "valid")],
        "stat",
        width=4,
        height=4,
        mappings=UP_MAPPING,
        runbook="remediatorrefusesconfig",
    ),
    Panel(
        "Plans that wait for a human", [(f"max(remediator_plans_waiting{OURS})", "plans")], "stat", width=4, height=4
    ),
    Panel(
        "Oldest episode",
        [(f"time() - min(remediator_episode_started_timestamp_seconds{OURS} > 0) or vector(0)", "age")],
        "stat",
        "s",
        width=4,
        height=4,
        danger=1800,
        runbook="remediatorstuckepisode",
    ),
    Panel(
        "Cordoned by us",
        [(f"count({BY_NODE} (remediator_cordoned_timestamp_seconds{OURS}) > 0) or vector(0)", "nodes")],
        "stat",
        width=4,
        height=4,
        runbook="remediatorforgottencordon",
    ),
    Panel(
        "Lost audit lines",
        [
            (
                f"sum(remediator_audit_lost_total{OURS}) + sum(remediator_intents_lost_total{OURS})"
                f" + sum(remediator_audit_lost_lines_total{OURS})",
                "lines",
            )
        ],
        "stat",
        width=4,
        height=4,
        danger=1,
        runbook="remediatorauditbacklog",
    ),
    Panel(
        "Decisions by reason",
        [(increase("remediator_decisions_total", "verdict, reason"), "{{verdict}} {{reason}}")],
        stacked=True,
    ),
    Panel(
        "Evictions",
        [(increase("remediator_evictions_total", "outcome, strategy"), "{{strategy}} {{outcome}}")],
        stacked=True,
    ),
    Panel(
        "Released against expected",
        [
            (f"sum(remediator_released_bytes_total{OURS})", "released"),
            (f"sum(remediator_release_expected_bytes_total{OURS})", "expected"),
        ],
        unit="bytes",
        text="Since start. What nodes gained in available memory, and what the evicted pods held.",
    ),
    Panel("What rounds came to", [(increase("remediator_outcomes_total", "outcome"), "{{outcome}}")], stacked=True),
    Panel(
        "Other actions", [(increase("remediator_actions_total", "kind, status"), "{{kind}} {{status}}")], stacked=True
    ),
    Panel(
        "Duration of a pass over a node",
        [(_quantile(0.5), "median"), (_quantile(0.99), "99 %")],
        unit="s",
        text="Observe, decide, act.",
    ),
    Panel(
        "Caps and brakes",
        [
            (
                increase(
                    "remediator_decisions_total",
                    "reason",
                    'reason=~"cap_.*|storm_brake|circuit_breaker|moved_not_freed|kubelet_evicting"',
                ),
                "{{reason}}",
            )
        ],
        text="Decisions held back for the cluster's sake.",
    ),
    Panel(
        "Silenced",
        [
            (
                increase("remediator_decisions_total", "reason", 'reason=~"silenced|silences_unknown|paused"'),
                "{{reason}}",
            )
        ],
        text="Decisions held back because people asked for it, or because nobody could be asked.",
    ),
    Panel(
        "Webhooks and alerts",
        [
            (increase("remediator_webhooks_received_total", "outcome"), "webhook {{outcome}}"),
            (increase("remediator_alerts_rejected_total", "reason"), "alert rejected: {{reason}}"),
        ],
    ),
    Panel(
        "Queue",
        [
            (f"sum(remediator_queue_length{OURS})", "waiting"),
            (f"sum(increase(remediator_queue_refused_total{OURS}[$__rate_interval]))", "refused"),
        ],
    ),
    Panel(
        "Outside systems usable",
        [(f"max by (source) (remediator_source_up{OURS})", "{{source}}")],
        "state-timeline",
        mappings=UP_MAPPING,
        runbook="remediatorblind",
    ),
    Panel(
        "Errors",
        [
            (f"sum(increase({name}{OURS}[$__rate_interval]))", legend)
            for name, legend in (
                ("remediator_passes_failed_total", "passes failed"),
                ("remediator_resyncs_failed_total", "resyncs failed"),
                ("remediator_record_conflicts_total", "record conflicts"),
                ("remediator_records_unreadable_total", "records unreadable"),
                ("remediator_intents_lost_total", "intents lost"),
                ("remediator_audit_lost_total", "audit lines lost"),
            )
        ],
    ),
    Panel(
        "Notifications that did not arrive",
        [
            (increase("remediator_notices_dropped_total", "target"), "{{target}} dropped"),
            (increase("remediator_notices_failed_total", "target"), "{{target}} failed"),
        ],
        text="Dropped: the queue was full. Acting never waits for them.",
    ),
    Panel(
        "Answers of the API server that were no success",
        [(increase("remediator_kubernetes_errors_total", "status"), "{{status}}")],
        text="0: no answer came. 429 on an eviction is a budget that holds.",
    ),
]


DASHBOARD = dashboard("remediator", "Remediator", [CLUSTERS], PANELS, annotations=episodes(OURS))
