"""Processes of a drill: started in sessions of their own, watched, and ended by pid whatever happens.

Knows nothing of what they are. Output goes to one log per process; its tail is shown when one fails.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import requests

_STOP_SECONDS = 8.0
_PORT_HINT = ", because another program took its port in that moment: run the drill again"
_PR_SET_PDEATHSIG = 1
_TAIL_LINES = 15


class DrillError(Exception):
    """Something that keeps a drill from running; says what to do."""


@dataclass(frozen=True, slots=True)
class Running:
    """One process and its log."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def tail(self) -> str:
        """The last lines it wrote."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-_TAIL_LINES:])


class Processes:
    """All processes of one drill; leaving the context ends them, last started first."""

    def __init__(self, log_directory: Path) -> None:
        self._logs = log_directory
        self._running: list[Running] = []
        log_directory.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> "Processes":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Running:
        """Start a program; raises DrillError when it cannot be run."""
        log = self._logs / f"{name}.log"
        try:
            with log.open("wb") as output:
                process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **(environment or {})},
                    start_new_session=True,
                    preexec_fn=_end_with_us,  # noqa: PLW1509  # started before there is a second thread
                )
        except OSError as error:
            raise DrillError(f"{name}: {command[0]} cannot be run: {error.strerror}") from error
        running = Running(name, process, log)
        self._running.append(running)
        return running

    def check(self) -> None:
        """Raise DrillError when a process has ended by itself."""
        for running in self._running:
            code = running.process.poll()
            if code is not None:
                tail = running.tail()
                hint = _PORT_HINT if "address already in use" in tail.lower() else ""
                raise DrillError(f"{running.name} ended with status {code}{hint}; its log {running.log} says:\n{tail}")

    def wait_for(self, name: str, ready: Callable[[], bool], timeout_seconds: float = 30.0) -> None:
        """Wait until `ready`; raises DrillError with the tails of the logs when it takes too long."""
        end = time.monotonic() + timeout_seconds
        while not ready():
            self.check()
            if time.monotonic() > end:
                tails = "\n".join(f"--- {each.name}\n{each.tail()}" for each in self._running if each.name == name)
                raise DrillError(
                    f"{name} was not ready within {timeout_seconds:g} s; logs are in {self._logs}\n{tails}"
                )
            time.sleep(0.1)

    def stop(self) -> None:
        """End all of them: SIGTERM, then SIGKILL for those that stay."""
        for running in reversed(self._running):
            _signal(running, signal.SIGTERM)
        end = time.monotonic() + _STOP_SECONDS
        for running in reversed(self._running):
            try:
                running.process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(running, signal.SIGKILL)
                running.process.wait()
        self._running.clear()


def _signal(running: Running, number: int) -> None:
    """To the whole session, so that workers of a server end with it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.process.pid, number)


def _end_with_us() -> None:
    """In the child, before it becomes the program: Linux ends it when the drill dies without a chance to."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    """True when a GET gives 200."""
    try:
        return requests.get(url, timeout=2).status_code == 200
    except requests.RequestException:
        return False
