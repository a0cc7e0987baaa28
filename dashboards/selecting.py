"""Variables of the dashboards, and the matchers that follow them."""

from dashboards.panels import Json, moments, variable

CLUSTER = 'cluster=~"$cluster"'
ALL = '{cluster=~"$cluster",node=~"$node"}'
ONE = '{cluster=~"$cluster",node="$node"}'
OURS = "{" + CLUSTER + "}"
BY_NODE = "max by (cluster, node)"
CLUSTERS = variable("cluster", "label_values(node:memory_level, cluster)", several=True)


def nodes_variable(*, several: bool) -> Json:
    """Nodes that have a memory figure."""
    return variable("node", f"label_values(node:memory_total:bytes{OURS}, node)", several=several)


def namespaces_variable(where: str) -> Json:
    """Namespaces of these pods."""
    return variable("namespace", f"label_values(kube_pod_info{where}, namespace)", several=True)


def increase(metric: str, by: str, where: str = "") -> str:
    """How often something happened in a step of the graph."""
    matchers = ",".join(part for part in (CLUSTER, where) if part)
    return f"sum by ({by}) (increase({metric}{{{matchers}}}[$__rate_interval]))"


def episodes(where: str) -> list[Json]:
    """Annotations: when the remediator began to work on a node, and when it cordoned one."""
    return [
        moments("Episode", f"{BY_NODE} (remediator_episode_started_timestamp_seconds{where}) > 0", "red"),
        moments("Cordoned", f"{BY_NODE} (remediator_cordoned_timestamp_seconds{where}) > 0", "orange"),
    ]
