"""Three ways to know which node a node-exporter series belongs to. Pure.

`node`: the series carry a `node` label. `instance`: `instance` is the node's name. `kube_pod_info`: `instance` is
IP:port and the node comes from the exporter's own pod, recorded once as a small map.
"""

import re
from typing import Any

NODE_JOINS = ("node", "instance", "kube_pod_info")
_NODE_EXPORTER = re.compile(r"max by \(node\) \((\w+)\((node_(?:memory|vmstat|pressure)_\w+)\[(\w+)\]\)\)")
MAP_RULE: dict[str, Any] = {
    "record": "node_exporter:pod_node:info",
    "expr": 'max by (namespace, pod, node) (kube_pod_info{created_by_kind="DaemonSet"})',
}


def joined(expression: str, node_join: str) -> str:
    """The expression with node-exporter's series joined to their node."""
    if node_join == "instance":
        return _NODE_EXPORTER.sub(
            r'max by (node) (label_replace(\1(\2[\3]), "node", "$1", "instance", "([^:]+)(?::\\d+)?"))', expression
        )
    if node_join == "kube_pod_info":
        return _NODE_EXPORTER.sub(
            r"max by (node) (\1(\2[\3]) * on (namespace, pod) group_left (node) node_exporter:pod_node:info)",
            expression,
        )
    return expression
