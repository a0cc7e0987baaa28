"""Runs a built image as the chart does, and asks its own health check: `try_image.py NAME INSPECTION ROOT`. Root, runc.

User of the image, read-only root, no capability, no new privileges, a network of its own; the exporter also gets the
host's /proc and cgroups, read-only. Exits with a sentence when something is not as it should be.
"""

# ruff: noqa: S101  # a script of checks: each says what is wrong
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]
_ARGUMENTS = {
    "remediator-exporter": ["--listen=0.0.0.0:9101", "--cgroup-root=/host/cgroup", "--proc-root=/host/proc"],
    "remediator": [
        *("serve", "--insecure", "--listen=0.0.0.0:8080", "--audit-dir=/tmp", "--config=/tmp/policy.yaml"),
        *("--prometheus=http://127.0.0.1:9090", "--alertmanager=http://127.0.0.1:9093", "--kubeconfig=/tmp/kubeconfig"),
    ],
}
# The server gets a policy and a cluster that never answers: it must live all the same, and say that it is not ready.
_KUBECONFIG = (
    "{apiVersion: v1, kind: Config, current-context: c, users: [{name: u, user: {}}], clusters: [{name: c, "
    'cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: c, context: {cluster: c, user: u}}]}'
)
_HOST = {"/host/proc": "/proc", "/host/cgroup": "/sys/fs/cgroup"}
_DEADLINE_SECONDS = 60
_MUST_FAIL = "import pathlib; pathlib.Path('/opt/written').write_text('')"
_STATUS = "import pathlib; print(pathlib.Path('/proc/self/status').read_text())"


def bundle(directory: Path, image: Json, root: Path, name: str) -> None:
    """An OCI bundle: the image's own user, entry point and environment, confined as the chart confines it."""
    subprocess.run(["runc", "spec"], cwd=directory, check=True)
    spec = json.loads((directory / "config.json").read_text())
    user, group = map(int, image["User"].split(":"))
    spec["process"] |= {
        "terminal": False,
        "user": {"uid": user, "gid": group},
        "args": [*image["Entrypoint"], *_ARGUMENTS[name]],
        "env": [*image["Env"], "NODE_NAME=here"],
        "cwd": image.get("WorkingDir") or "/",
        "capabilities": {},
        "noNewPrivileges": True,
    }
    spec["root"] = {"path": str(root), "readonly": True}
    spec["mounts"].append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]})  # noqa: S108
    if name == "remediator":
        for file, text in (("policy.yaml", "mode: observe\n"), ("kubeconfig", _KUBECONFIG)):
            (directory / file).write_text(text)
            spec["mounts"].append(_bound(f"/tmp/{file}", directory / file))  # noqa: S108
    else:
        spec["mounts"] += [_bound(inside, Path(outside)) for inside, outside in _HOST.items()]
    (directory / "config.json").write_text(json.dumps(spec))


def _bound(inside: str, outside: Path) -> Json:
    return {"destination": inside, "type": "bind", "source": str(outside), "options": ["rbind", "ro"]}


def inside(name: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run something in the container."""
    return subprocess.run(["runc", "exec", name, *command], capture_output=True, text=True, check=False)


def check(name: str, image: Json, container: "subprocess.Popen[bytes]") -> str:
    """Wait until the health check passes, look at what confines it -> what was found; raises AssertionError."""
    test = image["Healthcheck"]["Test"][1:]
    end = time.monotonic() + _DEADLINE_SECONDS
    while (asked := inside(name, *test)).returncode != 0:
        assert container.poll() is None, "it ended by itself"
        assert time.monotonic() < end, f"its health check never passed: {asked.stderr[-500:]}"
        time.sleep(0.5)
    assert inside(name, "python3", "-c", _MUST_FAIL).returncode != 0, "its root file system can be written"
    status = inside(name, "python3", "-c", _STATUS).stdout
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert lines["Uid"].split()[0] != "0", "it runs as root"
    assert int(lines["CapEff"], 16) == int(lines["CapBnd"], 16) == 0, "it holds capabilities"
    assert lines["NoNewPrivs"].strip() == "1"
    page = "9101/metrics" if name == "remediator-exporter" else "8080/metrics"
    read = f"import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:{page}', timeout=5).read().decode())"
    metrics = inside(name, "python3", "-c", read).stdout
    wanted = "memory_exporter_node_memory_total_bytes" if name == "remediator-exporter" else "remediator_"
    assert wanted in metrics, f"/metrics says nothing of {wanted}"
    return f"healthy as uid {lines['Uid'].split()[0]}, without capabilities, on a read-only root"


def main(name: str, inspection: Path, root: Path) -> None:
    """Run, look, end."""
    image = json.loads(inspection.read_text())["Docker"]["config"]
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        bundle(directory, image, root, name)
        log = (directory / "log").open("wb")
        container = subprocess.Popen(["runc", "run", "--bundle", str(directory), name], stdout=log, stderr=log)
        try:
            print(f"{name}: {check(name, image, container)}")  # noqa: T201
        except AssertionError as error:
            sys.exit(f"{name}: {error}\n{(directory / 'log').read_text()[-2000:]}")
        finally:
            subprocess.run(["runc", "delete", "--force", name], check=False)
            container.wait(20)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
