"""Which memory hierarchy a node has, and which cgroups in it are pods, containers and system slices.

v2 only when the root's `cgroup.controllers` holds `memory`: hybrid hosts mount a cgroup2 tree without it. The whole
tree is never walked: only down to the kubepods roots, and through runtime services for the driver mismatch.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from remediator.exporter.paths import CgroupPath, classify

_ROOT_DEPTH = 6
_BELOW_ROOT_DEPTH = 5
_RUNTIME_SERVICES = (
    "containerd.service",
    "docker.service",
    "crio.service",
    "kubelet.service",
    "k3s.service",
    "k3s-agent.service",
    "rke2-server.service",
    "rke2-agent.service",
)
_known = lru_cache(maxsize=8192)(classify)


class WrongRootError(Exception):
    """The given root holds no memory hierarchy."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A memory hierarchy: its version (1 or 2) and the directory that is its root."""

    version: int
    root: str

    @property
    def whole(self) -> bool:
        """False when the kernel shows that this root is one cgroup (a container's own, say) and not the host's."""
        root = Path(self.root)
        if self.version == 2:
            return not (root / "memory.current").exists()
        # These two are in a v1 root only; captured trees hold neither them nor cgroup.procs.
        return any((root / name).exists() for name in ("cgroup.sane_behavior", "release_agent")) or not (
            (root / "cgroup.procs").exists()
        )


def find_hierarchy(cgroup_root: Path) -> Hierarchy:
    """The hierarchy below a cgroup mount; raises WrongRootError that says what was looked for."""
    try:
        if not cgroup_root.is_dir():
            kind = "is a file" if cgroup_root.exists() else "does not exist"
            raise WrongRootError(f"{cgroup_root} {kind}; give the directory where cgroups are mounted")
        found = _hierarchy(cgroup_root)
    except OSError as error:
        raise WrongRootError(f"{cgroup_root} cannot be read ({error.strerror}); mount it readable") from error
    if found is None:
        raise WrongRootError(
            f"{cgroup_root} holds no memory hierarchy: neither cgroup.controllers with memory (v2) nor memory/ (v1); "
            "give the directory where the host's cgroups are mounted"
        )
    return found


def _hierarchy(cgroup_root: Path) -> Hierarchy | None:
    for candidate in (cgroup_root, cgroup_root / "unified"):
        if _has_memory_controller(candidate):
            return Hierarchy(2, str(candidate))
    v1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "kubepods/memory.usage_in_bytes")
    for candidate in (cgroup_root / "memory", cgroup_root):
        if any((candidate / name).exists() for name in v1):
            return Hierarchy(1, str(candidate))
    if any((child / "memory.current").exists() for child in cgroup_root.iterdir() if child.is_dir()):
        return Hierarchy(2, str(cgroup_root))
    return None


def _has_memory_controller(root: Path) -> bool:
    try:
        return "memory" in (root / "cgroup.controllers").read_text().split()
    except OSError:
        return False


Found = tuple[str, CgroupPath]
"""(directory, what it is)."""
Entering = Callable[[str], None]
"""Told of a directory before it is listed, if pods or containers may come and go in it."""


def pod_roots(root: str) -> list[str]:
    """Outermost kubepods directories, and components that hold pod and container at once."""
    return list(_kubepods(root, _ROOT_DEPTH))


def _kubepods(directory: str, depth: int) -> Iterator[str]:
    for child in _children(directory):
        if "kubepods" in child.name:
            yield child.path
        elif depth > 1:
            yield from _kubepods(child.path, depth - 1)


def find_pods(root: str, roots: Iterable[str], entering: Entering) -> list[Found]:
    """Pods and containers, each once: of several paths to one pod that with the shortest root wins."""
    best: dict[tuple[str, str], Found] = {}
    for top in roots:
        for directory, found in _from_root(top, root, entering):
            key = (found.uid, found.container_id)
            if key not in best or directory.count("/") < best[key][0].count("/"):
                best[key] = (directory, found)
    return list(best.values())


def _from_root(top: str, root: str, entering: Entering) -> Iterator[Found]:
    found = _known(_relative(top, root))
    if found.level == "container":
        if os.path.isdir(top):  # noqa: PTH112 - the hot path
            yield top, found
    elif found.level == "pod":
        yield from _pod(top, found, root, entering)
    else:
        yield from _below(top, root, _BELOW_ROOT_DEPTH, entering)


def _below(directory: str, root: str, depth: int, entering: Entering) -> Iterator[Found]:
    entering(directory)
    for child in _children(directory):
        found = _known(_relative(child.path, root))
        if found.level == "pod":
            yield from _pod(child.path, found, root, entering)
        elif found.level == "container":
            yield child.path, found
        elif found.level in ("root", "qos") and depth > 1:
            yield from _below(child.path, root, depth - 1, entering)


def _pod(directory: str, pod: CgroupPath, root: str, entering: Entering) -> Iterator[Found]:
    entering(directory)
    yield directory, pod
    for child in _children(directory):
        found = _known(_relative(child.path, root))
        if found.level == "container":
            yield child.path, found


def system_slices(root: str) -> list[str]:
    """Top-level slices and the runtimes' services: whoever may hold memory outside pods."""
    found = [child.path for child in _children(root)]
    services = [child.path for slice_ in found if slice_.endswith("/system.slice") for child in _children(slice_)]
    return [*found, *(path for path in services if path.endswith(_RUNTIME_SERVICES))]


def _children(directory: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(directory) as entries:
            return [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _relative(directory: str, root: str) -> str:
    return directory[len(root.rstrip("/")) :]
