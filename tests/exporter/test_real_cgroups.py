"""The exporter over real cgroups with real processes, where the machine lets us make some."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remediator.exporter.collecting import Collector
from remediator.exporter.hierarchy import Hierarchy
from tests.exporter.trees import text

V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
MIB = 1024**2


def writable() -> tuple[int, Path] | str:
    """(version, root) of a memory hierarchy we may write, or why there is none."""
    if os.geteuid() != 0:
        return "needs root"
    if (V1 / "memory.stat").exists() and os.access(V1, os.W_OK):
        return 1, V1
    controllers = V2 / "cgroup.subtree_control"
    if controllers.exists() and "memory" in controllers.read_text().split() and os.access(V2, os.W_OK):
        return 2, V2
    return "no writable memory hierarchy is mounted"


FOUND = writable()
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(isinstance(FOUND, str), reason=f"real cgroups: {FOUND}"),
]


class Tree:
    """kubepods/burstable/pod… below a root of our own."""

    def __init__(self) -> None:
        assert not isinstance(FOUND, str)
        self.version, root = FOUND
        self.root = root / f"remediator-test-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self.made = [self.root, self.root / "kubepods", self.root / "kubepods" / "burstable"]
        for directory in self.made:
            self._make(directory)

    def _make(self, directory: Path) -> None:
        directory.mkdir()
        if self.version == 2:
            with contextlib.suppress(OSError):
                (directory / "cgroup.subtree_control").write_text("+memory")

    def pod(self, number: int, container: bool = True) -> Path:
        """A pod, and one container in it whose directory is given back."""
        pod = self.made[2] / f"pod{uuid.UUID(int=number)}"
        self._make(pod)
        self.made.append(pod)
        if not container:
            return pod
        inner = pod / f"{number:064x}"
        inner.mkdir()
        self.made.append(inner)
        return inner

    def remove(self, directory: Path) -> None:
        """A container and its pod."""
        for each in (directory, directory.parent):
            if each.name.startswith("pod") or len(each.name) == 64:
                assert removed(each)
                self.made.remove(each)

    def collector(self) -> Collector:
        return Collector(Hierarchy(self.version, str(self.root)), Path("/proc"), "n")

    def close(self) -> None:
        """Remove all, waiting for processes that are still ending."""
        for directory in reversed(self.made):
            assert eventually(lambda directory=directory: removed(directory)), directory


def removed(directory: Path) -> bool:
    """rmdir; False while the kernel says it is busy."""
    try:
        directory.rmdir()
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


@pytest.fixture
def tree() -> Iterator[Tree]:
    found = Tree()
    try:
        yield found
    finally:
        found.close()


@contextlib.contextmanager
def process_in(cgroup: Path, mib: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the cgroup that holds so much anonymous memory."""
    code = (
        "import os, sys\n"
        f"open({str(cgroup / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
        f"held = bytearray(os.urandom(1)) * ({mib} * 1024 * 1024)\n"
        "print('held', flush=True)\nsys.stdin.read()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def values(page: str, name: str) -> list[int]:
    return [int(float(value)) for value in re.findall(rf'{name}\{{[^}}]*level="pod"[^}}]*\}} (\S+)', page)]


def test_what_a_process_charges_is_exported(tree):
    """Real anonymous memory of a real process shows on its pod, and goes with it."""
    cgroup = tree.pod(1)
    collector = tree.collector()
    with process_in(cgroup, 64):
        (charged,) = values(text(collector.page()), "cgroup_memory_usage_bytes")
        assert 60 * MIB < charged < 100 * MIB
        # The kernel adds up memory.stat of all CPUs within two seconds; usage is exact at once.
        assert eventually(lambda: 60 * MIB < anon(collector) < 100 * MIB)
    assert eventually(lambda: anon(collector) < 8 * MIB)
    collector.close()


def anon(collector: Collector) -> int:
    """The only pod's."""
    (found,) = values(text(collector.page()), "cgroup_memory_anon_bytes")
    return found


def eventually(holds: Callable[[], bool], within_seconds: float = 10.0) -> bool:
    """Whether it comes to hold in time."""
    ends = time.monotonic() + within_seconds
    while not holds():
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


def test_a_kill_at_the_limit_is_counted(tree):
    """The kernel's OOM killer in a container's cgroup raises that container's counter."""
    cgroup = tree.pod(2)
    limit = "memory.limit_in_bytes" if tree.version == 1 else "memory.max"
    (cgroup / limit).write_text(str(24 * MIB))
    collector = tree.collector()
    code = (
        "import os\n"
        f"open({str(cgroup / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
        "held = [bytearray(os.urandom(1)) * (8 * 1024 * 1024) for _ in range(64)]\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -signal.SIGKILL
    page = text(collector.containers_page())
    (kills,) = re.findall(r'cgroup_memory_oom_kills_total\{[^}]*level="container"[^}]*\} (\d+)', page)
    assert int(kills) >= 1
    collector.close()


def test_a_removed_pod_leaves_no_series_and_no_descriptor(tree):
    """After rmdir nothing of the pod is exported and none of its descriptors is kept."""
    kept, gone = tree.pod(3), tree.pod(4)
    collector = tree.collector()
    collector.page(), collector.containers_page()
    before = collector.descriptors.kept
    tree.remove(gone)
    page = text(collector.page() + collector.containers_page())
    assert str(uuid.UUID(int=3)) in page
    assert str(uuid.UUID(int=4)) not in page
    collector.page()
    assert collector.descriptors.kept < before
    assert str(kept)
    collector.close()
    assert collector.descriptors.kept == 0


def test_a_pod_made_again_under_its_name_is_read_at_the_next_scrape(tree):
    """Kept descriptors of the removed cgroup give ENODEV; the new one's files are opened in the same scrape."""
    cgroup = tree.pod(5)
    collector = tree.collector()
    collector.page(), collector.containers_page()
    tree.remove(cgroup)
    tree.pod(5)
    page = text(collector.page() + collector.containers_page())
    assert page.count("cgroup_memory_usage_bytes{") == 1 + 1 + 1
    collector.close()


def test_removal_under_load_never_breaks_a_scrape(tree):
    """Pods with working processes are killed and removed while another thread scrapes without pause."""
    collector, failures, pages, ended = tree.collector(), [], [], threading.Event()

    def scrape() -> None:
        while not ended.is_set():
            try:
                pages.append(text(collector.page() + collector.containers_page()))
            except Exception as error:
                failures.append(error)

    scraper = threading.Thread(target=scrape)
    scraper.start()
    try:
        for number in range(30):
            cgroup = tree.pod(100 + number)
            with process_in(cgroup, 4):
                pass
            assert eventually(lambda cgroup=cgroup: removed(cgroup))
            tree.remove(cgroup)
    finally:
        ended.set()
        scraper.join()
    assert failures == []
    assert any('level="container"' in page for page in pages)
    last = text(collector.page() + collector.containers_page())
    assert 'level="pod",' not in last
    assert 'level="container",' not in last
    collector.close()
    assert open_below(tree.root) == []


def open_below(root: Path) -> list[str]:
    """Paths below a directory that this process holds open."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(str(descriptor.readlink()))
    return [path for path in found if path.startswith(str(root))]


def test_ten_thousand_pods_of_churn_leave_nothing_behind(tree):
    """Pods come and go between scrapes: never an exception, a stale series or a descriptor too many."""
    collector = tree.collector()
    stays = tree.pod(10**6)
    collector.page(), collector.containers_page()
    baseline = collector.descriptors.kept
    for batch in range(100):
        made = [tree.pod(batch * 100 + number, container=number % 2 == 0) for number in range(100)]
        page = text(collector.page())
        assert page.count("cgroup_memory_usage_bytes{") == 102
        for directory in made:
            tree.remove(directory) if len(directory.name) == 64 else _remove_pod(tree, directory)
    page = text(collector.page() + collector.containers_page())
    assert page.count(str(uuid.UUID(int=10**6))) > 0
    assert page.count('level="pod",uid=') == page.count(f'level="pod",uid="{uuid.UUID(int=10**6)}"')
    collector.page()
    assert collector.descriptors.kept <= baseline + 4
    assert len(open_below(tree.root)) <= baseline
    assert collector.descriptors.unreadable == 0
    assert stays.exists()
    collector.close()


def _remove_pod(tree: Tree, pod: Path) -> None:
    pod.rmdir()
    tree.made.remove(pod)
