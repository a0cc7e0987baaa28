"""The cgroup exporters: are they there, how long do they take, what could they not read."""

from dashboards.panels import Panel, dashboard
from dashboards.selecting import ALL, BY_NODE, CLUSTER, CLUSTERS, nodes_variable

PANELS = [
    Panel(
        "Exporters up",
        [(f'sum(up{{{CLUSTER},job="memory-exporter"}})', "up")],
        "stat",
        width=6,
        height=4,
        runbook="memoryexporterdown",
    ),
    Panel(
        "Exporters down",
        [(f'count(up{{{CLUSTER},job="memory-exporter"}} == 0) or vector(0)', "down")],
        "stat",
        width=6,
        height=4,
        danger=1,
        runbook="memoryexporterdown",
    ),
    Panel(
        "Nodes with PSI",
        [(f"sum(memory_exporter_psi_supported{ALL})", "nodes")],
        "stat",
        width=6,
        height=4,
    ),
    Panel(
        "Degraded nodes",
        [(f"count({BY_NODE} (memory_exporter_degraded{ALL}) > 0) or vector(0)", "nodes")],
        "stat",
        text="A substitute is used or something is not as it should be; the label names it.",
        width=6,
        height=4,
        danger=1,
    ),
    Panel(
        "Duration of a scrape, by the exporter",
        [(f"{BY_NODE} (memory_exporter_scrape_duration_seconds{ALL})", "{{node}}")],
        unit="s",
    ),
    Panel(
        "Duration of a scrape, by Prometheus",
        [(f'topk(20, scrape_duration_seconds{{{CLUSTER},job="memory-exporter"}})', "{{instance}}")],
        unit="s",
    ),
    Panel(
        "Cgroups seen",
        [(f"sum by (level) (memory_exporter_cgroups{ALL})", "{{level}}")],
    ),
    Panel("Descriptors kept open", [(f"{BY_NODE} (memory_exporter_descriptors{ALL})", "{{node}}")]),
    Panel(
        "Reads that failed",
        [(f"{BY_NODE} (rate(memory_exporter_unreadable_files_total{ALL}[$__rate_interval]))", "{{node}}")],
        unit="cps",
    ),
    Panel(
        "Samples per scrape",
        [(f'topk(20, scrape_samples_scraped{{{CLUSTER},job="memory-exporter"}})', "{{instance}}")],
    ),
]


DASHBOARD = dashboard("exporter", "Exporter", [CLUSTERS, nodes_variable(several=True)], PANELS)
