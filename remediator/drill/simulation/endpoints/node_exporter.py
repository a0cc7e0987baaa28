"""A node's page of node-exporter: what its meminfo, vmstat and pressure collectors export by default."""

from remediator.drill.simulation.endpoints.exposition import Family
from remediator.drill.simulation.memory import NodeMemory
from remediator.drill.simulation.world import World

_HUGEPAGE_BYTES = 2 * 1024**2


def families(world: World, node: str) -> list[Family]:
    """All metrics of the page; no label names the node but uname's, that is the scrape's business."""
    memory, counters = world.memory[node], world.memory[node].counters
    found = [Family(name, "gauge", _told(name)).add(value) for name, value in _meminfo(world, node, memory).items()]
    totals = {
        "node_vmstat_pgmajfault": int(counters.major_faults),
        "node_vmstat_pswpin": int(counters.swapped_in_pages),
        "node_vmstat_pswpout": int(counters.swapped_out_pages),
        "node_vmstat_oom_kill": counters.oom_kills,
        "node_pressure_memory_waiting_seconds_total": counters.stalled_some_seconds,
        "node_pressure_memory_stalled_seconds_total": counters.stalled_full_seconds,
    }
    # node_vmstat_* are untyped in the real one, whatever they count.
    found += [
        Family(name, "counter" if name.endswith("_total") else "untyped", _told(name)).add(value)
        for name, value in totals.items()
    ]
    uname = Family("node_uname_info", "gauge", "Labeled system information as provided by the uname system call.")
    uname.add(1, nodename=node, sysname="Linux", release="6.1.0-drill", machine="x86_64", domainname="(none)")
    return [*found, uname]


def _meminfo(world: World, node: str, memory: NodeMemory) -> dict[str, int]:
    shmem = sum(world.pod_memory(node, pod).shmem for pod in world.kubelets.on_node(node))
    return {
        "node_memory_MemTotal_bytes": memory.total_bytes,
        "node_memory_MemAvailable_bytes": memory.available_bytes,
        "node_memory_MemFree_bytes": memory.free_bytes,
        "node_memory_Buffers_bytes": 0,
        "node_memory_Cached_bytes": memory.cached_bytes + shmem,
        "node_memory_Shmem_bytes": shmem,
        "node_memory_AnonPages_bytes": memory.used_bytes - memory.kernel_bytes - shmem,
        "node_memory_SUnreclaim_bytes": memory.kernel_bytes,
        "node_memory_HugePages_Total": memory.hugepages_bytes // _HUGEPAGE_BYTES,
        "node_memory_HugePages_Free": memory.hugepages_bytes // _HUGEPAGE_BYTES,
        "node_memory_Hugepagesize_bytes": _HUGEPAGE_BYTES,
        "node_memory_SwapTotal_bytes": memory.swap_bytes,
        "node_memory_SwapFree_bytes": memory.swap_bytes - memory.swapped_bytes,
    }


def _told(name: str) -> str:
    """HELP as node-exporter derives it from the field."""
    if name.startswith("node_memory_"):
        return f"Memory information field {name.removeprefix('node_memory_').removesuffix('_bytes')}."
    if name.startswith("node_vmstat_"):
        return f"/proc/vmstat information field {name.removeprefix('node_vmstat_')}."
    return "Total time in seconds that processes waited for or were stalled on memory."
