"""The exporter as a process: options, errors, pages, end."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from remediator.exporter.main import main
from tests.exporter.trees import unpack


def test_once_prints_one_exposition(tmp_path, capsys):
    """--once works on any tree, plain files included, and exits with 0."""
    root, proc = unpack("v2-linux-6.12", tmp_path)
    assert main(["--once", "--node", "n1", "--cgroup-root", str(root), "--proc-root", str(proc)]) == 0
    assert 'memory_exporter_node_memory_total_bytes{node="n1"}' in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["missing", "file", "empty"])
def test_a_wrong_root_names_the_option_and_the_fix(tmp_path, capsys, kind):
    """C01: a root that is missing, a file, or no hierarchy is told with its option; status 2."""
    root = tmp_path / "root"
    if kind == "file":
        root.write_text("")
    elif kind == "empty":
        root.mkdir()
    assert main(["--once", "--cgroup-root", str(root)]) == 2
    assert "--cgroup-root" in capsys.readouterr().err


def test_a_wrong_proc_root_names_the_option(tmp_path, capsys):
    """A proc root without meminfo is told; status 2."""
    root, _ = unpack("v2-linux-6.12", tmp_path)
    assert main(["--once", "--cgroup-root", str(root), "--proc-root", str(tmp_path)]) == 2
    assert "--proc-root" in capsys.readouterr().err


def test_a_port_in_use_is_told(tmp_path, capsys):
    """--listen on a taken port names the option; status 2."""
    root, proc = unpack("v2-linux-6.12", tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["--listen", address, "--cgroup-root", str(root), "--proc-root", str(proc)]) == 2
    assert "--listen" in capsys.readouterr().err


def test_a_hybrid_host_is_read_as_v1(tmp_path, capsys):
    """C01: a cgroup2 mount without the memory controller does not make a host v2."""
    root, proc = unpack("v1-linux-5.10", tmp_path)
    (root / "unified").mkdir()
    (root / "unified" / "cgroup.controllers").write_text("cpu io\n")
    assert main(["--once", "--cgroup-root", str(root), "--proc-root", str(proc)]) == 0
    assert 'level="pod"' in capsys.readouterr().out


def test_a_cgroup_can_stand_for_the_node(tmp_path, capsys):
    """--node-cgroup: the limit is the total, and page cache counts as available."""
    root, proc = unpack("v2-linux-6.12", tmp_path)
    cgroup = root / "limited"
    cgroup.mkdir()
    files = {"memory.current": "900", "memory.max": "1000", "memory.stat": "anon 500\nfile 300\nshmem 100\n"}
    for name, text in files.items():
        (cgroup / name).write_text(text)
    arguments = ["--once", "--node", "n", "--cgroup-root", str(root), "--proc-root", str(proc)]
    assert main([*arguments, "--node-cgroup", "/limited"]) == 0
    page = capsys.readouterr().out
    assert 'memory_total_bytes{node="n"} 1000' in page
    assert 'memory_available_bytes{node="n"} 300' in page


def test_names_with_quotes_and_bad_bytes_stay_valid(tmp_path, capsys):
    """Label values are escaped; bytes that are no UTF-8 are shown, not dropped."""
    root, proc = unpack("v2-linux-6.12", tmp_path)
    odd = os.fsencode(root) + b'/odd"\\ \xff.slice'
    os.mkdir(odd)  # noqa: PTH102 - the name is bytes
    for name, text in {b"memory.current": b"5", b"memory.stat": b"anon 5\n"}.items():
        Path(os.fsdecode(odd + b"/" + name)).write_bytes(text)
    assert main(["--once", "--cgroup-root", str(root), "--proc-root", str(proc)]) == 0
    assert r'path="/odd\"\\ \\xff.slice"' in capsys.readouterr().out


@pytest.fixture
def served(tmp_path):
    """A running exporter over a captured tree, and its URL."""
    root, proc = unpack("v2-linux-6.12", tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [sys.executable, "-m", "remediator.exporter.main", "--listen", address, "--node", "n1"]
    process = subprocess.Popen([*command, "--cgroup-root", str(root), "--proc-root", str(proc)])
    url = f"http://{address}"
    for _ in range(100):
        try:
            urllib.request.urlopen(f"{url}/healthz", timeout=1).close()
            break
        except OSError:
            time.sleep(0.05)
    yield process, url
    process.kill()
    process.wait()


def test_the_pages_are_served_and_a_signal_ends_it(served):
    """Pods on /metrics, containers on their own page, samples on /history; SIGTERM ends it with 0."""
    process, url = served

    def page(path: str) -> str:
        with urllib.request.urlopen(url + path, timeout=5) as answer:
            return answer.read().decode()

    assert re.search(r'cgroup_memory_anon_bytes\{node="n1",level="pod"', page("/metrics"))
    assert 'cgroup_memory_anon_bytes{node="n1",level="container"' not in page("/metrics")
    assert 'level="container"' in page("/metrics/containers")
    assert json.loads(page("/history"))["samples"][0]["node"]["memory_total_bytes"] > 0
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def test_the_exporter_imports_nothing_of_the_rest():
    """It starts without the product and its clients: standard library only."""
    code = "import sys, remediator.exporter.main; print([m for m in sys.modules if m.startswith('remediator')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert all("exporter" in name or name == "'remediator'" for name in found.strip("[]\n").split(", "))
