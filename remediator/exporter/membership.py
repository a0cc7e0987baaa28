"""Which cgroups there are, kept from scrape to scrape.

Listing a thousand directories costs more than reading their files, so it is done when something says that members have
changed: a directory's link count (the kernel counts its children there), a read that found a cgroup gone, or the end of
half a minute. Whatever vanished is closed at once: a kept descriptor pins a dying cgroup.
"""

import os
import time
from collections.abc import Callable

from remediator.exporter.cgroups import Cgroup, Layout
from remediator.exporter.exposition import escaped
from remediator.exporter.files import Descriptors
from remediator.exporter.hierarchy import Hierarchy, find_pods, pod_directories, system_slices
from remediator.exporter.paths import CgroupPath

RELIST_SECONDS = 30.0
_NO_LINK_COUNT = 1
"""Some file systems keep no link count of directories: there the members are listed at each scrape."""


class Member:
    """One cgroup: what it is, its files, and the text of its labels."""

    __slots__ = ("cgroup", "directory", "found", "labels", "lines", "parts", "shown")

    def __init__(self, found: CgroupPath, directory: str, cgroup: Cgroup, labels: str) -> None:
        self.found, self.directory, self.cgroup, self.labels = found, directory, cgroup, labels
        self.parts: list[Member] = []
        """Containers whose sum stands for this pod; empty where its own cgroup holds them."""
        self.lines: dict[str, str] = {}
        self.shown: object = None
        """The values that `lines` were made of."""


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
    ) -> None:
        self._hierarchy, self._names, self._descriptors = hierarchy, names, descriptors
        self._most_bytes, self._node_name, self._clock = most_bytes, node_name, clock
        self._members: dict[str, Member] = {}
        self._links: dict[str, int] = {}
        self._listed_at = float("-inf")
        self.pods: list[Member] = []
        self.containers: list[Member] = []
        self.slices: list[Member] = []

    def refresh(self) -> None:
        """List again if anything may have changed."""
        if self._clock() - self._listed_at >= RELIST_SECONDS or self._changed():
            self._list()

    def dropped(self, member: Member) -> None:
        """A read found it gone: close it, and list at the next scrape."""
        member.cgroup.close()
        self._members.pop(member.directory, None)
        for members in (self.pods, self.containers, self.slices):
            if member in members:
                members.remove(member)
        self._listed_at = float("-inf")

    def close(self) -> None:
        """Let go of all descriptors."""
        for member in self._members.values():
            member.cgroup.close()
        self._members.clear()

    def _changed(self) -> bool:
        try:
            return any(
                count == _NO_LINK_COUNT or os.stat(directory).st_nlink != count  # noqa: PTH116 - the hot path
                for directory, count in self._links.items()
            )
        except OSError:
            return True

    def _list(self) -> None:
        root = self._hierarchy.root
        watched = pod_directories(root)
        self._links = {directory: _links(directory) for directory in watched}
        found = find_pods(root)
        self._links |= {directory: _links(directory) for directory, path in found if path.level == "pod"}
        slices = [(directory, CgroupPath("system")) for directory in system_slices(root)]
        present = {directory for directory, _ in (*found, *slices)}
        for directory in self._members.keys() - present:
            self._members.pop(directory).cgroup.close()
        members = [self._member(directory, path) for directory, path in (*found, *slices)]
        self.pods = [member for member in members if member.found.level == "pod"]
        self.containers = [member for member in members if member.found.level == "container"]
        self.slices = [member for member in members if member.found.level == "system"]
        self._join_parts()
        self._listed_at = self._clock()

    def _member(self, directory: str, found: CgroupPath) -> Member:
        known = self._members.get(directory)
        if known is None or known.found != found:
            path = directory[len(self._hierarchy.root.rstrip("/")) :] if found.level == "system" else ""
            cgroup = Cgroup(directory, self._names, self._descriptors, self._most_bytes)
            known = self._members[directory] = Member(found, directory, cgroup, self._labels(found, path))
        known.parts = []
        return known

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
        return ",".join(f'{key}="{escaped(value)}"' for key, value in labels.items())

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


def _links(directory: str) -> int:
    try:
        return os.stat(directory).st_nlink  # noqa: PTH116 - the hot path
    except OSError:
        return 0


def _stands_apart(pod: Member, container: Member) -> bool:
    """The pod's own cgroup does not hold its containers' memory."""
    if not container.directory.startswith(pod.directory + "/"):
        return True
    try:
        with open(f"{pod.directory}/memory.use_hierarchy", "rb") as file:  # noqa: PTH123 - beside the hot path
            return file.read().strip() == b"0"
    except OSError:
        return False
