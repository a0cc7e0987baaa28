"""Which cgroups there are, kept from scrape to scrape.

Listing a thousand directories costs as much as reading their files, so it is done when something says that members
have changed: inotify (without it the directories' link counts, where the kernel counts children), or a read that found
a cgroup gone. New roots of pods are looked for every half minute, and members are listed every five minutes, or as
often as that where there is no inotify. Whatever vanished is closed at once: a kept descriptor pins a dying cgroup.
"""

import os
import time
from collections.abc import Callable

from remediator.exporter.cgroups import Cgroup, Layout
from remediator.exporter.exposition import label_text
from remediator.exporter.files import Descriptors
from remediator.exporter.hierarchy import Hierarchy, find_pods, pod_roots, system_slices
from remediator.exporter.paths import CgroupPath
from remediator.exporter.watching import Watch

RELIST_SECONDS, WATCHED_RELIST_SECONDS = 30.0, 300.0
_NO_LINK_COUNT = 1
"""Some file systems keep no link count of directories: there the members are listed at each scrape."""


class Member:
    """One cgroup: what it is, its files, and the text of its labels."""

    __slots__ = ("apart", "cgroup", "directory", "found", "labels", "parts")

    def __init__(self, found: CgroupPath, directory: str, cgroup: Cgroup, labels: str) -> None:
        self.found, self.directory, self.cgroup, self.labels = found, directory, cgroup, labels
        self.apart: bool | None = None
        """Whether its own cgroup does not hold its containers' memory; None while not looked up."""
        self.parts: list[Member] = []
        """Containers whose sum stands for this pod; empty where its own cgroup holds them."""


class Membership:
    """Members by level."""

    def __init__(
        self,
        hierarchy: Hierarchy,
        names: Layout,
        descriptors: Descriptors,
        most_bytes: int,
        node_name: str,
        clock: Callable[[], float] = time.monotonic,
        watch: Watch | None = None,
    ) -> None:
        self._hierarchy, self._names, self._descriptors = hierarchy, names, descriptors
        self._most_bytes, self._node_name, self._clock = most_bytes, node_name, clock
        self.watch = watch or Watch()
        self._watched = self.watch.works
        self._members: dict[str, Member] = {}
        self._links: dict[str, int] = {}
        self._roots: list[str] = []
        self._above: set[str] = set()
        self._roots_at = self._listed_at = float("-inf")
        self.pods: list[Member] = []
        self.containers: list[Member] = []
        self.slices: list[Member] = []

    def refresh(self) -> None:
        """List again if anything may have changed."""
        now = self._clock()
        changed = self.watch.changed() if self.watch.works else self._links_changed()
        if self._watched and not self.watch.works:
            self._watched, self._roots_at, self._listed_at = False, float("-inf"), float("-inf")
        if now - self._roots_at >= RELIST_SECONDS or not changed.isdisjoint(self._above):
            before, self._roots_at = self._roots, now
            self._find_roots()
            if self._roots != before:
                self._listed_at = float("-inf")
        every = WATCHED_RELIST_SECONDS if self.watch.works else RELIST_SECONDS
        if changed or now - self._listed_at >= every:
            self._list()

    def vanished(self, member: Member) -> None:
        """A read found it gone: close it, and list at the next scrape."""
        member.cgroup.close()
        self._listed_at = float("-inf")

    def close(self) -> None:
        """Let go of all descriptors."""
        for member in self._members.values():
            member.cgroup.close()
        self._members.clear()
        self.watch.close()

    def _links_changed(self) -> set[str]:
        return {
            directory
            for directory, count in self._links.items()
            if count == _NO_LINK_COUNT or _links(directory) != count
        }

    def _find_roots(self) -> None:
        """Roots come and go in few directories: the top, and where the present ones are."""
        self._links = {}
        self._entering(self._hierarchy.root)
        self._roots = pod_roots(self._hierarchy.root)
        self._above = {self._hierarchy.root, *map(os.path.dirname, self._roots)}
        for directory in self._above:
            self._entering(directory)

    def _entering(self, directory: str) -> None:
        """A directory is about to be listed: note how to learn of changes in it."""
        if self.watch.works:
            self.watch.add(directory)
        if not self.watch.works:
            self._links[directory] = _links(directory)

    def _list(self) -> None:
        root = self._hierarchy.root
        self._links = {directory: _links(directory) for directory in self._links.keys() & self._above}
        found = find_pods(root, self._roots, self._entering)
        found += [(directory, CgroupPath("system")) for directory in system_slices(root)]
        for key in self._members.keys() - {_key(directory, path) for directory, path in found}:
            self._members.pop(key).cgroup.close()
        members = [self._member(directory, path) for directory, path in found]
        self.pods = [member for member in members if member.found.level == "pod"]
        self.containers = [member for member in members if member.found.level == "container"]
        self.slices = [member for member in members if member.found.level == "system"]
        self._join_parts()
        self._listed_at = self._clock()

    def _member(self, directory: str, found: CgroupPath) -> Member:
        key = _key(directory, found)
        known = self._members.get(key)
        if known is None:
            cgroup = self._cgroup(directory, leaf=found.level == "container")
            path = directory[len(self._hierarchy.root.rstrip("/")) :] if found.level == "system" else ""
            known = self._members[key] = Member(found, directory, cgroup, self._labels(found, path))
        elif not known.cgroup.values:
            # Without a memory controller when it was last read; the kubelet may have enabled it since.
            known.cgroup.close()
        known.parts = []
        return known

    def _cgroup(self, directory: str, leaf: bool) -> Cgroup:
        return Cgroup(directory, self._names, self._descriptors, self._most_bytes, leaf=leaf)

    def _labels(self, found: CgroupPath, path: str) -> str:
        labels = {
            "node": self._node_name,
            "level": found.level,
            "uid": found.uid,
            "container_id": found.container_id,
            "qos": found.qos,
            "runtime": found.runtime,
            "path": path,
        }
        return label_text(labels.items())

    def _join_parts(self) -> None:
        """Pods whose memory is counted only in their containers: v1 without hierarchy, mismatched drivers."""
        by_uid: dict[str, list[Member]] = {}
        for container in self.containers:
            by_uid.setdefault(container.found.uid, []).append(container)
        known = {pod.found.uid: pod for pod in self.pods}
        for uid, parts in by_uid.items():
            pod = known.get(uid)
            if pod is None:
                pod = self._pod_of(parts[0])
                self.pods.append(pod)
                pod.parts = parts
            elif _stands_apart(pod, parts[0]):
                pod.parts = parts

    def _pod_of(self, container: Member) -> Member:
        found = CgroupPath("pod", container.found.uid, container.found.qos, runtime=container.found.runtime)
        return Member(found, container.directory, container.cgroup, self._labels(found, ""))


def _key(directory: str, found: CgroupPath) -> str:
    """A kubepods root or a mismatched container may be a slice as well: a member for each level."""
    return f"{found.level}:{directory}"


def _links(directory: str) -> int:
    try:
        return os.stat(directory).st_nlink  # noqa: PTH116 - the hot path
    except OSError:
        return 0


def _stands_apart(pod: Member, container: Member) -> bool:
    """The pod's own cgroup does not hold its containers' memory (asked of the kernel once)."""
    if not container.directory.startswith(pod.directory + "/"):
        return True
    if pod.apart is None:
        try:
            with open(f"{pod.directory}/memory.use_hierarchy", "rb") as file:  # noqa: PTH123 - beside the hot path
                pod.apart = file.read().strip() == b"0"
        except OSError:
            pod.apart = False
    return pod.apart
