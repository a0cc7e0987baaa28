"""A node's pods as real cgroups: 250 pods of 3 containers, some with a process that holds memory and stays still.

Made below a root of its own and removed at the end whatever happens; what a killed run left is removed by the next.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PODS, CONTAINERS, HELD = 250, 3, 24
"""HELD: containers with a process in them; a static tree of zeros would prove little."""
V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
_PREFIX = "remediator-bench-"
_POD_FILES = {
    1: ("memory.usage_in_bytes", "memory.stat", "memory.limit_in_bytes"),
    2: ("memory.current", "memory.stat", "memory.max", "memory.swap.current", "memory.events", "memory.pressure"),
}
_CONTAINER_FILES = {1: (*_POD_FILES[1], "memory.oom_control"), 2: _POD_FILES[2]}
_HOLDER = """
import os, signal, sys, tempfile
for number, cgroup in enumerate(sys.argv[1:]):
    if not os.fork():
        with open(cgroup + "/cgroup.procs", "w") as procs:
            procs.write(str(os.getpid()))
        held = bytearray(os.urandom(1)) * ((1 + number) * 512 * 1024)
        kept = tempfile.TemporaryFile()
        kept.write(bytes((1 + number) * 65536))
        kept.flush()
        os.fsync(kept.fileno())
        print("held", flush=True)
        sys.stdin.read()
        os._exit(0)
sys.stdin.read()
"""


class CannotRun(Exception):  # noqa: N818 - said, not failed
    """What this machine lacks."""


@dataclass
class Tree:
    """Where the cgroups are. `pods` and `containers`: their directories."""

    version: int
    top: Path
    pods: list[Path] = field(default_factory=list)
    containers: list[Path] = field(default_factory=list)

    @property
    def directories(self) -> list[Path]:
        """All, parents first: 1003."""
        return [self.top, self.top / "kubepods", self.top / "kubepods" / "burstable", *self.pods, *self.containers]

    def files(self) -> list[str]:
        """Files that a whole round of the exporter reads."""
        wanted = [pod / name for pod in self.pods for name in _POD_FILES[self.version]]
        wanted += [container / name for container in self.containers for name in _CONTAINER_FILES[self.version]]
        return [str(path) for path in wanted if path.exists()]


def hierarchy() -> tuple[int, Path]:
    """(version, root) of a memory hierarchy that we may write."""
    if os.geteuid() != 0:
        raise CannotRun("root is needed to make cgroups")
    if (V1 / "memory.stat").exists() and os.access(V1, os.W_OK):
        return 1, V1
    with contextlib.suppress(OSError):
        if "memory" in (V2 / "cgroup.subtree_control").read_text().split() and os.access(V2, os.W_OK):
            return 2, V2
    raise CannotRun("no writable memory hierarchy is mounted")


@contextlib.contextmanager
def tree() -> Iterator[Tree]:
    """The tree, with its processes; also removed on SIGTERM and Ctrl-C."""
    version, root = hierarchy()
    _remove_leftovers(root)
    found = _planned(version, root / f"{_PREFIX}{os.getpid()}")
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        for directory in found.directories:
            directory.mkdir()
            if version == 2 and directory not in found.containers:
                (directory / "cgroup.subtree_control").write_text("+memory")
        with _held(found.containers[:: len(found.containers) // HELD][:HELD]):
            yield found
    finally:
        for directory in reversed(found.directories):
            _removed(directory)
        signal.signal(signal.SIGTERM, before)


def _planned(version: int, top: Path) -> Tree:
    found = Tree(version, top)
    for number in range(PODS):
        pod = top / "kubepods" / "burstable" / f"pod{uuid.UUID(int=number)}"
        found.pods.append(pod)
        found.containers += [pod / f"{number:032x}{container:032x}" for container in range(CONTAINERS)]
    return found


@contextlib.contextmanager
def _held(cgroups: list[Path]) -> Iterator[None]:
    """Processes that hold anonymous memory and page cache until the end."""
    command = [sys.executable, "-c", _HOLDER, *map(str, cgroups)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
    try:
        assert process.stdout is not None
        for _ in cgroups:
            process.stdout.readline()
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _removed(directory: Path) -> None:
    """rmdir, waiting a moment for processes that are still ending."""
    for _ in range(100):
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)


def _remove_leftovers(root: Path) -> None:
    for top in root.glob(f"{_PREFIX}*"):
        number = re.fullmatch(rf"{_PREFIX}(\d+)", top.name)
        if number is not None and not Path(f"/proc/{number[1]}").exists():
            for directory, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):
                    Path(directory).rmdir()
