"""The node: a cgroup with a memory limit, and one below it for each pod. Makes, reads, and removes them; root only."""

import contextlib
import os
import signal
import time
from pathlib import Path

from remediator.drill.processes import DrillError

_V1, _V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
_LIMIT = {1: "memory.limit_in_bytes", 2: "memory.max"}
_USAGE = {1: "memory.usage_in_bytes", 2: "memory.current"}


class CgroupNode:
    """A node made of a cgroup; `close` ends what runs in it and removes it."""

    def __init__(self, limit_bytes: int) -> None:
        self.version, self._mount = _hierarchy()
        self.limit_bytes = limit_bytes
        self.directory = self._mount / f"remediator-live-{os.getpid()}"
        self._pods = self.directory / "kubepods" / "burstable"
        try:
            for directory in (self.directory, self.directory / "kubepods", self._pods):
                directory.mkdir()
                self._delegate(directory)
            (self.directory / _LIMIT[self.version]).write_text(str(limit_bytes))
            if self.version == 2:
                (self.directory / "memory.swap.max").write_text("0")
        except OSError as error:
            self.close()
            raise DrillError(f"{self.directory} cannot be made: {error.strerror}; the live drill needs root") from error

    @property
    def path(self) -> str:
        """Relative to the hierarchy, as the exporter's --node-cgroup wants it."""
        return self.directory.name

    def _delegate(self, directory: Path) -> None:
        if self.version == 2:
            with contextlib.suppress(OSError):
                (directory / "cgroup.subtree_control").write_text("+memory")

    def add_pod(self, uid: str) -> Path:
        """The cgroup of a pod's only container."""
        container = self._pods / f"pod{uid}" / uid.replace("-", "").ljust(64, "0")
        container.parent.mkdir()
        self._delegate(container.parent)
        container.mkdir()
        return container

    def remove_pod(self, uid: str) -> None:
        """After its process has ended; the kernel may need a moment to let it go."""
        for directory in (*(self._pods / f"pod{uid}").glob("*/"), self._pods / f"pod{uid}"):
            _remove(directory)

    def used_bytes(self) -> int:
        """Memory charged to the node now."""
        return int((self.directory / _USAGE[self.version]).read_text())

    def close(self) -> None:
        """End every process in it and remove all cgroups."""
        for procs in self.directory.rglob("cgroup.procs"):
            for pid in _text(procs).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        directories = [path for path in self.directory.rglob("*") if path.is_dir()]
        for directory in sorted(directories, key=lambda path: -len(path.parts)):
            _remove(directory)
        _remove(self.directory)


def _hierarchy() -> tuple[int, Path]:
    if os.geteuid() != 0:
        raise DrillError("the live drill makes real cgroups and needs root; `make drill` needs neither")
    if (_V1 / "memory.stat").exists():
        return 1, _V1
    if "memory" in _text(_V2 / "cgroup.controllers").split():
        return 2, _V2
    raise DrillError("no memory hierarchy of cgroups is mounted at /sys/fs/cgroup")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _remove(directory: Path) -> None:
    for _ in range(50):
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)
