"""The product's own metrics, each declared once, below everything that counts. No logic here.

Names follow Prometheus' conventions; labels only from closed lists (reasons, outcomes, sources), never from
input.
"""

from prometheus_client import Counter, Gauge, Histogram

WEBHOOKS_RECEIVED = Counter(
    "remediator_webhooks_received_total", "Webhook requests, by what became of them", ["outcome"]
)
ALERTS_REJECTED = Counter("remediator_alerts_rejected_total", "Alerts that could not be used", ["reason"])
ALERTS_TRUNCATED = Counter(
    "remediator_alerts_truncated_total", "Alerts that Alertmanager left out of a webhook (max_alerts)"
)
QUEUE_LENGTH = Gauge("remediator_queue_length", "Signals that wait for a pass")
QUEUE_REFUSED = Counter("remediator_queue_refused_total", "Submissions refused because the queue was full")
PASSES_FAILED = Counter("remediator_passes_failed_total", "Passes over a node that ended in an error of ours")
PASS_SECONDS = Histogram("remediator_pass_duration_seconds", "Duration of one pass over one node")
RESYNCS_FAILED = Counter("remediator_resyncs_failed_total", "Resyncs that could not read what is due")
READS_FAILED = Counter(
    "remediator_reads_failed_total", "Reads of an outside system that failed in an unforeseen way", ["source"]
)
RECORD_CONFLICTS = Counter(
    "remediator_record_conflicts_total", "Passes ended because another replica wrote the node's record"
)
DECISIONS = Counter("remediator_decisions_total", "Decisions, by verdict and first reason", ["verdict", "reason"])
ACTIONS = Counter("remediator_actions_total", "Actions performed", ["kind", "status", "reason"])
EVICTIONS = Counter("remediator_evictions_total", "Evictions asked for", ["outcome", "strategy"])
OUTCOMES = Counter("remediator_outcomes_total", "What rounds came to", ["outcome"])
RELEASED = Counter("remediator_released_bytes_total", "Available memory that nodes gained in rounds of evictions")
RELEASE_EXPECTED = Counter(
    "remediator_release_expected_bytes_total", "What the evicted pods held, by their last figures"
)
INTENTS_LOST = Counter("remediator_intents_lost_total", "Plans not performed because their intent could not be written")
AUDIT_LOST = Counter("remediator_audit_lost_total", "Audit lines that could not be written")
AUDIT_SHIPPED = Counter(
    "remediator_audit_shipped_lines_total", "Audit lines that Elasticsearch has, by this or an earlier request"
)
AUDIT_BACKLOG = Gauge(
    "remediator_audit_backlog_ratio", "Audit bytes that are not shipped yet, as a share of what rotation keeps"
)
AUDIT_LOST_LINES = Counter(
    "remediator_audit_lost_lines_total", "Audit lines that rotation dropped before they were shipped"
)
AUDIT_REJECTED_LINES = Counter(
    "remediator_audit_rejected_lines_total", "Audit lines that Elasticsearch will never take; set aside in a file"
)
AUDIT_STDOUT_DROPPED = Counter(
    "remediator_audit_stdout_dropped_total", "Copies of audit lines that standard output did not take in time"
)
RECORDS_UNREADABLE = Counter(
    "remediator_records_unreadable_total", "NodeRemediations whose status could not be understood (a newer version's?)"
)
EPISODE_STARTED = Gauge(
    "remediator_episode_started_timestamp_seconds",
    "When the node's episode began, unix time; 0: there is none",
    ["node"],
)
CORDONED = Gauge(
    "remediator_cordoned_timestamp_seconds", "Since when the node is cordoned by us, unix time; 0: it is not", ["node"]
)
KUBERNETES_ERRORS = Counter(
    "remediator_kubernetes_errors_total", "Answers of the API server that were no success; 0: none came", ["status"]
)
CONFIG_VALID = Gauge("remediator_config_valid", "1 while the policy file is good; 0: the last good policy is in force")
CONFIG_LOADED = Gauge("remediator_config_loaded_timestamp_seconds", "Since when the policy in force is, unix time")
PLANS_WAITING = Gauge("remediator_plans_waiting", "Plans that wait for a human, by the records as last read")
OPERATOR_WORDS = Counter("remediator_operator_words_total", "Words of operators that the API took", ["word"])
SILENCES_ACTIVE = Gauge("remediator_silences_active", "Active silences of all Alertmanager peers, at their last answer")
STRATEGY_THRESHOLD = Gauge(
    "remediator_strategy_threshold_ratio", "From where on a strategy of Koordinator fires", ["node", "strategy", "edge"]
)
STRATEGY_REFUSED = Gauge(
    "remediator_strategy_refused_nodes",
    "Nodes on which a strategy's newest settings cannot run; the last good ones stay, if there are any",
    ["strategy"],
)
LEDGER_PRESENT = Gauge(
    "remediator_ledger_present", "1 when the node has this ledger of Koordinator's", ["node", "resource"]
)
LEDGER_ALLOCATABLE = Gauge("remediator_ledger_allocatable_bytes", "What the ledger may give", ["node", "resource"])
LEDGER_REQUESTED = Gauge(
    "remediator_ledger_requested_bytes", "What pods under the priority threshold request of it", ["node", "resource"]
)
SOURCE_UP = Gauge("remediator_source_up", "1 when the last answer of an outside system was usable", ["source"])
NOTICES_DROPPED = Counter("remediator_notices_dropped_total", "Notifications that found the queue full", ["target"])
NOTICES_FAILED = Counter("remediator_notices_failed_total", "Notifications that a target did not take", ["target"])
