"""Whom the kubelet evicts, whom the kernel kills."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediator.drill.simulation.order import kubelet_order, oom_badness, oom_score_adjustment
from remediator.drill.simulation.quantities import pod_requests
from tests.drill.worlds import MI, Json


def pod(name: str, request: int = 0, priority: int | None = None, qos: str = "Burstable", **annotations: str) -> Json:
    """A pod as far as the orders look at it; `request` in MiB."""
    resources = {"requests": {"memory": f"{request}Mi"}} if request else {}
    spec: Json = {"containers": [{"name": "main", "resources": resources}]}
    if priority is not None:
        spec["priority"] = priority
    marks = {key.replace("_", ".", 1).replace("_", "/"): value for key, value in annotations.items()}
    return {"metadata": {"name": name, "annotations": marks}, "spec": spec, "status": {"qosClass": qos}}


def order(*pods: tuple[Json, int]) -> list[str]:
    """Names in the kubelet's order; usage in MiB."""
    usage = {each["metadata"]["name"]: used * MI for each, used in pods}
    ranked = kubelet_order([each for each, _ in pods], lambda each: usage[each["metadata"]["name"]])
    return [each["metadata"]["name"] for each in ranked]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        # Over its request goes before all that are not, whatever the priorities.
        ([(pod("within", 100, 0), 100), (pod("over", 100, 9000), 101)], ["over", "within"]),
        # Among those over, the lower priority goes first, however little it is over.
        ([(pod("prod", 100, 9000), 900), (pod("batch", 100, 100), 101)], ["batch", "prod"]),
        # Among equals, the one that is further over.
        ([(pod("little", 100), 150), (pod("much", 100), 300), (pod("none"), 120)], ["much", "none", "little"]),
        # Within their requests: priority, then whoever is closest to it.
        ([(pod("idle", 900, 5), 10), (pod("busy", 100, 5), 90), (pod("low", 500, 1), 1)], ["low", "busy", "idle"]),
        # No priority is priority 0.
        ([(pod("one", 1, 1), 50), (pod("unset", 1), 50), (pod("below", 1, -5), 50)], ["below", "unset", "one"]),
        # Nodes' critical pods and mirrors are left out.
        ([(pod("static", 1, kubernetes_io_config="x"), 9), (pod("dns", 1, 2_000_000_000), 9), (pod("a", 1), 2)], None),
    ],
)
def test_kubelet_order(pods: list[tuple[Json, int]], expected: list[str] | None) -> None:
    """Exceeds its request, then priority, then by how much: the kubelet's three keys in this order."""
    if expected is None:
        pods[0][0]["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
        expected = ["a"]
    assert order(*pods) == expected
    assert order(*reversed(pods)) == expected


PODS = st.lists(
    st.tuples(st.sampled_from((0, 100, 200)), st.sampled_from((None, 0, 1, 9000)), st.integers(0, 400)),
    max_size=12,
)


@given(PODS)
def test_kubelet_order_is_sorted_and_complete(figures: list[tuple[int, int | None, int]]) -> None:
    """Nobody is lost, and no pod stands before one that the three keys put first."""
    pods = [pod(f"pod-{i:02}", request, priority) for i, (request, priority, _) in enumerate(figures)]
    usage = {each["metadata"]["name"]: used * MI for each, (_, _, used) in zip(pods, figures, strict=True)}
    ranked = kubelet_order(pods, lambda each: usage[each["metadata"]["name"]])

    def keys(each: Json) -> tuple[bool, int, int]:
        over = usage[each["metadata"]["name"]] - pod_requests(each)
        return over <= 0, each["spec"].get("priority", 0), -over

    assert {each["metadata"]["name"] for each in ranked} == set(usage)
    assert all(keys(a) <= keys(b) for a, b in pairwise(ranked))


@pytest.mark.parametrize(
    ("given_pod", "adjustment"),
    [
        (pod("guaranteed", 1024, qos="Guaranteed"), -997),
        (pod("best", qos="BestEffort"), 1000),
        (pod("quarter", 4096), 750),
        (pod("tiny", 1), 999),
        (pod("whole", 16384), 3),
        (pod("critical", 16, 2_000_000_000), -997),
    ],
)
def test_oom_score_adjustment(given_pod: Json, adjustment: int) -> None:
    """The kubelet's oom_score_adj on a node of 16 GiB, by QoS class and request."""
    assert oom_score_adjustment(given_pod, 16384 * MI) == adjustment


def test_badness_prefers_those_who_asked_for_less() -> None:
    """Of two pods with the same memory, the kernel takes the one whose request was smaller."""
    capacity = 16384 * MI
    points: dict[str, Any] = {
        each["metadata"]["name"]: oom_badness(2048 * MI, oom_score_adjustment(each, capacity), capacity)
        for each in (pod("honest", 2048), pod("liar", 100))
    }
    assert points["liar"] > points["honest"]
