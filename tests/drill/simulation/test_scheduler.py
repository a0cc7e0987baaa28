"""Where new pods go."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediator.drill.simulation.scheduler import choose, obstacle, tolerates
from tests.drill.worlds import GI, Json, Small, workload


def node(name: str = "node-1", **spec: Any) -> Json:
    """A Node as far as the scheduler looks at it."""
    return {"metadata": {"name": name, "labels": {"disk": "ssd"}}, "spec": spec}


def pod(memory: str = "1Gi", **spec: Any) -> Json:
    """A pending pod."""
    requests = {"memory": memory, "cpu": "1"}
    return {"metadata": {"name": "new"}, "spec": {"containers": [{"resources": {"requests": requests}}], **spec}}


TAINT = {"key": "memory-pressure", "value": "critical", "effect": "NoSchedule"}
EXACT = {"key": "memory-pressure", "operator": "Equal", "value": "critical", "effect": "NoSchedule"}
ROOM = {"memory": 4 * GI, "pods": 110}


@pytest.mark.parametrize(
    ("given_pod", "given_node", "free", "said"),
    [
        (pod(), node(), ROOM, ""),
        (pod("4Gi"), node(), ROOM, ""),
        (pod("4097Mi"), node(), ROOM, "Insufficient memory"),
        (pod(), node(), {**ROOM, "pods": 0}, "Insufficient pods"),
        (pod(), node(unschedulable=True), ROOM, "node(s) were unschedulable"),
        (pod(), node(taints=[TAINT]), ROOM, "node(s) had untolerated taint {memory-pressure: critical}"),
        (pod(tolerations=[EXACT]), node(taints=[TAINT]), ROOM, ""),
        (pod(tolerations=[{**EXACT, "value": "mild"}]), node(taints=[TAINT]), ROOM, "untolerated"),
        (pod(tolerations=[{"operator": "Exists"}]), node(taints=[TAINT]), ROOM, ""),
        (pod(tolerations=[EXACT]), node(taints=[{**TAINT, "effect": "NoExecute"}]), ROOM, "untolerated"),
        (pod(), node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), ROOM, ""),
        (pod(nodeSelector={"disk": "ssd"}), node(), ROOM, ""),
        (pod(nodeSelector={"disk": "hdd"}), node(), ROOM, "didn't match Pod's node affinity/selector"),
    ],
)
def test_obstacles(given_pod: Json, given_node: Json, free: dict[str, int], said: str) -> None:
    """A pod is kept off a node by room, cordon, taint or selector, each in the scheduler's own words."""
    found = obstacle(given_pod, given_node, free)
    assert found == "" if said == "" else said in found


def test_extended_resources_are_counted() -> None:
    """A pod that asks for Koordinator's batch memory only goes where there is some."""
    asking = pod()
    asking["spec"]["containers"][0]["resources"]["requests"]["kubernetes.io/batch-memory"] = "2Gi"
    assert obstacle(asking, node(), ROOM) == "Insufficient kubernetes.io/batch-memory"
    assert obstacle(asking, node(), {**ROOM, "kubernetes.io/batch-memory": 2 * GI}) == ""


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), max_size=8), st.integers(0, 8))
def test_choice_is_the_emptiest_that_fits(nodes: list[tuple[int, bool]], asked: int) -> None:
    """The chosen node fits and none that fits has more room; nothing is chosen only when nothing fits."""
    given_nodes = [
        (node(f"node-{i}", unschedulable=closed), {"memory": free * GI, "pods": 1})
        for i, (free, closed) in enumerate(nodes)
    ]
    fitting = {f"node-{i}": free for i, (free, closed) in enumerate(nodes) if not closed and free >= asked}
    chosen = choose(pod(f"{asked}Gi"), given_nodes)
    assert (chosen is None) == (not fitting)
    if chosen is not None:
        assert fitting[chosen] == max(fitting.values())


def test_toleration_without_effect_covers_all_effects() -> None:
    """As in Kubernetes: an empty effect matches any, an empty key with Exists matches all taints."""
    assert tolerates([{"key": "memory-pressure", "operator": "Exists"}], TAINT)
    assert not tolerates([{"key": "other", "operator": "Exists"}], TAINT)


def test_pod_that_fits_nowhere_waits_and_says_why() -> None:
    """It stays Pending with PodScheduled=False and the reasons counted per node, and is bound once there is room."""
    small = Small(
        nodes=[{"name": "node-{n}", "count": 2, "memory": "16Gi"}],
        workloads=[workload(replicas=1, request="12Gi", usage="1Gi")],
    )
    first = small.pod()
    other = next(name for name in ("node-1", "node-2") if name != first["spec"]["nodeName"])
    small.change("Node", small.store.get("Node", None, other), unschedulable=True)
    small.change("Deployment", small.store.get("Deployment", "shop", "api"), replicas=2)
    small.pass_seconds(3)
    waiting = next(p for p in small.pods() if p["metadata"]["name"] != first["metadata"]["name"])
    (condition,) = waiting["status"]["conditions"]
    assert (waiting["status"]["phase"], condition["reason"]) == ("Pending", "Unschedulable")
    assert condition["message"] == "0/2 nodes are available: 1 Insufficient memory, 1 node(s) were unschedulable."
    small.change("Node", small.store.get("Node", None, other), unschedulable=False)
    small.pass_seconds(3)
    bound = small.store.get("Pod", "shop", waiting["metadata"]["name"])
    assert bound["spec"]["nodeName"] == other
    assert bound["status"]["phase"] == "Running"
