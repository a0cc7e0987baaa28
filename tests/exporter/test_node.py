"""Node signals over kernel generations, from plain files."""

from pathlib import Path

import pytest

from remediator.exporter.files import Descriptors
from remediator.exporter.node import Node
from remediator.exporter.parsing import flat, meminfo, number, over_zones, stalled

MEMINFO = "MemTotal: 65536 kB\nMemFree: 400 kB\nMemAvailable: 8192 kB\nHugePages_Total: 4\nHugepagesize: 2048 kB\n"


def samples(tmp_path: Path, **files: str) -> dict[str, float]:
    """Samples of a /proc made of these files (`meminfo`, `vmstat`, `pressure`)."""
    (tmp_path / "pressure").mkdir()
    for name, text in {"meminfo": MEMINFO, **files}.items():
        (tmp_path / ("pressure/memory" if name == "pressure" else name)).write_text(text)
    return {name + labels: value for name, labels, value in Node(tmp_path, Descriptors()).samples()}


def test_hugepages_are_told_apart(tmp_path):
    """Reserved hugepages are bytes of their own: the rules take them out of the total."""
    found = samples(tmp_path)
    assert found["hugepages_bytes"] == 4 * 2048 * 1024
    assert found["memory_available_bytes"] == 8192 * 1024


def test_without_mem_available_an_estimate_is_made_and_told(tmp_path):
    """Kernels before 3.14: free, cache without shmem, half of the reclaimable slab, less a reserve."""
    text = "MemTotal: 100000 kB\nMemFree: 10000 kB\nCached: 30000 kB\nShmem: 5000 kB\nSReclaimable: 2000 kB\n"
    (tmp_path / "pressure").mkdir()
    (tmp_path / "meminfo").write_text(text)
    node = Node(tmp_path, Descriptors())
    found = {name: value for name, _, value in node.samples()}
    assert found["memory_available_bytes"] == (10000 + 25000 + 1000 - 1000) * 1024
    assert node.modes() == {"memory_available_estimated": True, "memory_available_implausible": False}


def test_more_available_than_there_is_leaves_the_sample_out(tmp_path):
    """A figure that cannot be is not exported, neither clamped nor 0."""
    found = samples(tmp_path, meminfo="MemTotal: 10 kB\nMemFree: 1 kB\nMemAvailable: 20 kB\n")
    assert "memory_available_bytes" not in found


def test_a_degraded_mode_ends_when_its_reason_does(tmp_path):
    """An implausible figure is flagged at the scrape that saw it, and not for ever."""
    (tmp_path / "meminfo").write_text("MemTotal: 10 kB\nMemFree: 1 kB\nMemAvailable: 20 kB\n")
    node = Node(tmp_path, Descriptors())
    list(node.samples())
    assert node.modes()["memory_available_implausible"]
    (tmp_path / "meminfo").write_text(MEMINFO)
    list(node.samples())
    assert not node.modes()["memory_available_implausible"]


@pytest.mark.parametrize(
    ("vmstat", "wanted"),
    [
        ("pgscan_direct 7\npgscan_direct_throttle 100\n", 7),
        ("pgscan_direct_dma 1\npgscan_direct_dma32 2\npgscan_direct_normal 4\npgscan_direct_throttle 9\n", 7),
        ("pgscan_direct 7\npgscan_kswapd 50\n", 7),
    ],
)
def test_direct_reclaim_is_found_in_every_kernel_generation(tmp_path, vmstat, wanted):
    """One counter, or one per zone (CentOS 7); throttling is something else."""
    assert samples(tmp_path, vmstat=vmstat)["direct_reclaim_pages_total"] == wanted


def test_a_kernel_without_the_counter_exports_none(tmp_path):
    """Unknown is not 0."""
    assert "direct_reclaim_pages_total" not in samples(tmp_path, vmstat="pgmajfault 3\n")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n", {"some": 1.5}),
        ("some total=1000000\nfull total=500000\n", {"some": 1.0, "full": 0.5}),
        ("", {}),
        ("nonsense\nsome total=x\n", {}),
    ],
)
def test_psi_is_read_as_far_as_it_is_there(text, wanted):
    """C04: a file with only a `some` line gives just that; totals are microseconds."""
    assert stalled(text.encode()) == wanted


def test_kernel_files_with_garbage_give_what_is_readable():
    """Unknown keys and broken lines are passed over."""
    assert flat(b"anon 5\nbroken\nx y\nfile 7\n") == {b"anon": 5, b"file": 7}
    assert meminfo(b"MemTotal: 2 kB\nBad\nHugePages_Total: 3\n") == {b"MemTotal": 2048, b"HugePages_Total": 3}
    assert (number(b"max\n"), number(b"12\n"), number(b"")) == (None, 12, None)
    assert over_zones({b"pgscan_direct_throttle": 1}, b"pgscan_direct") is None
