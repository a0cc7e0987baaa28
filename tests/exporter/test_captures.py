"""Golden expositions: what the exporter makes of captures of real kernels.

To renew them after a change that is meant: `REGENERATE=1 pytest tests/exporter/test_captures.py`, then read the diff.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from remediator.exporter.cgroups import ANON, FILE, LIMIT, SHMEM, SWAP, USAGE, WORKING_SET, Cgroup, layout
from remediator.exporter.collecting import Collector
from remediator.exporter.files import Descriptors, KernelFile
from remediator.exporter.hierarchy import find_hierarchy
from tests.exporter.trees import HERE, NAMES, text, unpack

PROMTOOL = Path(__file__).parents[2] / ".tools" / "bin" / "promtool"


def collector(name: str, target: Path) -> Collector:
    root, proc = unpack(name, target)
    return Collector(find_hierarchy(root), proc, "node-1")


def exposition(name: str, target: Path) -> str:
    found = collector(name, target)
    pages = text(found.page() + found.containers_page())
    found.close()
    return re.sub(r"(scrape_duration_seconds\{.*\}) .*", r"\1 0", pages)


@pytest.mark.parametrize("name", NAMES)
def test_a_captured_tree_gives_its_golden_exposition(name, tmp_path):
    """Every sample of a captured tree is as it was when it was read and found right."""
    golden = HERE / "golden" / f"{name}.prom"
    found = exposition(name, tmp_path)
    if os.environ.get("REGENERATE"):
        golden.write_text(found)
    assert found == golden.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_promtool_finds_nothing_wrong_with_an_exposition(name, tmp_path):
    """Names, types and help texts follow Prometheus' conventions, on both pages."""
    promtool = str(PROMTOOL) if PROMTOOL.exists() else shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not there: make tools")
    found = collector(name, tmp_path)
    for page in (found.page(), found.containers_page()):
        done = subprocess.run(
            [promtool, "check", "metrics"], input=text(page), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_without_hierarchy_a_pod_is_the_sum_of_its_containers(tmp_path):
    """use_hierarchy=0: the pod's own cgroup reads kilobytes while its containers hold 47 MB."""
    page = text(collector("v1-linux-5.10-use_hierarchy-0", tmp_path).page())
    usages = [float(v) for v in re.findall(r'cgroup_memory_usage_bytes\{[^}]*level="pod"[^}]*\} (\d+)', page)]
    assert max(usages) > 40_000_000


def test_a_kernel_without_psi_says_so_and_counts_no_error(tmp_path):
    """C04: PSI is a capability; its absence is one 0, not an error per scrape."""
    found = collector("v2-linux-6.1-psi-off", tmp_path)
    found.page()
    page = text(found.page())
    assert 'memory_exporter_psi_supported{node="node-1"} 0' in page
    assert 'memory_exporter_unreadable_files_total{node="node-1"} 0' in page
    assert "stalled_seconds_total" not in page


def test_unlimited_has_no_limit_series(tmp_path):
    """C07: `max` and v1's sentinel give no limit, so no ratio can be made of them."""
    for name in ("v2-linux-6.12", "v1-linux-5.10"):
        page = text(collector(name, tmp_path / name).page())
        limits = re.findall(r"cgroup_memory_limit_bytes\{[^}]*\} (\S+)", page)
        assert limits, name
        assert all(float(limit) < 2**50 for limit in limits)


@pytest.mark.parametrize(
    ("version", "written"),
    [(2, "max"), (2, "0"), (1, "9223372036854771712"), (1, "0"), (2, "nonsense"), (2, "")],
)
def test_a_limit_that_is_none_gives_no_series_but_the_rest(tmp_path, version, written):
    """C07: unlimited in either version, 0 and garbage leave only the limit out."""
    names = layout(version)
    files = {names.usage: "100\n", names.limit: written, "memory.stat": "anon 60\ntotal_rss 60\n", names.events: ""}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    row = Cgroup(str(tmp_path), names, Descriptors(), 2**40).read()
    assert (row[LIMIT], row[USAGE], row[ANON]) == (None, 100, 60)


def test_a_missing_key_leaves_its_sample_out(tmp_path):
    """memory.stat of another kernel: unknown keys are ignored, missing ones are never 0."""
    (tmp_path / "memory.current").write_text("100\n")
    (tmp_path / "memory.stat").write_text("anon 60\nsomething_new 5\nfile 3\n")
    row = Cgroup(str(tmp_path), layout(2), Descriptors(), 2**40).read()
    assert (row[ANON], row[FILE], row[SHMEM], row[WORKING_SET], row[SWAP]) == (60, 3, None, None, None)


def test_a_cgroup_without_memory_controller_is_no_error(tmp_path):
    """A leaf whose controllers are off has no memory files: nothing is shown, nothing is counted as unreadable."""
    root, proc = unpack("v2-linux-6.12", tmp_path)
    pod = root / "kubepods.slice" / "kubepods-pod11111111_2222_3333_4444_555555555555.slice"
    pod.mkdir()
    found = Collector(find_hierarchy(root), proc, "node-1")
    page = text(found.page())
    assert "11111111-2222" not in page
    assert 'memory_exporter_unreadable_files_total{node="node-1"} 0' in page
    (pod / "memory.current").write_text("5\n")
    (pod / "memory.stat").write_text("anon 5\n")
    (pod.parent / "kubepods-podanother.slice").mkdir()
    assert 'cgroup_memory_usage_bytes{node="node-1",level="pod",uid="11111111-2222' in text(found.page())
    found.close()


def test_a_change_of_any_one_file_is_seen_at_the_next_whole_read(tmp_path):
    """What stood still is not worked out again, yet nothing is remembered beside what was read: each file counts."""
    written = {"current": "8192", "max": "max", "stat": "anon 4096\ninactive_file 0\nfile 10\nshmem 1\n"}
    for name, content in written.items():
        (tmp_path / f"memory.{name}").write_text(content + "\n")
    found = Cgroup(str(tmp_path), layout(2), Descriptors(), 2**40)
    first = found.read()
    (tmp_path / "memory.stat").write_text(written["stat"].replace("4096", "4097"))
    second = found.read()
    (tmp_path / "memory.max").write_text("16384\n")
    third = found.read()
    (tmp_path / "memory.current").write_text("8193\n")
    fourth = found.read()
    rows = [(row[USAGE], row[WORKING_SET], row[ANON], row[LIMIT]) for row in (first, second, third, fourth)]
    assert rows == [
        (8192, 8192, 4096, None),
        (8192, 8192, 4097, None),
        (8192, 8192, 4097, 16384),
        (8193, 8193, 4097, 16384),
    ]


def test_a_file_longer_than_expected_is_read_to_its_end(tmp_path):
    """A short first read is only a guess at the length."""
    (tmp_path / "memory.events").write_bytes(b"x" * 9000)
    file = KernelFile(str(tmp_path), "memory.events", Descriptors(), expected=256)
    assert [len(file.read() or b""), len(file.read() or b"")] == [9000, 9000]
