"""The exporter as a process: options, errors, pages, end."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

from remediator.exporter.hierarchy import find_hierarchy
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


@pytest.mark.parametrize(
    ("kind", "version"), [("pure v2", 2), ("pure v1", 1), ("hybrid, memory on v1", 1), ("hybrid, memory on v2", 2)]
)
def test_the_hierarchy_of_a_host_finds_itself(tmp_path, kind, version):
    """C01: v2 is where cgroup.controllers holds memory, not where a cgroup2 mount merely exists."""
    if kind == "pure v2":
        (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    elif kind == "hybrid, memory on v2":
        (tmp_path / "unified").mkdir()
        (tmp_path / "unified" / "cgroup.controllers").write_text("memory\n")
    else:
        (tmp_path / "memory").mkdir()
        (tmp_path / "memory" / "memory.usage_in_bytes").write_text("1\n")
    if kind == "hybrid, memory on v1":
        (tmp_path / "unified").mkdir()
        (tmp_path / "unified" / "cgroup.controllers").write_text("cpu io\n")
    found = find_hierarchy(tmp_path)
    below = {"pure v2": "", "hybrid, memory on v2": "unified"}.get(kind, "memory")
    assert (found.version, Path(found.root)) == (version, tmp_path / below)


def test_a_containers_own_cgroup_is_not_taken_for_the_host(tmp_path, capsys):
    """A root with memory.current is one cgroup, as seen from inside a namespace: it is told as a degraded mode."""
    root, proc = unpack("v2-linux-6.12", tmp_path)
    (root / "memory.current").write_text("5\n")
    assert main(["--once", "--node", "n", "--cgroup-root", str(root), "--proc-root", str(proc)]) == 0
    assert 'memory_exporter_degraded{node="n",mode="cgroup_root_is_not_the_hosts"} 1' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "value"),
    [("--listen", "nowhere"), ("--listen", "127.0.0.1:99999"), ("--node-cgroup", "/none"), ("--history-seconds", "-1")],
)
def test_a_wrong_value_names_its_option(tmp_path, capsys, option, value):
    """Values that cannot be are told with their option; status 2."""
    root, proc = unpack("v2-linux-6.12", tmp_path)
    assert main(["--cgroup-root", str(root), "--proc-root", str(proc), option, value]) == 2
    assert f"remediator exporter: {option}: " in capsys.readouterr().err


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become another user; unprivileged runs test it all the time"
)
@pytest.mark.parametrize("readable", [True, False])
def test_no_privilege_is_needed_where_the_tree_can_be_read(tmp_path, readable):
    """As nobody on a read-only tree it works; on one that may not be read, --cgroup-root is named."""
    with tempfile.TemporaryDirectory() as place:
        root, proc = unpack("v2-linux-6.12", Path(place))
        for path in Path(place).rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        Path(place).chmod(0o555)
        root.chmod(0o555 if readable else 0)
        arguments = ["--once", "--node", "n", "--cgroup-root", str(root), "--proc-root", str(proc)]
        # argparse imports the first two late; an interpreter under /root could not be read by then.
        code = (
            "import locale, os, shutil; from remediator.exporter.main import main\n"
            "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            f"raise SystemExit(main({arguments!r}))"
        )
        command = [sys.executable, "-c", code]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        root.chmod(0o755)
    if readable:
        assert (found.returncode, found.stderr) == (0, "")
        assert 'unreadable_files_total{node="n"} 0' in found.stdout
    else:
        assert found.returncode == 2
        assert "--cgroup-root" in found.stderr


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


def test_the_cgroup_that_stands_for_the_node_tells_its_own_pressure(tmp_path, capsys):
    """--node-cgroup on v2: faults, OOM kills, reclaim and PSI are the cgroup's, not the machine's."""
    root, proc = unpack("v2-linux-6.12", tmp_path)
    cgroup = root / "limited"
    cgroup.mkdir()
    files = {
        "memory.current": "900",
        "memory.max": "1000",
        "memory.stat": "anon 500\nfile 300\nshmem 100\npgmajfault 7\npgscan_direct 11\n",
        "memory.events": "oom 5\noom_kill 3\n",
        "memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n",
    }
    for name, content in files.items():
        (cgroup / name).write_text(content)
    arguments = ["--once", "--node", "n", "--cgroup-root", str(root), "--proc-root", str(proc)]
    assert main([*arguments, "--node-cgroup", "/limited"]) == 0
    page = capsys.readouterr().out
    for sample in ('major_faults_total{node="n"} 7', 'oom_kills_total{node="n"} 3', 'kind="some"} 1.5'):
        assert f"memory_exporter_node_{sample}" in page or sample in page
    assert 'memory_exporter_node_direct_reclaim_pages_total{node="n"} 11' in page


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


def test_one_connection_serves_many_scrapes(served):
    """Prometheus keeps its connection: pages come one after another on it, HEAD without a body."""
    _, url = served
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)
    for method, path, status in [
        ("GET", "/metrics", 200),
        ("HEAD", "/metrics", 200),
        ("GET", "/metrics/containers?x=1", 200),
        ("GET", "/nothing", 404),
        ("DELETE", "/metrics", 405),
        ("GET", "/healthz", 200),
    ]:
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == status, (method, path)
        assert bool(body) == (method != "HEAD")
    connection.close()


@pytest.mark.parametrize(
    "said", [b"nonsense\r\n\r\n", b"GET /metrics\r\n\r\n", b"GET ".ljust(8192, b"x"), b"\xff\x00\r\n"]
)
def test_what_is_no_request_is_refused(served, said):
    """Anything but HTTP gets 400 and is hung up on; the next client is served."""
    _, url = served
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as client:
        client.sendall(said)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100).startswith(b"HTTP/1.1 400 ")
    urllib.request.urlopen(f"{url}/healthz", timeout=5).close()


def test_the_exporter_imports_nothing_of_the_rest():
    """It starts without the product and its clients: standard library only."""
    code = "import sys, remediator.exporter.main; print([m for m in sys.modules if m.startswith('remediator')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert all("exporter" in name or name == "'remediator'" for name in found.strip("[]\n").split(", "))
