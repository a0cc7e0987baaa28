"""Files kept open and read again with pread: a third of the cost of opening them each time.

A descriptor pins its cgroup's directory in the kernel after rmdir, and reading it gives ENODEV: so it is closed at
the first error, and as soon as the membership no longer sees the cgroup. Beyond the descriptor limit files are opened
for each read and closed again, which is told as a degraded mode.
"""

import contextlib
import errno
import os
import resource

_CHUNK = 4096
_SPARE = 64
"""Descriptors left for connections, /proc and the like."""
_GONE = (errno.ENOENT, errno.ENODEV, errno.ESRCH)
_NO_MORE = (errno.EMFILE, errno.ENFILE)


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

    __slots__ = ("_descriptor", "_descriptors", "_directory", "_expected", "_missing", "_name", "_vanishes")

    def __init__(
        self, directory: str, name: str, descriptors: Descriptors, *, vanishes: bool = True, expected: int = _CHUNK
    ) -> None:
        """`vanishes`: a cgroup's file, that goes with its directory; files of /proc are there or not.

        `expected`: bytes asked for at first; a short file needs no big buffer, and a longer one is read on.
        Directory and name are kept apart: thousands of files share them.
        """
        self._directory, self._name, self._descriptors, self._vanishes = directory, name, descriptors, vanishes
        self._expected = expected
        self._descriptor = -1
        self._missing = False

    def read(self) -> bytes | None:
        """The content; None when this kernel has no such file or will not let it be read. Raises Vanished."""
        try:
            if self._descriptor >= 0:
                data = os.pread(self._descriptor, self._expected, 0)
                if self._vanishes and len(data) < self._expected:
                    return data
                return data + _rest(self._descriptor, len(data))
            return None if self._missing else self._read_unopened()
        except OSError as error:
            self.close()
            self._note(error)
            return None

    def _read_unopened(self) -> bytes:
        descriptor = os.open(f"{self._directory}/{self._name}", os.O_RDONLY | os.O_CLOEXEC)
        kept = False
        try:
            data = _rest(descriptor, 0)
            if not self._descriptors.exhausted:
                self._descriptor, kept = descriptor, True
                self._descriptors.kept += 1
            return data
        finally:
            if not kept:
                os.close(descriptor)

    def _note(self, error: OSError) -> None:
        """Raise Vanished, or remember what this failure means."""
        if self._vanishes and error.errno in _GONE and (error.errno == errno.ENODEV or self._gone()):
            raise Vanished(self._directory) from error
        # Not there (no such controller, older kernel) or EOPNOTSUPP: no error at every scrape.
        if error.errno in (errno.ENOENT, errno.EOPNOTSUPP):
            self._missing = True
            return
        if error.errno in _NO_MORE:
            self._descriptors.limit = min(self._descriptors.limit, self._descriptors.kept)
        self._descriptors.unreadable += 1

    def _gone(self) -> bool:
        return not os.path.isdir(self._directory)  # noqa: PTH112 - no Path per failure

    def close(self) -> None:
        """Let go of the descriptor, and of what was learnt: the next read opens the file anew."""
        self._missing = False
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._descriptors.kept -= 1


def _rest(descriptor: int, offset: int) -> bytes:
    """All from an offset on; /proc may end a read early, so only an empty one is the end."""
    parts = []
    while more := os.pread(descriptor, _CHUNK, offset):
        parts.append(more)
        offset += len(more)
    return b"".join(parts)
