"""One node: its water mark against the thresholds, what the pressure consists of, and who holds the memory."""

from dashboards.panels import LEVEL_MAPPING, Panel, dashboard
from dashboards.selecting import CLUSTER, CLUSTERS, ONE, OURS, episodes, namespaces_variable, nodes_variable


def _top_pods(value: str) -> str:
    """The ten pods with the most of something, by name; `value` is per uid."""
    names = f'max by (uid, namespace, pod) (kube_pod_info{{{CLUSTER},node="$node",namespace=~"$namespace"}})'
    return f"topk(10, max by (uid) ({value}) * on (uid) group_left (namespace, pod) {names})"


_POD = f'cgroup_memory_working_set_bytes{{{CLUSTER},level="pod",node="$node"}}'

PANELS = [
    Panel(
        "Level",
        [(f"max(node:memory_level{ONE})", "level")],
        "stat",
        width=4,
        height=4,
        mappings=LEVEL_MAPPING,
        runbook="nodememorypressure",
    ),
    Panel("Used", [(f"max(node:memory_used:ratio{ONE})", "used")], "stat", "percentunit", width=4, height=4),
    Panel("Available", [(f"max(node:memory_available:bytes{ONE})", "available")], "stat", "bytes", width=4, height=4),
    Panel("Score", [(f"max(node:memory_pressure:score{ONE})", "score")], "stat", "none", width=4, height=4),
    Panel(
        "Exhausted in",
        [(f"min(node:memory_exhaustion:seconds{ONE})", "time")],
        "stat",
        "s",
        width=4,
        height=4,
        text="Infinite while memory does not shrink.",
        mappings=[{"type": "value", "options": {"Infinity": {"text": "not in sight"}}}],
    ),
    Panel(
        "Cordoned by us",
        [(f"max(remediator_cordoned_timestamp_seconds{ONE}) > bool 0", "cordoned")],
        "stat",
        "none",
        width=4,
        height=4,
        text="No data: the remediator has not looked at this node.",
        mappings=[{"type": "value", "options": {"0": {"text": "no"}, "1": {"text": "yes", "color": "orange"}}}],
    ),
    Panel(
        "Water mark and thresholds",
        [
            (f"max(node:memory_used:ratio{ONE})", "used"),
            (
                f'max by (level) (node:memory_threshold:ratio{{{CLUSTER},node="$node",edge="enter"}})',
                "{{level}} enter",
            ),
            (f'max by (level) (node:memory_threshold:ratio{{{CLUSTER},node="$node",edge="exit"}})', "{{level}} exit"),
        ],
        unit="percentunit",
        high=1,
        low=None,
        dashed="/(enter|exit)$/",
    ),
    Panel(
        "Parts of the pressure score",
        [(f"max by (part) (node:memory_pressure_part:score{ONE})", "{{part}}")],
        stacked=True,
        high=100,
    ),
    Panel(
        "Pods with the most memory",
        [(_top_pods(_POD), "{{namespace}}/{{pod}}")],
        unit="bytes",
        text="Working sets by our exporter. Static pods carry another uid and are not named here.",
    ),
    Panel(
        "Pods that grow the fastest",
        [(_top_pods(f"deriv({_POD}[5m])"), "{{namespace}}/{{pod}}")],
        unit="Bps",
        text="Least squares over five minutes.",
    ),
    Panel(
        "Time lost waiting for memory (PSI)",
        [
            (f"max(node:memory_stall_some:ratio{ONE})", "some task"),
            (f"max(node:memory_stall_full:ratio{ONE})", "all tasks"),
        ],
        unit="percentunit",
        text="No data: a kernel without PSI.",
    ),
    Panel(
        "Faults and reclaim",
        [
            (f"max(node:memory_major_faults:rate1m{ONE})", "major faults"),
            (f"max(node:memory_direct_reclaim:rate1m{ONE})", "pages scanned by direct reclaim"),
            (f"max by (signal) (memory_pressure:threshold:rate{OURS})", "{{signal}} storm"),
        ],
        unit="cps",
        dashed="/storm$/",
    ),
    Panel(
        "Swap",
        [
            (f"max(node:memory_swap_used:ratio{ONE})", "used"),
            (f"max(node:memory_swap_io:rate1m{ONE})", "pages in and out, /s"),
        ],
        unit="percentunit",
        units={"pages in and out, /s": "cps"},
        text="No data: a node without swap.",
        runbook="nodeswapgrowing",
    ),
    Panel(
        "Memory outside pods",
        [(f'max by (path) (cgroup_memory_anon_bytes{{{CLUSTER},level="system",node="$node"}})', "{{path}}")],
        unit="bytes",
        text="Anonymous memory of the top cgroups.",
    ),
    Panel(
        "Kills",
        [
            (f"max(node:kubelet_memory_evictions:increase5m{ONE})", "kubelet evictions, 5 min"),
            (f"max(node:memory_oom_kills:increase30m{ONE})", "OOM kills, 30 min"),
        ],
    ),
    Panel(
        "Pods closest to their own limit",
        [
            (
                _top_pods(f'{_POD} / on (uid) cgroup_memory_limit_bytes{{{CLUSTER},level="pod",node="$node"}}'),
                "{{namespace}}/{{pod}}",
            )
        ],
        unit="percentunit",
        text="Working set to the pod's cgroup limit; pods without a limit are not shown.",
        runbook="podmemorylimitmisconfigured",
    ),
    Panel(
        "Koordinator's ledgers",
        [
            (f"max by (resource) (remediator_ledger_requested_bytes{ONE})", "{{resource}} requested"),
            (f"max by (resource) (remediator_ledger_allocatable_bytes{ONE})", "{{resource}} allocatable"),
        ],
        unit="bytes",
        dashed="/allocatable$/",
        text="Only where MemoryAllocatableEvict is switched on.",
        runbook="nodememoryallocatableevict",
    ),
]


DASHBOARD = dashboard(
    "node",
    "Node",
    [CLUSTERS, nodes_variable(several=False), namespaces_variable(ONE)],
    PANELS,
    annotations=episodes(ONE),
    page="/nodes/${node}",
)
