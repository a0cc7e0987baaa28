"""Files kept open and read again with pread: a third of the cost of opening them each time.

A descriptor pins its cgroup's directory in the kernel after rmdir, and reading it gives ENODEV: so it is closed at
the first error, and by the scan that no longer sees the cgroup. Beyond the descriptor limit files are opened for each
read and closed again, which is told as a degraded mode.
"""

import contextlib
import errno
import os
import resource
from pathlib import Path

_CHUNK = 16384
_SPARE = 64
_GONE = (errno.ENOENT, errno.ENODEV, errno.ESRCH)


class Vanished(Exception):  # noqa: N818 - a fact, not a failure
    """The cgroup is gone: drop all of its samples."""


class Descriptors:
    """How many descriptors may be kept; shared by all cgroups of one exporter."""

    def __init__(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < hard:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _SPARE
        self.kept = 0
        self.unreadable = 0
        """Reads that failed for another reason than a cgroup that is gone."""

    @property
    def exhausted(self) -> bool:
        """No more can be kept."""
        return self.kept >= self.limit


class KernelFile:
    """One file that is read again and again."""

    __slots__ = ("_descriptor", "_descriptors", "_missing", "_path", "_vanishes")

    def __init__(self, path: str, descriptors: Descriptors, *, vanishes: bool = True) -> None:
        """`vanishes`: a cgroup's file, that goes with its directory; files of /proc are there or not."""
        self._path, self._descriptors, self._vanishes = path, descriptors, vanishes
        self._descriptor = -1
        self._missing = False

    def read(self) -> bytes | None:
        """The content; None when this kernel has no such file or will not let it be read. Raises Vanished."""
        if self._missing:
            return None
        try:
            if self._descriptor < 0 and not self._open():
                return self._read_once()
            return _all(self._descriptor)
        except OSError as error:
            self.close()
            self._note(error)
            return None

    def _open(self) -> bool:
        if self._descriptors.exhausted:
            return False
        self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        self._descriptors.kept += 1
        return True

    def _read_once(self) -> bytes:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _all(descriptor)
        finally:
            os.close(descriptor)

    def _note(self, error: OSError) -> None:
        """Raise Vanished, or remember what this failure means."""
        if self._vanishes and error.errno in _GONE and (error.errno == errno.ENODEV or self._directory_gone()):
            raise Vanished(self._path) from error
        # Not there (no such controller, older kernel) or EOPNOTSUPP: that does not change while we run.
        if error.errno in (errno.ENOENT, errno.EOPNOTSUPP):
            self._missing = True
        else:
            self._descriptors.unreadable += 1

    def _directory_gone(self) -> bool:
        return not Path(self._path).parent.is_dir()

    def close(self) -> None:
        """Let go of the descriptor."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._descriptors.kept -= 1


def _all(descriptor: int) -> bytes:
    data = os.pread(descriptor, _CHUNK, 0)
    # Kernel files end with a short read; a full chunk may have a rest.
    while len(data) % _CHUNK == 0 and data:
        more = os.pread(descriptor, _CHUNK, len(data))
        if not more:
            break
        data += more
    return data
