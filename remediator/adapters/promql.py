"""The PromQL that Python asks: queries as text. Levels are never compared here; that is `rules/`' business. Pure.

Windows are those of production, divided by `speed` in drills, as the rules are.
"""

import json
import re
from collections.abc import Mapping, Sequence

SCRAPE_SECONDS = 5.0
"""How often our exporter is scraped."""
CADVISOR_SCRAPE_SECONDS = 15.0
RECORDED = (
    "node:memory_total:bytes",
    "node:memory_available:bytes",
    "node:memory_level",
    "node:memory_pressure:score",
    "node:memory_used:deriv5m",
    "node:memory_stall_full:ratio",
    "node:memory_threshold:ratio",
)
LEVELS = "node:memory_level"
USED = "max by (node) (node:memory_used:ratio)"
LEVEL_STEP_SECONDS = 15.0
"""How finely the beginning of a level is looked for."""
_SCRAPED_POD = "namespace_pod:node_exporter_node:info"
"""Recorded by the rules where node-exporter's series name only the pod that was scraped."""
NOW = "time()"


def quoted(value: str) -> str:
    """A label value as a PromQL string: JSON's escapes are PromQL's."""
    return json.dumps(value, ensure_ascii=False)


def duration(seconds: float, speed: float) -> str:
    """So many seconds at production pace, as PromQL writes durations."""
    return f"{max(1, round(seconds * 1000 / speed))}ms"


def memory_query(node: str, speed: float = 1.0) -> str:
    """Everything recorded of a node, its free memory, its system slices, and when its raw samples were taken."""
    name = quoted(node)
    recorded = f'{{__name__=~"{"|".join(RECORDED)}",node={name}}}'
    parts = {
        # From one scrape, for recorded values are a little older than raw ones.
        "free_beyond_available": f"max by (node) (memory_exporter_node_memory_free_bytes{{node={name}}})"
        f" - on (node) max by (node) (memory_exporter_node_memory_available_bytes{{node={name}}})",
        "sampled_at": _sampled_at(node, speed),
        "slice": f'max by (path) (cgroup_memory_anon_bytes{{level="system",node={name}}})',
    }
    return " or ".join([recorded, *_named(parts)])


def _sampled_at(node: str, speed: float) -> str:
    """Time of the newest raw sample within the bridge of the rules: our exporter's, else node-exporter's.

    node-exporter is found as the rules find it: by a `node` label, by the node's name in `instance`, or by the pod
    that was scraped.
    """
    name = quoted(node)
    # Within 20 s, as the rules bridge: an exporter that has just missed a scrape does not make its node blind.
    window = f"[{duration(20, speed)}:{duration(SCRAPE_SECONDS / 2, speed)}]"
    metric = "node_memory_MemAvailable_bytes"
    instance = quoted(f"{re.escape(node)}(:[0-9]+)?")
    ours = f"timestamp(memory_exporter_node_memory_available_bytes{{node={name}}})"
    theirs = (
        f"timestamp({metric}{{node={name}}})",
        f'timestamp({metric}{{node="",instance=~{instance}}})',
        f'(timestamp({metric}{{node=""}}) and on (namespace, pod) {_SCRAPED_POD}{{node={name}}})',
    )
    return " or ".join(f"max(max_over_time(({expression}){window}))" for expression in (ours, " or ".join(theirs)))


def pod_query(
    node: str,
    speed: float = 1.0,
    *,
    scrape_seconds: float = SCRAPE_SECONDS,
    cadvisor_scrape_seconds: float = CADVISOR_SCRAPE_SECONDS,
) -> str:
    """All pods of one node in one query, each value labelled `what`.

    From our exporter by `uid`; from cAdvisor one row per container cgroup (`id` holds the pod's UID), for only the
    newest of several may be counted; `info` gives the UIDs where the ids were dropped. The `previous` parts are the
    sets one scrape ago: two scrapes must agree on the pods before anybody is ranked.
    """
    name = quoted(node)
    pods = f'level="pod",node={name}'
    working_set = f"cgroup_memory_working_set_bytes{{{pods}}}"
    growth, longest = duration(max(120, 4 * scrape_seconds), speed), duration(600, speed)
    container = f'container_memory_working_set_bytes{{container!="",container!="POD",node={name}}}'
    by_cgroup = "max by (namespace, pod, container, id)"
    parts = {
        "working_set": f"max by (uid) ({working_set})",
        "anon": f"max by (uid) (cgroup_memory_anon_bytes{{{pods}}})",
        "shmem": f"max by (uid) (cgroup_memory_shmem_bytes{{{pods}}})",
        "growth": f"max by (uid) (deriv({working_set}[{growth}]))",
        "max": f"max by (uid) (max_over_time({working_set}[{longest}]))",
        "sampled_at": f"max by (uid) (timestamp({working_set}))",
        "previous": f"max by (uid) ({working_set} offset {duration(scrape_seconds, speed)})",
        "exported": f'max by (node) (memory_exporter_cgroups{{level="pod",node={name}}})',
        "cadvisor": f"{by_cgroup} ({container})",
        "cadvisor_at": f"{by_cgroup} (timestamp({container}))",
        "cadvisor_previous": f"{by_cgroup} ({container} offset {duration(cadvisor_scrape_seconds, speed)})",
        "info": names_query(node),
    }
    return " or ".join(_named(parts))


def below_query(node: str, level: int, window_seconds: float, speed: float = 1.0) -> str:
    """When the node was last below a level; nothing when it was not within the window."""
    window = f"[{duration(window_seconds, speed)}:{duration(LEVEL_STEP_SECONDS, speed)}]"
    return f"max(max_over_time(timestamp({LEVELS}{{node={quoted(node)}}} < {level}){window}))"


def names_query(node: str) -> str:
    """Namespace, name and UID of the node's pods, as kube-state-metrics knew them."""
    return f"max by (namespace, pod, uid) (kube_pod_info{{node={quoted(node)}}})"


def _named(parts: Mapping[str, str]) -> list[str]:
    """Each expression with its name in the label `what`, so that one answer can hold them all."""
    return [f'label_replace({text}, "what", "{what}", "", "")' for what, text in parts.items()]


def levels_at_query(node: str, times: Sequence[float], speed: float = 1.0) -> str:
    """A node's highest level in the minute before each moment, which is named in the label `at`."""
    window = f"{LEVELS}{{node={quoted(node)}}}[{duration(60, speed)}]"
    at = {repr(time): f"max by (node) (max_over_time({window} @ {time:.3f}))" for time in times}
    return " or ".join(f'label_replace({text}, "at", "{time}", "", "")' for time, text in at.items())


def firing_query(alertnames: Sequence[str]) -> str:
    """Firing alerts of these names."""
    names = "|".join(re.escape(name) for name in alertnames)
    return f'ALERTS{{alertstate="firing",alertname=~{quoted(names)}}}'
