"""All nodes: which are in danger, since when, and what the kubelet and the kernel took in a week."""

from dashboards.panels import LEVEL_MAPPING, Panel, dashboard
from dashboards.selecting import ALL, BY_NODE, CLUSTERS, episodes, nodes_variable

_OOM_KILLS_7D = (
    f"{BY_NODE} (increase(memory_exporter_node_oom_kills_total{ALL}[7d])) or on (cluster, node) "
    f"{BY_NODE} (increase(node_vmstat_oom_kill{ALL}[7d]))"
)
_IN_LEVEL = [(f"count({BY_NODE} (node:memory_level{ALL}) == {n}) or vector(0)", name) for n, name in (
    (3, "RED"), (2, "ORANGE"), (1, "YELLOW"), (0, "GREEN"),
)]  # fmt: skip


PANELS = [
    *(
        Panel(
            f"{name} nodes",
            [(query, name)],
            "stat",
            width=4,
            height=4,
            danger=1 if name == "RED" else None,
            runbook="nodememorypressure",
        )
        for query, name in _IN_LEVEL
    ),
    Panel(
        "Blind nodes",
        [
            (
                f"count({BY_NODE} (last_over_time(kube_node_info{ALL}[2m])) unless on (cluster, node) "
                f"node:memory_used:ratio{ALL}) or vector(0)",
                "blind",
            )
        ],
        "stat",
        text="Nodes of the cluster without a memory figure: nothing is known of them.",
        width=4,
        height=4,
        danger=1,
        runbook="nodememoryblind",
    ),
    Panel(
        "In an episode",
        [(f"count({BY_NODE} (remediator_episode_started_timestamp_seconds{ALL}) > 0) or vector(0)", "nodes")],
        "stat",
        text="Nodes that the remediator works on now.",
        width=4,
        height=4,
    ),
    Panel(
        "Nodes, those in danger first",
        [
            (f"{BY_NODE} (node:memory_level{ALL})", "level"),
            (f"{BY_NODE} (node:memory_used:ratio{ALL})", "used"),
            (f"{BY_NODE} (node:memory_pressure:score{ALL})", "score"),
            (f"{BY_NODE} (node:memory_exhaustion:seconds{ALL} < 86400)", "exhausted in"),
            (f"{BY_NODE} (node:kubelet_memory_evictions:increase7d{ALL})", "kubelet evictions, 7 d"),
            (_OOM_KILLS_7D, "OOM kills, 7 d"),
        ],
        "table",
        text="Exhausted in: at the present growth, when within a day.",
        width=24,
        height=9,
        units={
            "level": "none",
            "used": "percentunit",
            "score": "none",
            "exhausted in": "s",
            "kubelet evictions, 7 d": "none",
            "OOM kills, 7 d": "none",
        },
    ),
    Panel(
        "Levels over time",
        [(f"{BY_NODE} (node:memory_level{ALL})", "{{node}}")],
        "state-timeline",
        text="A gap is a blind node.",
        mappings=LEVEL_MAPPING,
    ),
    Panel("Used memory", [(f"{BY_NODE} (node:memory_used:ratio{ALL})", "{{node}}")], unit="percentunit", high=1),
    Panel(
        "Predicted exhaustion within the hour",
        [(f"{BY_NODE} (node:memory_exhaustion:seconds{ALL} < 3600)", "{{node}}")],
        unit="s",
        text="Time until nothing is available, at the growth of the last five minutes. No line: not within the hour.",
        runbook="nodememoryexhaustionpredicted",
    ),
    Panel("Pressure score", [(f"{BY_NODE} (node:memory_pressure:score{ALL})", "{{node}}")], high=100),
    Panel(
        "Kubelet evictions for memory, 7 days",
        [(f"topk(20, {BY_NODE} (node:kubelet_memory_evictions:increase7d{ALL}))", "{{node}}")],
        "bargauge",
        text="What the remediator is there to prevent.",
        danger=1,
        runbook="kubeletmemoryevictionstarted",
    ),
    Panel("OOM kills, 7 days", [(f"topk(20, {_OOM_KILLS_7D})", "{{node}}")], "bargauge", danger=1),
]


DASHBOARD = dashboard("fleet", "Fleet", [CLUSTERS, nodes_variable(several=True)], PANELS, annotations=episodes(ALL))
