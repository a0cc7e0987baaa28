"""`make bench-exporter`: our exporter beside its peers, on one tree of 1003 real cgroups, in one run.

CPU of a cycle (one scrape of both pages) against: a C program that opens, reads and closes the same files, a C program
that preads kept descriptors (the least it can cost), and the peers that can be had. The smallest of several rounds
counts, for the machine may be doing other things. Needs root and a writable memory hierarchy.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
BUILD = REPO / "build" / "bench"
PODS, CONTAINERS, ROUNDS = 250, 3, 12
V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
FILES = {
    1: ("memory.usage_in_bytes", "memory.stat", "memory.limit_in_bytes", "memory.oom_control"),
    2: ("memory.current", "memory.stat", "memory.max", "memory.swap.current", "memory.events", "memory.pressure"),
}
MUST = {
    "cpu_vs_open_read_close": 0.7,
    "hot_round_vs_pread": 1.3,
    "cpu_vs_cadvisor": 1 / 40,
    "memory_vs_cadvisor": 1 / 4,
    "wall_vs_cadvisor": 1 / 10,
    "cpu_vs_cgroups_exporter": 1 / 100,
}


class CannotRun(Exception):  # noqa: N818 - said, not failed
    """What this machine lacks."""


def log(text: str) -> None:
    """Progress, for people."""
    sys.stderr.write(f"bench-exporter: {text}\n")


# --- the tree ---------------------------------------------------------------------------------------------


def hierarchy() -> tuple[int, Path]:
    """(version, root) of a memory hierarchy that we may write."""
    if os.geteuid() != 0:
        raise CannotRun("root is needed to make cgroups")
    if (V1 / "memory.stat").exists() and os.access(V1, os.W_OK):
        return 1, V1
    if "memory" in _text(V2 / "cgroup.controllers").split():
        return 2, V2
    raise CannotRun("no writable memory hierarchy is mounted")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


@contextlib.contextmanager
def tree() -> Iterator[tuple[int, Path]]:
    """A root with kubepods/burstable/pod…/container…: 1003 cgroups, removed at the end whatever happens."""
    version, root = hierarchy()
    top = root / f"remediator-bench-{os.getpid()}"
    made = [top, top / "kubepods", top / "kubepods" / "burstable"]
    for number in range(PODS):
        pod = made[2] / f"pod{uuid.UUID(int=number)}"
        made += [pod, *(pod / f"{number:032x}{container:032x}" for container in range(CONTAINERS))]
    try:
        for directory in made:
            directory.mkdir()
            if version == 2 and directory.parent in made[:-1]:
                with contextlib.suppress(OSError):
                    (directory.parent / "cgroup.subtree_control").write_text("+memory")
        yield version, top
    finally:
        for directory in reversed(made):
            with contextlib.suppress(OSError):
                directory.rmdir()


def files(version: int, top: Path) -> list[str]:
    """Files that an exporter of all pods and containers reads."""
    directories = [path for path in (top / "kubepods").rglob("*") if path.is_dir()]
    wanted = [directory / name for directory in directories for name in FILES[version]]
    return [str(path) for path in wanted if path.exists()]


# --- the measured -----------------------------------------------------------------------------------------


def c_program(name: str, paths: list[str]) -> float:
    """CPU milliseconds of the best round of a C program over the paths."""
    binary = BUILD / name
    source = REPO / "tests" / "bench" / "c" / f"{name}.c"
    subprocess.run(["cc", "-O2", "-o", str(binary), str(source)], check=True)
    listed = "\n".join(paths)
    run = subprocess.run(
        ["sh", "-c", f"ulimit -n 65536; exec {binary} {ROUNDS}"],
        input=listed,
        capture_output=True,
        text=True,
        check=True,
    )
    return min(float(line) for line in run.stdout.split())


def cpu_ms(pid: int) -> float:
    """CPU time of a process so far, threads that have ended included: its own clock (clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2) * 1000


def pss_mib(pid: int) -> float:
    """Proportional resident memory."""
    for line in _text(Path(f"/proc/{pid}/smaps_rollup")).splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def fetch(url: str) -> int:
    """Bytes of a page."""
    with urllib.request.urlopen(url, timeout=120) as answer:
        return len(answer.read())


@contextlib.contextmanager
def served(command: list[str], url: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that answers at a URL."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                fetch(url)
                break
            if process.poll() is not None:
                raise CannotRun(f"{command[0]} ended with {process.returncode}")
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


def scraped(command: list[str], urls: list[str], rounds: int = ROUNDS) -> dict[str, float]:
    """CPU and wall milliseconds of the best cycle, memory and start-up time of a program."""
    began = time.monotonic()
    with served(command, urls[0]) as process:
        startup = (time.monotonic() - began) * 1000
        cycles = []
        for _ in range(rounds):
            cpu, wall = cpu_ms(process.pid), time.perf_counter()
            for url in urls:
                fetch(url)
            cycles.append((cpu_ms(process.pid) - cpu, (time.perf_counter() - wall) * 1000))
        return {
            "cpu_ms": min(cpu for cpu, _ in cycles),
            "first_cpu_ms": cycles[0][0],
            "wall_ms": min(wall for _, wall in cycles),
            "pss_mib": pss_mib(process.pid),
            "startup_ms": startup,
        }


def free_address() -> str:
    """A loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def ours(top: Path) -> dict[str, float]:
    """Our exporter."""
    address = free_address()
    command = [sys.executable, "-m", "remediator.exporter.main", "--listen", address]
    command += ["--cgroup-root", str(top), "--node", "bench", "--history-seconds", "0"]
    return scraped(command, [f"http://{address}/metrics", f"http://{address}/metrics/containers"])


def cadvisor(top: Path) -> dict[str, float]:
    """Google's cAdvisor, where it is on PATH."""
    binary = shutil.which("cadvisor")
    if binary is None:
        raise CannotRun("cadvisor is not on PATH (Debian bookworm has no package of it)")
    port = free_address().rsplit(":", 1)[1]
    off = "--disable_metrics=accelerator,cpu_topology,disk,memory_numa,tcp,udp,percpu,sched,process,hugetlb,network"
    command = [binary, "--listen_ip=127.0.0.1", f"--port={port}", "--housekeeping_interval=10s", off]
    return scraped(command, [f"http://127.0.0.1:{port}/metrics"], rounds=4)


def cgroups_exporter(top: Path) -> dict[str, float]:
    """cgroups-exporter of PyPI, in an environment of its own; it collects by itself, every 3 s here."""
    venv = BUILD / "cgroups-exporter"
    if not (venv / "bin" / "cgroups-exporter").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        pip = [str(venv / "bin" / "pip"), "install", "-q"]
        # Newer releases of argclass than it was made with refuse its options.
        for wanted in (["cgroups-exporter==0.8.8"], ["argclass<1"]):
            if subprocess.run([*pip, *wanted], stderr=subprocess.DEVNULL, check=False).returncode:
                raise CannotRun("cgroups-exporter 0.8.8 could not be installed")
    host, port = free_address().rsplit(":", 1)
    below = top / "kubepods" / "burstable"
    command = [str(venv / "bin" / "cgroups-exporter"), "--metrics-address", host, "--metrics-port", port]
    command += ["--collector-interval", "3", "--collector-delay", "1"]
    command += ["--cgroups-path", f"{below}/*", f"{below}/*/*"]
    url = f"http://{host}:{port}/metrics"
    with served(command, url) as process:
        time.sleep(5)
        cpu = cpu_ms(process.pid)
        for _ in range(4):
            time.sleep(3)
            fetch(url)
        return {"cpu_ms": (cpu_ms(process.pid) - cpu) / 4, "pss_mib": pss_mib(process.pid)}


def main() -> int:
    """Measure, write build/bench/exporter.json, print; 1 when a bound is missed, 2 when it cannot run."""
    BUILD.mkdir(parents=True, exist_ok=True)
    figures: dict[str, object] = {}
    missing: dict[str, str] = {}
    try:
        with tree() as (version, top):
            paths = files(version, top)
            figures |= {"cgroup_version": version, "cgroups": PODS * (CONTAINERS + 1) + 3, "files": len(paths)}
            log(f"{figures['cgroups']} cgroups, {len(paths)} files")
            figures["open_read_close_cpu_ms"] = c_program("open_read_close", paths)
            figures["pread_cpu_ms"] = c_program("pread_kept", paths)
            figures["ours"] = own = ours(top)
            peers = {"cadvisor": cadvisor, "cgroups_exporter": cgroups_exporter}
            for name, measure in peers.items():
                try:
                    figures[name] = measure(top)
                except (CannotRun, subprocess.CalledProcessError, OSError) as error:
                    missing[name] = str(error)
    except CannotRun as error:
        log(f"cannot run: {error}")
        return 2
    return _conclude(figures, own, missing)


def _conclude(figures: dict[str, object], own: dict[str, float], missing: dict[str, str]) -> int:
    ratios = {
        "cpu_vs_open_read_close": own["cpu_ms"] / float(str(figures["open_read_close_cpu_ms"])),
        "hot_round_vs_pread": own["cpu_ms"] / float(str(figures["pread_cpu_ms"])),
    }
    for peer, measures in (("cadvisor", ("cpu", "memory", "wall")), ("cgroups_exporter", ("cpu",))):
        theirs = figures.get(peer)
        if isinstance(theirs, dict):
            keys = {"cpu": "cpu_ms", "memory": "pss_mib", "wall": "wall_ms"}
            ratios |= {f"{m}_vs_{peer}": own[keys[m]] / theirs[keys[m]] for m in measures}
    must = {name: bound for name, bound in MUST.items() if name in ratios}
    result = {"figures": figures, "ratios": ratios, "must": must, "not_compared": missing}
    (BUILD / "exporter.json").write_text(json.dumps(result, indent=1))
    sys.stdout.write(json.dumps(result, indent=1) + "\n")
    missed = [name for name, bound in must.items() if ratios[name] > bound]
    for name, why in missing.items():
        log(f"not compared with {name}: {why}")
    for name in missed:
        log(f"missed: {name} is {ratios[name]:.3f}, must be at most {must[name]:.3f}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
