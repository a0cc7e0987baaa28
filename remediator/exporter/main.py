"""`remediator exporter`: options, errors that say what to do, and the life of the process."""

import argparse
import contextlib
import ctypes
import gc
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from remediator.exporter.collecting import Collector
from remediator.exporter.hierarchy import Hierarchy, WrongRootError, find_hierarchy
from remediator.exporter.node import ProcUnreadableError
from remediator.exporter.server import History, make_server

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_PART_BYTES = 32 * 1024
_COLLECT_AFTER = 50_000
_LONG_SECONDS = 3600.0


class UsageError(Exception):
    """Names the option and the fix."""


def parser() -> argparse.ArgumentParser:
    """The options; what is on the command line wins over the environment."""
    found = argparse.ArgumentParser(
        prog="remediator exporter", description="Memory of this node and its pods, from cgroups and /proc."
    )
    found.add_argument("--listen", default="127.0.0.1:9101", help="HOST:PORT to serve on (default %(default)s)")
    found.add_argument("--cgroup-root", type=Path, default=Path("/sys/fs/cgroup"), help="where cgroups are mounted")
    found.add_argument("--proc-root", type=Path, default=Path("/proc"), help="the host's /proc")
    found.add_argument("--node", default=os.environ.get("NODE_NAME"), help="name of the node ($NODE_NAME, else host)")
    found.add_argument("--node-cgroup", help="take the node's totals from this cgroup, relative to the root")
    found.add_argument("--history-seconds", type=float, default=600.0, help="how much /history keeps (default 600)")
    found.add_argument("--once", action="store_true", help="print one exposition and exit")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run; 0 when ended by a signal or --once, 2 for wrong options."""
    options = parser().parse_args(argv)
    try:
        if not options.history_seconds >= 0:
            raise UsageError(f"--history-seconds: {options.history_seconds:g} is not 0 (keep nothing) or more")
        collector = _collector(options)
        if options.once:
            sys.stdout.buffer.write(b"".join(collector.whole_page()))
            sys.stdout.flush()
            collector.close()
            return 0
        _serve(collector, options)
    except UsageError as error:
        sys.stderr.write(f"remediator exporter: {error}\n")
        return 2
    return 0


def _collector(options: argparse.Namespace) -> Collector:
    try:
        hierarchy = find_hierarchy(options.cgroup_root)
    except WrongRootError as error:
        raise UsageError(f"--cgroup-root: {error}") from error
    try:
        collector = Collector(hierarchy, options.proc_root, options.node or socket.gethostname())
    except ProcUnreadableError as error:
        raise UsageError(f"--proc-root: {error}") from error
    if options.node_cgroup:
        collector.node.stand_in(hierarchy, _node_cgroup(hierarchy, options.node_cgroup))
    return collector


def _node_cgroup(hierarchy: Hierarchy, path: str) -> str:
    directory = Path(hierarchy.root) / path.strip("/")
    if not directory.is_dir():
        raise UsageError(f"--node-cgroup: {directory} is no cgroup; give a path relative to {hierarchy.root}")
    return str(directory)


def _serve(collector: Collector, options: argparse.Namespace) -> None:
    host, _, port = options.listen.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--listen: {options.listen} is not HOST:PORT, for example 127.0.0.1:9101")
    history = History(collector, options.history_seconds)
    try:
        server = make_server(host.strip("[]"), int(port), collector, history)
    except OSError as error:
        raise UsageError(f"--listen: {options.listen} cannot be had ({error.strerror}); choose another port") from error
    _hold_little_memory()
    history.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    with contextlib.suppress(_Ended):
        # Not woken up twice a second only to see whether it shall end: the signal's handler ends it.
        server.serve_forever(poll_interval=_LONG_SECONDS)
    history.stop()
    server.server_close()
    collector.close()


class _Ended(BaseException):
    """A signal asked for the end; no `except Exception` on the way holds it up."""


def _end(*_: object) -> None:
    raise _Ended


def _hold_little_memory() -> None:
    """glibc: one arena, for threads take turns here; and parts of pages go back to the kernel when they are written.

    Python: rows of values are no cycles, and looking through them for some costs a third of a scrape; do so rarely.
    """
    gc.set_threshold(_COLLECT_AFTER)
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_ARENA_MAX, 1)
        libc.mallopt(_M_MMAP_THRESHOLD, _PART_BYTES)


if __name__ == "__main__":
    sys.exit(main())
