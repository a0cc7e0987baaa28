"""Nothing that a drill starts outlives it, and what fails says why."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from remediator.drill.processes import DrillError, Processes

SLEEPER = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(600)"]
WITH_CHILD = [
    sys.executable,
    "-c",
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)",
]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('here', flush=True)\ntime.sleep(600)",
]


def alive(pid: int) -> bool:
    """A process that is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def first_line(log: Path) -> str:
    """What a program has written first, once it has."""
    while not (text := log.read_text()).endswith("\n"):
        time.sleep(0.01)
    return text.splitlines()[0]


def test_crash_of_the_drill_ends_its_processes(tmp_path: Path) -> None:
    """An exception inside the drill leaves nothing running."""
    with pytest.raises(ZeroDivisionError), Processes(tmp_path) as processes:
        running = processes.start("sleeper", SLEEPER)
        first_line(running.log)
        raise ZeroDivisionError
    assert not alive(running.process.pid)


def test_children_end_with_their_parent(tmp_path: Path) -> None:
    """A server's workers are ended too, not orphaned."""
    with Processes(tmp_path) as processes:
        running = processes.start("server", WITH_CHILD)
        child = int(first_line(running.log))
        assert alive(child)
    while alive(child):  # its reaper may need a moment; the test's own limit is the deadline
        time.sleep(0.01)


def test_process_that_ignores_the_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM is asked once; who stays is killed."""
    monkeypatch.setattr("remediator.drill.processes._STOP_SECONDS", 0.2)
    with Processes(tmp_path) as processes:
        running = processes.start("stubborn", STUBBORN)
        first_line(running.log)
    assert running.process.returncode == -signal.SIGKILL


def test_missing_program_is_named(tmp_path: Path) -> None:
    """A program that is not there is a sentence, not a traceback."""
    with Processes(tmp_path) as processes, pytest.raises(DrillError, match=r"prometheus.*cannot be run"):
        processes.start("prometheus", [str(tmp_path / "no-such-program")])


def test_process_that_ended_shows_its_last_words(tmp_path: Path) -> None:
    """When a program ends early, its log's tail says why."""
    with Processes(tmp_path) as processes:
        failing = processes.start("alertmanager", [sys.executable, "-c", "import sys; sys.exit('bad configuration')"])
        failing.process.wait()
        with pytest.raises(DrillError, match=r"(?s)alertmanager ended with status 1.*bad configuration"):
            processes.check()


def test_process_that_is_never_ready_shows_its_log(tmp_path: Path) -> None:
    """A time-out names the process and shows what it wrote."""
    with Processes(tmp_path) as processes:
        running = processes.start("prometheus", SLEEPER)
        first_line(running.log)
        with pytest.raises(DrillError, match=r"(?s)prometheus was not ready within 0 s.*here"):
            processes.wait_for("prometheus", lambda: False, timeout_seconds=0.0)


def descendants(pid: int) -> set[int]:
    """All processes below one."""
    table = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(line.split()[0]): int(line.split()[1]) for line in table.splitlines()}
    found, grown = {pid}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in found} - found
        found, grown = found | more, bool(more)
    return found - {pid}


@pytest.mark.acceptance
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_interrupted_drill_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C, a stop, a closed terminal or a kill in the middle of a story ends every process of it."""
    command = [sys.executable, "-m", "remediator.cli", "drill", "--scenario", "spike", "--output-dir", str(tmp_path)]
    output = tmp_path / "output"
    with output.open("wb") as file:
        drill = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        while "kubectl" not in output.read_text() and drill.poll() is None:
            time.sleep(0.1)
        started = descendants(drill.pid)
        assert len(started) >= 6, output.read_text()
        os.kill(drill.pid, number)
        assert drill.wait(30) not in (0, 1)
    finally:
        if drill.poll() is None:
            drill.kill()
    while any(alive(pid) for pid in started):  # killed, it cannot wait for them; the test's own limit is the deadline
        time.sleep(0.05)
