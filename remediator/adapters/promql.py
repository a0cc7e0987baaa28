"""The PromQL that Python asks: queries as text. Levels are never compared here; that is `rules/`' business. Pure.

Windows are those of production, divided by `speed` in drills, as the rules are.
"""

import json
from collections.abc import Mapping

SCRAPE_SECONDS = 5.0
RECORDED = (
    "node:memory_total:bytes",
    "node:memory_available:bytes",
    "node:memory_level",
    "node:memory_pressure:score",
    "node:memory_used:deriv5m",
    "node:memory_stall_full:ratio",
    "node:memory_threshold:ratio",
)
_SAMPLED = ("memory_exporter_node_memory_available_bytes", "node_memory_MemAvailable_bytes")
LEVELS = "node:memory_level"
NOW = "time()"


def quoted(value: str) -> str:
    """A label value as a PromQL string: JSON's escapes are PromQL's."""
    return json.dumps(value, ensure_ascii=False)


def window(seconds: float, speed: float) -> str:
    """A range of so many seconds at production pace."""
    return f"[{max(1, round(seconds * 1000 / speed))}ms]"


def memory_query(node: str) -> str:
    """Everything recorded of a node, its free memory, its system slices, and when its raw samples were taken."""
    name = quoted(node)
    recorded = f'{{__name__=~"{"|".join(RECORDED)}",node={name}}}'
    sampled = " or ".join(f"timestamp({metric}{{node={name}}})" for metric in _SAMPLED)
    parts = {
        # From one scrape, for recorded values are a little older than raw ones.
        "free_beyond_available": f"max by (node) (memory_exporter_node_memory_free_bytes{{node={name}}}"
        f" - on (node) memory_exporter_node_memory_available_bytes{{node={name}}})",
        "sampled_at": f"max by (node) ({sampled})",
        "slice": f'max by (path) (cgroup_memory_anon_bytes{{level="system",node={name}}})',
    }
    return " or ".join([recorded, *_named(parts)])


def pod_query(node: str, speed: float = 1.0) -> str:
    """All pods of one node in one query, each value labelled `what`.

    From our exporter by `uid`; from cAdvisor by namespace and pod, containers deduplicated before they are summed.
    `previous` is the set of pods one scrape ago: two answers must agree on it before anybody is ranked.
    """
    name = quoted(node)
    pods = f'level="pod",node={name}'
    bridge, growth, longest = (window(seconds, speed) for seconds in (20, 120, 600))
    offset = f"{round(SCRAPE_SECONDS * 2000 / speed)}ms"
    working_set = f"cgroup_memory_working_set_bytes{{{pods}}}"
    container = f'container!="",container!="POD",node={name}'
    once = "max by (namespace, pod, container)"
    parts = {
        "working_set": f"max by (uid) ({working_set})",
        "anon": f"max by (uid) (cgroup_memory_anon_bytes{{{pods}}})",
        "shmem": f"max by (uid) (cgroup_memory_shmem_bytes{{{pods}}})",
        "growth": f"max by (uid) (deriv({working_set[:-1]}}}{growth}))",
        "max": f"max by (uid) (max_over_time({working_set}{longest}))",
        "sampled_at": f"max by (uid) (timestamp({working_set}))",
        "previous": f"max by (uid) (last_over_time({working_set}{bridge} offset {offset}))",
        "cadvisor": f"sum by (namespace, pod) ({once} (container_memory_working_set_bytes{{{container}}}))",
        "cadvisor_at": f"min by (namespace, pod) (timestamp(container_memory_working_set_bytes{{{container}}}))",
    }
    return " or ".join(_named(parts))


def _named(parts: Mapping[str, str]) -> list[str]:
    """Each expression with its name in the label `what`, so that one answer can hold them all."""
    return [f'label_replace({text}, "what", "{what}", "", "")' for what, text in parts.items()]


def firing_query(alertnames: tuple[str, ...]) -> str:
    """Firing alerts of these names."""
    names = "|".join(alertnames)
    return f'ALERTS{{alertstate="firing",alertname=~{quoted(names)}}}'
