"""inotify by ctypes: tells that something came or went in a directory, for the price of one read.

Only a hint when to list again; whoever uses it also lists now and then without being told. Where inotify cannot be
had (no instances or watches left, no such call) it says so and stays silent.
"""

import ctypes
import errno
import os
import struct

_CREATE, _DELETE, _MOVED, _DELETE_SELF, _ONLY_DIRECTORIES = 0x100, 0x200, 0xC0, 0x400, 0x1000000
_MASK = _CREATE | _DELETE | _MOVED | _DELETE_SELF | _ONLY_DIRECTORIES
_IGNORED, _OVERFLOW = 0x8000, 0x4000
_EVENT = struct.Struct("iIII")
_BUFFER = 65536


class Watch:
    """Watched directories."""

    def __init__(self) -> None:
        self._paths: dict[int, bytes] = {}
        self._numbers: dict[bytes, int] = {}
        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._descriptor: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except AttributeError:
            self._descriptor = -1

    @property
    def works(self) -> bool:
        """Whether changes are told at all."""
        return self._descriptor >= 0

    def add(self, directory: str) -> None:
        """Watch one more; to be called before the directory is listed, lest a change between the two is missed."""
        path = os.fsencode(directory)
        if not self.works or path in self._numbers:
            return
        number = self._libc.inotify_add_watch(self._descriptor, path, _MASK)
        if number >= 0:
            self._paths[number], self._numbers[path] = path, number
        elif ctypes.get_errno() not in (errno.ENOENT, errno.ENOTDIR):
            self.close()

    def changed(self) -> set[str]:
        """Directories in which something came or went since the last call; all when some notice was lost."""
        found: set[str] = set()
        while self.works:
            try:
                data = os.read(self._descriptor, _BUFFER)
            except BlockingIOError:
                break
            except OSError:
                self.close()
                break
            self._note(data, found)
        return found

    def _note(self, data: bytes, found: set[str]) -> None:
        offset = 0
        while offset < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, offset)
            offset += _EVENT.size + length
            if mask & _OVERFLOW:
                found.update(map(os.fsdecode, self._numbers))
            path = self._paths.get(number, b"")
            found.add(os.fsdecode(path))
            if mask & _IGNORED:
                # It is gone and its watch with it: should it come back, it needs another.
                self._numbers.pop(self._paths.pop(number, b""), None)

    def close(self) -> None:
        """Watch nothing any more."""
        if self.works:
            os.close(self._descriptor)
        self._descriptor = -1
        self._paths.clear()
        self._numbers.clear()
