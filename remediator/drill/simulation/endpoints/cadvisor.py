"""A node's page of the kubelet's cAdvisor, with all its duplicates: root, slices, pods, pause, containers."""

from collections.abc import Iterator
from typing import Any

from remediator.drill.simulation.endpoints.exposition import Family, render
from remediator.drill.simulation.world import World

_NAMES = {
    "container_memory_working_set_bytes": "Current working set in bytes.",
    "container_memory_rss": "Size of RSS in bytes.",
    "container_memory_usage_bytes": "Current memory usage in bytes.",
    "container_memory_cache": "Number of bytes of page cache memory.",
}
_PAUSE_BYTES = 700 * 1024


def page(world: World, node: str) -> str:
    """The /metrics/cadvisor page."""
    families = {name: Family(name, "gauge", text) for name, text in _NAMES.items()}
    for used, labels in _cgroups(world, node):
        cache = used // 50
        values = (used, used, used + cache, cache)
        for family, value in zip(families.values(), values, strict=True):
            family.add(value, **labels)
    return render(families.values())


def _cgroups(world: World, node: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(bytes, labels) of every cgroup that cAdvisor would list."""
    memory = world.memory[node]
    yield memory.used_bytes, _labels("/")
    yield memory.system_bytes + memory.host_bytes, _labels("/system.slice")
    yield memory.pods_bytes, _labels("/kubepods.slice")
    for pod in world.kubelets.on_node(node):
        used = world.kubelets.usage(pod)
        root = _pod_slice(pod)
        where = {"namespace": pod["metadata"]["namespace"], "pod": pod["metadata"]["name"]}
        yield used + _PAUSE_BYTES, _labels(root, **where)
        yield _PAUSE_BYTES, _labels(f"{root}/cri-containerd-pause.scope", image="registry.k8s.io/pause:3.9", **where)
        container = pod["spec"]["containers"][0]
        found = (pod["status"].get("containerStatuses") or [{}])[0].get("containerID", "containerd://starting")
        scope = f"{root}/cri-containerd-{found.removeprefix('containerd://')}.scope"
        yield used, _labels(scope, container=container["name"], image=container["image"], name=found[-64:], **where)


def _pod_slice(pod: dict[str, Any]) -> str:
    qos = pod["status"].get("qosClass", "Burstable").lower()
    uid = pod["metadata"]["uid"].replace("-", "_")
    if qos == "guaranteed":
        return f"/kubepods.slice/kubepods-pod{uid}.slice"
    return f"/kubepods.slice/kubepods-{qos}.slice/kubepods-{qos}-pod{uid}.slice"


def _labels(cgroup: str, **given: str) -> dict[str, str]:
    order = ("container", "id", "image", "name", "namespace", "pod")
    return {name: cgroup if name == "id" else given.get(name, "") for name in order}
