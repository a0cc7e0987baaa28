"""How a node is found from series that other exporters made: the three variants of one join.

Our own series carry `node` and are left alone. node-exporter's carry it in some stacks (`node`), have the node's name
as `instance` in others, and elsewhere only the pod that was scraped (`kube_pod_info`). The kubelet's carry `node`
wherever it is scraped by pod or node discovery; only the `instance` variant reads it from there.
"""

from typing import Any

from remediator.rulefiles.options import RuleOptions
from remediator.rulefiles.promql import wrap_calls

_INSTANCE = 'label_replace({call}, "node", "$1", "instance", "([^:]+)(:[0-9]+)?")'
_POD = "({call} * on (namespace, pod) group_left (node) namespace_pod:node_exporter_node:info)"


def joined(rule: dict[str, Any], options: RuleOptions) -> dict[str, Any]:
    """The rule with every call on a node-exporter series joined to its node."""
    if options.node_join == "node":
        return rule

    def wrap(_function: str, metric: str, call: str) -> str | None:
        if options.node_join == "instance" and metric.startswith(("node_", "kubelet_")) and ":" not in metric:
            return _INSTANCE.format(call=call)
        if options.node_join == "kube_pod_info" and metric.startswith("node_") and ":" not in metric:
            return _POD.format(call=call)
        return None

    return rule | {"expr": wrap_calls(rule["expr"], wrap)}


def pod_node_map() -> dict[str, Any]:
    """The pod-to-node map, recorded once: pods of DaemonSets only, for a join with all pods costs 190-290 ms a rule.

    One node per pod, even while two copies of kube-state-metrics disagree: a second one would fail every rule.
    """
    return {
        "record": "namespace_pod:node_exporter_node:info",
        "expr": (
            "topk by (namespace, pod) (1,\n"
            "  max by (namespace, pod, node) (\n"
            '    last_over_time(kube_pod_info{created_by_kind="DaemonSet",node!="",pod=~".*node-exporter.*"}[2m])\n'
            "  )\n"
            ")\n"
        ),
    }
