"""Which memory hierarchy a node has, and which cgroups in it are pods, containers and system slices.

v2 only when the root's `cgroup.controllers` holds `memory`: hybrid hosts mount a cgroup2 tree without it. The whole
tree is never walked: only down to the kubepods roots, and through runtime services for the driver mismatch.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from remediator.exporter.paths import CgroupPath, classify

_ROOT_DEPTH = 6
_BELOW_ROOT_DEPTH = 5


class WrongRootError(Exception):
    """The given root holds no memory hierarchy."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A memory hierarchy: its version (1 or 2) and the directory that is its root."""

    version: int
    root: str


def find_hierarchy(cgroup_root: Path) -> Hierarchy:
    """The hierarchy below a cgroup mount; raises WrongRootError that says what was looked for."""
    if not cgroup_root.is_dir():
        kind = "is a file" if cgroup_root.exists() else "does not exist"
        raise WrongRootError(f"{cgroup_root} {kind}; give the directory where cgroups are mounted")
    for candidate in (cgroup_root, cgroup_root / "unified"):
        if _has_memory_controller(candidate):
            return Hierarchy(2, str(candidate))
    for candidate in (cgroup_root / "memory", cgroup_root):
        if (candidate / "memory.limit_in_bytes").exists() or (candidate / "memory.usage_in_bytes").exists():
            return Hierarchy(1, str(candidate))
        if (candidate / "kubepods").is_dir() and (candidate / "kubepods" / "memory.usage_in_bytes").exists():
            return Hierarchy(1, str(candidate))
    if any((child / "memory.current").exists() for child in cgroup_root.iterdir() if child.is_dir()):
        return Hierarchy(2, str(cgroup_root))
    raise WrongRootError(
        f"{cgroup_root} holds no memory hierarchy: neither cgroup.controllers with memory (v2) nor memory/ (v1)"
    )


def _has_memory_controller(root: Path) -> bool:
    try:
        return "memory" in (root / "cgroup.controllers").read_text().split()
    except OSError:
        return False


Found = tuple[str, CgroupPath]
"""(directory, what it is)."""


def pod_directories(root: str) -> list[str]:
    """Directories whose children are pods (or may become some): kubepods roots and the QoS classes below them."""
    found = []
    for directory in _kubepods(root, _ROOT_DEPTH):
        if classify(_relative(directory, root)).level in ("root", "qos"):
            found += [directory, *_grouping(directory, root, _BELOW_ROOT_DEPTH)]
    return found


def _grouping(directory: str, root: str, depth: int) -> Iterator[str]:
    for child in _children(directory):
        if depth and classify(_relative(child.path, root)).level in ("root", "qos"):
            yield child.path
            yield from _grouping(child.path, root, depth - 1)


def find_pods(root: str) -> list[Found]:
    """Pods and containers, each once: of several paths to one pod that with the shortest root wins."""
    best: dict[tuple[str, str], Found] = {}
    for directory, found in _candidates(root):
        key = (found.uid, found.container_id)
        if key not in best or directory.count("/") < best[key][0].count("/"):
            best[key] = (directory, found)
    return list(best.values())


def _candidates(root: str) -> Iterator[Found]:
    for directory in _kubepods(root, _ROOT_DEPTH):
        found = classify(_relative(directory, root))
        if found.level == "container":
            yield directory, found
        elif found.level == "pod":
            yield from _pod(directory, root)
        else:
            yield from _below(directory, root, _BELOW_ROOT_DEPTH)


def _kubepods(directory: str, depth: int) -> Iterator[str]:
    """Roots of pods, and components that hold pod and container at once."""
    for child in _children(directory):
        if "kubepods" in child.name:
            yield child.path
        elif depth > 1:
            yield from _kubepods(child.path, depth - 1)


def _below(directory: str, root: str, depth: int) -> Iterator[Found]:
    for child in _children(directory):
        found = classify(_relative(child.path, root))
        if found.level == "pod":
            yield from _pod(child.path, root)
        elif found.level == "container":
            yield child.path, found
        elif found.level in ("root", "qos") and depth > 1:
            yield from _below(child.path, root, depth - 1)


def _pod(directory: str, root: str) -> Iterator[Found]:
    yield directory, classify(_relative(directory, root))
    for child in _children(directory):
        found = classify(_relative(child.path, root))
        if found.level == "container":
            yield child.path, found


def system_slices(root: str) -> list[str]:
    """Top-level slices and the runtimes' services: whoever may hold memory outside pods."""
    found = [child.path for child in _children(root)]
    services = [child.path for slice_ in found if slice_.endswith("system.slice") for child in _children(slice_)]
    names = ("containerd.service", "docker.service", "crio.service", "kubelet.service", "k3s.service")
    return [*found, *(path for path in services if path.endswith(names))]


def _children(directory: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(directory) as entries:
            return [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _relative(directory: str, root: str) -> str:
    return directory[len(root.rstrip("/")) :]
