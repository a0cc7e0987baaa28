"""A node's page of the kubelet's cAdvisor, with all its duplicates: root, slices, pods, pause, containers.

As the real one it looks at its cgroups now and then, and says with each sample when that was: a scrape gets what
was seen last, and series that end are not marked as ended.
"""

from collections.abc import Iterator
from datetime import datetime

from remediator.drill.apiserver.resources import Json
from remediator.drill.simulation.endpoints.exposition import Family, label_text, render
from remediator.drill.simulation.memory import PodMemory
from remediator.drill.simulation.world import World

_GAUGES = {
    "container_memory_working_set_bytes": "Current working set in bytes.",
    "container_memory_rss": "Size of RSS in bytes.",
    "container_memory_usage_bytes": "Current memory usage in bytes, including all memory.",
    "container_memory_cache": "Number of bytes of page cache memory.",
    "container_memory_swap": "Container swap usage in bytes.",
}
HOUSEKEEPING_SECONDS = 10.0
_PAUSE = PodMemory(anon=500 * 1024, shmem=0, swap=0, active_file=0, inactive_file=0)


class Housekeeping:
    """What the cAdvisor of each node has seen last."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, str]] = {}

    def page(self, world: World, node: str, moment: datetime) -> str:
        """The page at a moment of the clock; looked at anew every 10 s of the story."""
        at, text = self._seen.get(node, (float("-inf"), ""))
        if world.now - at >= HOUSEKEEPING_SECONDS or world.now < at:
            text = render(families(world, node), at_ms=int(moment.timestamp() * 1000))
            # Before the story begins nothing ages.
            self._seen[node] = (world.now if world.now else float("-inf"), text)
        machine = Family("machine_memory_bytes", "gauge", "Amount of memory installed on the machine.")
        return text + render([machine.add(world.memory[node].total_bytes)])


def families(world: World, node: str) -> list[Family]:
    """All metrics of cgroups."""
    gauges = [Family(name, "gauge", text) for name, text in _GAUGES.items()]
    for held, labels in _cgroups(world, node):
        values = (held.working_set, held.anon, held.usage, held.file, held.swap)
        for family, value in zip(gauges, values, strict=True):
            family.put(labels, value)
    kills = Family("container_oom_events_total", "counter", "Count of out of memory events observed for the container")
    for pod in world.kubelets.on_node(node):
        kills.put(_container_labels(pod), world.kubelets.lives[pod["metadata"]["uid"]].restarts)
    return [*gauges, kills]


def _cgroups(world: World, node: str) -> Iterator[tuple[PodMemory, str]]:
    """(memory, label text) of every cgroup that cAdvisor would list."""
    memory, pods = world.memory[node], world.kubelets.on_node(node)
    held = {pod["metadata"]["uid"]: world.pod_memory(node, pod) for pod in pods}
    together = _sum(list(held.values()))
    cache = max(0, memory.cached_bytes - together.active_file - together.inactive_file)
    outside = memory.used_bytes - together.held
    yield PodMemory(outside + together.anon, together.shmem, 0, together.active_file, cache), _labels("/")
    system = memory.system_bytes + memory.host_system_bytes
    yield PodMemory(system, 0, 0, 0, cache), _labels("/system.slice")
    yield PodMemory(memory.host_user_bytes, 0, 0, 0, 0), _labels("/user.slice")
    yield together, _labels("/kubepods.slice")
    for pod in pods:
        root = _pod_slice(pod)
        where = {"namespace": pod["metadata"]["namespace"], "pod": pod["metadata"]["name"]}
        own = held[pod["metadata"]["uid"]]
        yield _sum([own, _PAUSE]), _labels(root, **where)
        sandbox = f"{root}/cri-containerd-{pod['metadata']['uid'].replace('-', '') * 2}.scope"
        yield _PAUSE, _labels(sandbox, image="registry.k8s.io/pause:3.9", name=sandbox[-70:-6], **where)
        yield own, _container_labels(pod)


def _sum(parts: list[PodMemory]) -> PodMemory:
    return PodMemory(
        anon=sum(part.anon for part in parts),
        shmem=sum(part.shmem for part in parts),
        swap=sum(part.swap for part in parts),
        active_file=sum(part.active_file for part in parts),
        inactive_file=sum(part.inactive_file for part in parts),
    )


def _container_labels(pod: Json) -> str:
    container = pod["spec"]["containers"][0]
    found = (pod["status"].get("containerStatuses") or [{}])[0].get("containerID", "containerd://starting")
    name = found.removeprefix("containerd://")
    return _labels(
        f"{_pod_slice(pod)}/cri-containerd-{name}.scope",
        container=container["name"],
        image=container["image"],
        name=name,
        namespace=pod["metadata"]["namespace"],
        pod=pod["metadata"]["name"],
    )


def _pod_slice(pod: Json) -> str:
    qos = pod["status"].get("qosClass", "Burstable").lower()
    uid = pod["metadata"]["uid"].replace("-", "_")
    if qos == "guaranteed":
        return f"/kubepods.slice/kubepods-pod{uid}.slice"
    return f"/kubepods.slice/kubepods-{qos}.slice/kubepods-{qos}-pod{uid}.slice"


def _labels(cgroup: str, **given: str) -> str:
    order = ("container", "id", "image", "name", "namespace", "pod")
    return label_text(**{name: cgroup if name == "id" else given.get(name, "") for name in order})
