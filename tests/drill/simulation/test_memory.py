"""A node's memory: parts add up, always."""

from hypothesis import given
from hypothesis import strategies as st

from remediator.drill.scenario import Point
from remediator.drill.simulation.memory import NodeMemory, interpolate, pressure_at
from tests.drill.worlds import GI, MI, Small, workload


def test_interpolation_is_flat_outside_and_straight_between() -> None:
    """Memory follows the points in straight lines, and stays at the first and the last value outside of them."""
    points = [Point(at=60, bytes=100), Point(at=120, bytes=200), Point(at=120, bytes=50)]
    assert [interpolate(points, at) for at in (0, 60, 90, 119.4, 120, 500)] == [100, 100, 150, 199, 50, 50]


SIZES = st.integers(0, 20 * GI)


@given(SIZES, SIZES, SIZES, st.sampled_from((0, 4 * GI)), st.sampled_from((0, 2 * GI)))
def test_parts_are_used_or_swapped(pods: int, host: int, system: int, swap: int, hugepages: int) -> None:
    """Whatever the parts: used + swapped is their sum, used + available is the total, cache and free share the rest."""
    memory = NodeMemory(64 * GI, system, hugepages, 2 * GI, GI, swap, host, 0, pods, GI)
    assert memory.used_bytes + memory.swapped_bytes == pods + host + system + GI
    assert memory.used_bytes + memory.available_bytes == 64 * GI - hugepages or memory.excess_bytes
    assert memory.cached_bytes + memory.free_bytes == memory.available_bytes
    assert 0 <= memory.swapped_bytes <= swap
    assert 0.0 <= memory.cached_ratio <= 1.0


@given(st.floats(0, 1), st.floats(0, 1))
def test_pressure_only_grows_with_scarcity(one: float, other: float) -> None:
    """Less memory left never means fewer faults, less reclaim or fewer stalls."""
    scarce, plenty = pressure_at(min(one, other)), pressure_at(max(one, other))
    assert scarce.major_faults >= plenty.major_faults
    assert scarce.direct_reclaim_pages >= plenty.direct_reclaim_pages
    assert scarce.stall_some_ratio >= plenty.stall_some_ratio >= plenty.stall_full_ratio


PEAKS = st.lists(st.integers(0, 24), min_size=2, max_size=5)


@given(PEAKS, PEAKS, st.sampled_from(("0", "4Gi")))
def test_a_world_conserves_memory(script: list[int], pods: list[int], swap: str) -> None:
    """However hosts and pods grow, kernel and kubelet see to it that at every moment the parts fit the node."""

    def points(sizes: list[int]) -> list[dict[str, object]]:
        return [{"at": i * 20, "bytes": size * GI} for i, size in enumerate(sizes)]

    small = Small(
        nodes=[{"name": "node-1", "memory": "16Gi", "system": "1Gi", "kernel": "512Mi", "swap": swap}],
        workloads=[
            {
                "kind": "Deployment",
                "namespace": "shop",
                "name": "grower",
                "replicas": 2,
                "request": "1Gi",
                "usage_points": points(pods),
                "shmem": "256Mi",
                "page_cache": "1Gi",
            }
        ],
        host_processes=[{"node": "node-1", "points": points(script)}],
    )
    before = -1.0
    for _ in range(30):
        small.pass_seconds(4, step=2.0)
        memory = small.world.memory["node-1"]
        held = [small.world.pod_memory("node-1", pod) for pod in small.world.kubelets.on_node("node-1")]
        assert memory.used_bytes + memory.available_bytes == memory.usable_bytes
        assert memory.pods_bytes == sum(pod.held + pod.swap for pod in held)
        assert sum(pod.active_file + pod.inactive_file for pod in held) <= memory.cached_bytes
        assert memory.counters.major_faults > before
        before = memory.counters.major_faults


def test_swap_fills_before_memory_does() -> None:
    """With swap, the node's growth goes there first; pages written and read are counted."""
    small = Small(
        nodes=[{"name": "node-1", "memory": "16Gi", "system": "1Gi", "swap": "4Gi"}],
        workloads=[workload(usage="2Gi", request="1Gi")],
        host_processes=[
            {"node": "node-1", "points": [{"at": 0, "bytes": 0}, {"at": 60, "bytes": "13Gi"}, {"at": 90, "bytes": 0}]}
        ],
    )
    memory = small.pass_seconds(60).world.memory["node-1"]
    assert memory.available_bytes > GI
    assert memory.swapped_bytes > GI
    out = memory.counters.swapped_out_pages
    assert out >= memory.swapped_bytes / 4096
    (pod,) = small.world.kubelets.on_node("node-1")
    assert small.world.pod_memory("node-1", pod).swap > 100 * MI
    assert small.pass_seconds(30).world.memory["node-1"].swapped_bytes == 0
    assert memory.counters.swapped_in_pages > 0
