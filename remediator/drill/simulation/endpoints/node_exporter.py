"""A node's page of node-exporter: what its meminfo, vmstat and pressure collectors export by default."""

from remediator.drill.simulation.endpoints.exposition import Family, render
from remediator.drill.simulation.world import World

_HUGEPAGE_BYTES = 2 * 1024**2


def page(world: World, node: str) -> str:
    """The /metrics page; no label names the node, that is the scrape's business."""
    memory, counters = world.memory[node], world.memory[node].counters
    gauges = {
        "node_memory_MemTotal_bytes": memory.total_bytes,
        "node_memory_MemAvailable_bytes": memory.available_bytes,
        "node_memory_MemFree_bytes": memory.free_bytes,
        "node_memory_Cached_bytes": memory.cached_bytes,
        "node_memory_HugePages_Total": memory.hugepages_bytes // _HUGEPAGE_BYTES,
        "node_memory_Hugepagesize_bytes": _HUGEPAGE_BYTES,
        "node_memory_SwapTotal_bytes": 0,
        "node_memory_SwapFree_bytes": 0,
    }
    totals = {
        "node_vmstat_pgmajfault": counters.major_faults,
        "node_vmstat_pswpin": 0,
        "node_vmstat_pswpout": 0,
        "node_vmstat_oom_kill": counters.oom_kills,
        "node_pressure_memory_waiting_seconds_total": counters.stalled_some_seconds,
        "node_pressure_memory_stalled_seconds_total": counters.stalled_full_seconds,
    }
    families = [Family(name, "gauge", f"{name}.").add(value) for name, value in gauges.items()]
    # node_vmstat_* are untyped in the real one, whatever they count.
    families += [
        Family(name, "counter" if name.endswith("_total") else "untyped", f"{name}.").add(value)
        for name, value in totals.items()
    ]
    uname = Family("node_uname_info", "gauge", "Labeled system information.")
    uname.add(1, nodename=node, sysname="Linux", release="6.1.0-drill", machine="x86_64", domainname="(none)")
    return render([*families, uname])
