"""The live node with real cgroups and processes, where the machine lets us make some."""

import os
import time
from pathlib import Path

import pytest

from remediator.drill.apiserver.store import Store
from remediator.drill.live.cast import LIVE_NODE, LiveWorkload
from remediator.drill.live.cgroup_node import CgroupNode
from remediator.drill.live.command import conclude
from remediator.drill.live.kubelet import LiveKubelet
from remediator.drill.live.server import populate

ROOT = Path("/sys/fs/cgroup/memory")
real = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="real cgroups need root"),
    pytest.mark.skipif(not os.access(ROOT, os.W_OK), reason="no writable v1 memory hierarchy is mounted"),
]
MIB = 1024**2


@pytest.fixture
def node():
    """A node of 256 MiB, removed afterwards."""
    found = CgroupNode(256 * MIB)
    yield found
    found.close()
    assert not found.directory.exists()


def settle(kubelet: LiveKubelet, until) -> None:
    """Let the kubelet and its real processes work until something is so."""
    began = time.monotonic()
    while time.monotonic() < began + 30:
        kubelet.tick(time.monotonic() - began)
        if until():
            return
        time.sleep(0.02)
    pytest.fail("it did not come to that within 30 s")


def live(node: CgroupNode, **cast: LiveWorkload) -> tuple[Store, LiveKubelet]:
    """A store with the pods of the cast on the live node."""
    store = Store()
    for workload in cast.values():
        pod = {
            "metadata": {"name": workload.name, "namespace": workload.namespace, "labels": {"app": workload.name}},
            "spec": {"nodeName": LIVE_NODE, "containers": [{"name": "main"}]},
        }
        store.create("Pod", pod)
        created = store.get("Pod", workload.namespace, workload.name)
        store.update("Pod", {**created, "status": {"phase": "Pending"}}, subresource="status")
    return store, LiveKubelet(store, node, {workload.name: workload for workload in cast.values()})


class TestWithRealCgroups:
    """Needs root."""

    pytestmark = real

    def test_an_evicted_pod_gives_its_memory_back(self, node):
        """A pod holds real memory; marked deleted, its process ends and the node's usage falls."""
        store, kubelet = live(node, batch=LiveWorkload("a", "batch", 1, 64, 96))
        settle(kubelet, lambda: node.used_bytes() > 90 * MIB)
        store.mark_deleted("Pod", "a", "batch", 5)
        settle(kubelet, lambda: store.find("Pod", "a", "batch") is None)
        assert node.used_bytes() < 60 * MIB
        assert not kubelet.oom_kills
        kubelet.close()

    def test_the_kernel_kills_at_the_nodes_limit_and_it_is_seen(self, node):
        """A leak past the node's limit ends in a real OOM kill, which is told with the workload's name."""
        _, kubelet = live(node, leak=LiveWorkload("a", "leak", 1, 64, 200, leak_mib_per_second=400, most_mib=900))
        settle(kubelet, lambda: bool(kubelet.oom_kills))
        assert kubelet.oom_kills[0]["workload"] == "leak"
        kubelet.close()


def test_the_cast_starts_on_the_live_node():
    """All pods of the drill are bound to the live node; the spare one is empty."""
    store = Store()
    populate(store)
    assert len(store.pods_on(LIVE_NODE)) == len(store.list("Pod")) == 4


@pytest.mark.parametrize(
    ("without", "watched", "passed"),
    [
        ({"oom_kills": [{}], "evicted": []}, {"oom_kills": [], "evicted": [{"namespace": "analytics"}]}, True),
        ({"oom_kills": [], "evicted": []}, {"oom_kills": [], "evicted": [{"namespace": "analytics"}]}, False),
        ({"oom_kills": [{}], "evicted": []}, {"oom_kills": [{}], "evicted": []}, False),
        ({"oom_kills": [{}], "evicted": []}, {"oom_kills": [], "evicted": [{"namespace": "online"}]}, False),
    ],
)
def test_the_verdict_needs_a_kill_without_and_none_with(without, watched, passed):
    """Passed: left alone the kernel kills, watched it does not, and only offline pods went."""
    assert conclude(without, watched)["passed"] is passed
