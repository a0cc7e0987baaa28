"""Programs that the exporter is measured beside: two in C, cAdvisor, and cgroups-exporter of PyPI.

What cannot be had here is said (`CannotRun`), and the rest is measured all the same.
"""

import contextlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from exporter_tree import CannotRun, Tree
from verdict import BUILD

REPO = Path(__file__).resolve().parents[2]
_CADVISOR_RELEASE = "bullseye"
"""The Debian release that last had a package of it (0.38.7)."""
_OPTIONAL = "accelerator,cpu_topology,disk,diskIO,memory_numa,tcp,udp,advtcp,percpu,sched,process,hugetlb,network"
_RARE = "referenced_memory,resctrl"


@dataclass
class Program:
    """A running program and the pages that are scraped of it."""

    name: str
    process: subprocess.Popen[bytes]
    urls: list[str]
    startup_ms: float

    def cpu_ms(self) -> float:
        """CPU time of its process tree so far, ended threads included: processes' own clocks."""
        return sum(time.clock_gettime((~pid << 3) | 2) * 1000 for pid in _tree(self.process.pid))

    def pss_mib(self) -> float:
        """Proportional resident memory of its process tree."""
        return sum(_pss_mib(pid) for pid in _tree(self.process.pid))

    def scrape(self) -> float:
        """Wall milliseconds of fetching its pages."""
        began = time.perf_counter()
        for url in self.urls:
            fetch(url)
        return (time.perf_counter() - began) * 1000


def _tree(pid: int) -> list[int]:
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # that thread has ended meanwhile
            found += [each for child in children.read_text().split() for each in _tree(int(child))]
    return found


def _pss_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def fetch(url: str) -> str:
    """A page."""
    with urllib.request.urlopen(url, timeout=120) as answer:
        return answer.read().decode()


@contextlib.contextmanager
def started(name: str, command: list[str], urls: list[str]) -> Iterator[Program]:
    """A program from its start to its end; ready when its first page is answered."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=REPO)
    try:
        while True:
            with contextlib.suppress(OSError):
                fetch(urls[0])
                break
            if process.poll() is not None:
                raise CannotRun(f"{command[0]} ended with {process.returncode}")
            if time.perf_counter() - began > 60:
                raise CannotRun(f"{command[0]} does not answer")
            time.sleep(0.005)
        yield Program(name, process, urls, (time.perf_counter() - began) * 1000)
    finally:
        process.kill()
        process.wait()


def _address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@contextlib.contextmanager
def ours(tree: Tree) -> Iterator[Program]:
    """Our exporter, as a DaemonSet runs it: history kept."""
    address = _address()
    command = [sys.executable, "-m", "remediator.exporter.main", "--listen", address, "--node", "bench"]
    command += ["--cgroup-root", str(tree.top)]
    with started("ours", command, [f"http://{address}/metrics", f"http://{address}/metrics/containers"]) as found:
        yield found


@contextlib.contextmanager
def cadvisor(tree: Tree) -> Iterator[Program]:
    """cAdvisor, optional metrics off, housekeeping every 10 s (and not the rarer the stiller a cgroup is)."""
    port = _address().rsplit(":", 1)[1]
    command = [_cadvisor_binary(), "--listen_ip=127.0.0.1", f"--port={port}", "--housekeeping_interval=10s"]
    command += ["--allow_dynamic_housekeeping=false", f"--disable_metrics={_OPTIONAL},{_RARE}"]
    with started("cadvisor", command, [f"http://127.0.0.1:{port}/metrics"]) as found:
        yield found


def _cadvisor_binary() -> str:
    unpacked = BUILD / "cadvisor" / "usr" / "bin" / "cadvisor"
    if (there := shutil.which("cadvisor")) is not None:
        return there
    if not unpacked.exists():
        target = BUILD / "cadvisor"
        target.mkdir(parents=True, exist_ok=True)
        if not _package(target, []):
            _package(target, _older_release(target))
    if not unpacked.exists():
        raise CannotRun("cadvisor is not on PATH and its Debian package cannot be had")
    return str(unpacked)


def _package(target: Path, options: list[str]) -> bool:
    """apt-get download and unpack; never installed."""
    if shutil.which("apt-get") is None:
        return False
    subprocess.run(["apt-get", *options, "download", "cadvisor"], cwd=target, capture_output=True, check=False)
    for package in target.glob("cadvisor_*.deb"):
        return subprocess.run(["dpkg", "-x", str(package), str(target)], check=False).returncode == 0
    return False


def _older_release(target: Path) -> list[str]:
    """apt options for another release on this machine's own mirror; its lists are kept apart from the machine's."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN)", "Created-By: Packages", "Component: main"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split("\n")
    mirrors = [line.split()[0] for line in told if line.endswith(" Debian") and "security" not in line]
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    signed = f" [signed-by={key}]" if Path(key).exists() else ""
    sources = target / "sources.list"
    sources.write_text("".join(f"deb{signed} {mirror} {_CADVISOR_RELEASE} main\n" for mirror in mirrors[:1]))
    for name in ("lists", "cache"):
        (target / "apt" / name / "partial").mkdir(parents=True, exist_ok=True)
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": target / "apt" / "lists",
        "Dir::Cache": target / "apt" / "cache",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    subprocess.run(["apt-get", *options, "update"], capture_output=True, check=False)
    return options


@contextlib.contextmanager
def cgroups_exporter(tree: Tree) -> Iterator[Program]:
    """cgroups-exporter of PyPI in an environment of its own; it collects by itself every 15 s."""
    venv = BUILD / "cgroups-exporter"
    if not (venv / "bin" / "cgroups-exporter").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        # Newer releases of argclass than it was made with refuse its options.
        for wanted in ("cgroups-exporter==0.8.8", "argclass<1"):
            pip = [str(venv / "bin" / "pip"), "install", "-q", wanted]
            if subprocess.run(pip, capture_output=True, check=False).returncode:
                shutil.rmtree(venv)
                raise CannotRun("cgroups-exporter 0.8.8 could not be installed")
    host, port = _address().rsplit(":", 1)
    below = tree.top / "kubepods" / "burstable"
    command = [str(venv / "bin" / "cgroups-exporter"), "--metrics-address", host, "--metrics-port", port]
    command += ["--cgroups-path", f"{below}/*", f"{below}/*/*"]
    with started("cgroups_exporter", command, [f"http://{host}:{port}/metrics"]) as found:
        yield found


def c_program(name: str, paths: list[str], rounds: int) -> float:
    """CPU milliseconds of the best round of a C program over the paths."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise CannotRun(f"{name}.c needs a C compiler (cc)")
    binary = BUILD / name
    source = REPO / "tests" / "bench" / "c" / f"{name}.c"
    subprocess.run([compiler, "-O2", "-o", str(binary), str(source)], check=True)
    limit = ["sh", "-c", f'ulimit -n "$(ulimit -H -n)"; exec {binary} {rounds}']
    run = subprocess.run(limit, input="\n".join(paths), capture_output=True, text=True, check=True)
    return min(float(line) for line in run.stdout.split())
