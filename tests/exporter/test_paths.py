"""Paths of cgroups: a table of public ones with right answers, and anything at all."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediator.exporter.paths import CgroupPath, classify

TABLE = Path(__file__).parent / "captures" / "paths.tsv"
ROWS = [line.split("\t") for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
UID = "8dbc5577-d0e2-4706-8787-57d52c03ddf2"
ESCAPED = UID.replace("-", "_")
ID = "b" * 64


@pytest.mark.parametrize("row", ROWS, ids=[row[0][-40:] for row in ROWS])
def test_a_known_path_is_understood(row):
    """C03: level, uid, qos, container id and runtime of every path in the table."""
    path, level, uid, qos, container_id, runtime = (row + [""] * 6)[:6]
    assert classify(path) == CgroupPath(level, uid, qos, container_id, runtime)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (
            f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
            f"kubelet-kubepods-burstable-pod{ESCAPED}.slice/cri-containerd-{ID}.scope",
            CgroupPath("container", UID, "burstable", ID, "containerd"),
        ),
        (f"/kubepods/besteffort/pod{UID}/crio-{ID}", CgroupPath("container", UID, "besteffort", ID, "cri-o")),
        (f"/kubepods/burstable/pod{UID}/{ID}/init.scope", CgroupPath("nested", UID, "burstable", ID, "")),
        (f"/kubelet/kubepods/pod{UID}", CgroupPath("pod", UID, "guaranteed")),
        ("/", CgroupPath("none")),
    ],
)
def test_paths_beside_the_table_are_understood(path, wanted):
    """Shapes that follow from the table's: kind, CRI-O with cgroupfs, nested roots."""
    assert classify(path) == wanted


@given(st.text())
def test_no_path_is_an_error(path):
    """Whatever a cgroup is called, it is something or nothing, never a failure."""
    assert classify(path).level in {"none", "root", "qos", "pod", "container", "helper", "nested"}
