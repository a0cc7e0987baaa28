"""Golden expositions: what the exporter makes of captures of real kernels.

To renew them after a change that is meant: `REGENERATE=1 pytest tests/exporter/test_captures.py`, then read the diff.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from remediator.exporter.collecting import Collector
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
