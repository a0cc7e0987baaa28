"""Whether the exporter and cAdvisor tell the same of a tree that stands still."""

import re
from collections.abc import Iterator

from exporter_peers import Program, fetch
from exporter_tree import Tree

_SAMPLE = re.compile(r"^(\w+)\{(.*)\} (\S+)", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_SAME = {
    "cgroup_memory_usage_bytes": "container_memory_usage_bytes",
    "cgroup_memory_working_set_bytes": "container_memory_working_set_bytes",
    "cgroup_memory_anon_bytes": "container_memory_rss",
    "cgroup_memory_file_bytes": "container_memory_cache",
    "cgroup_memory_swap_bytes": "container_memory_swap",
    "cgroup_memory_major_faults_total": "container_memory_failures_total",
}
Values = dict[tuple[str, str], float]
"""(our metric, cgroup path) -> value."""


def unequal(tree: Tree, own: Program, cadvisor: Program) -> tuple[int, int]:
    """(values that differ, values compared) over all pods and containers."""
    ours = dict(_ours(tree, "\n".join(fetch(url) for url in own.urls)))
    theirs = dict(_theirs(fetch(cadvisor.urls[0])))
    differ = [key for key, value in ours.items() if theirs.get(key) != value]
    return len(differ), len(ours)


def _samples(page: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for name, labels, value in _SAMPLE.findall(page):
        yield name, dict(_LABEL.findall(labels)), float(value)


def _ours(tree: Tree, page: str) -> Iterator[tuple[tuple[str, str], float]]:
    for name, labels, value in _samples(page):
        if name in _SAME and labels["level"] in ("pod", "container"):
            path = f"/{tree.top.name}/kubepods/burstable/pod{labels['uid']}"
            if container := labels.get("container_id"):
                path += f"/{container}"
            yield (name, path), value


def _theirs(page: str) -> Iterator[tuple[tuple[str, str], float]]:
    names = {theirs: ours for ours, theirs in _SAME.items()}
    for name, labels, value in _samples(page):
        if name not in names:
            continue
        kind, scope = labels.get("failure_type", "pgmajfault"), labels.get("scope", "hierarchy")
        if (kind, scope) == ("pgmajfault", "hierarchy"):
            yield (names[name], labels["id"]), value
