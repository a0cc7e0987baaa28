"""`scripts/get-tools`: what is on PATH is used, the rest is unpacked into the clone, failures say what to do."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "get-tools"
SHELL_WORDS = ("sh", "dirname", "mkdir", "printf", "sed", "sort", "head", "tail", "ln", "rm", "cat", "ls", "chmod")
GOOD = {
    "prometheus": "2.53.1",
    "promtool": "2.53.1",
    "alertmanager": "0.27.0",
    "amtool": "0.27.0",
    "node_exporter": "1.8.2",
}


class Clone:
    """A clone with nothing but the script, and a PATH of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.path = directory / "clone", directory / "path"
        (self.directory / "scripts").mkdir(parents=True)
        self.path.mkdir()
        shutil.copy(SCRIPT, self.directory / "scripts" / "get-tools")
        for word in SHELL_WORDS:
            if (found := shutil.which(word)) is not None:
                (self.path / word).symlink_to(os.path.realpath(found) if word != "sh" else found)

    def program(self, name: str, body: str) -> None:
        """Put a program on PATH."""
        file = self.path / name
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)

    def tool(self, name: str, version: str) -> None:
        """Put a program on PATH that tells a version as Prometheus' programs do."""
        self.program(name, f'echo "{name}, version {version} (branch: HEAD, revision: 0)"')

    def get_tools(self) -> subprocess.CompletedProcess[str]:
        """Run the script."""
        return subprocess.run(
            [str(self.directory / "scripts" / "get-tools")],
            env={"PATH": str(self.path), "HOME": str(self.directory)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A fresh one."""
    return Clone(tmp_path)


def test_programs_on_path_are_used(clone: Clone) -> None:
    """New enough ones are linked, under whatever name they have; nothing is downloaded."""
    for name, version in GOOD.items():
        clone.tool(name, version)
    done = clone.get_tools()
    assert done.returncode == 0, done.stderr
    links = clone.directory / ".tools" / "bin"
    assert {link.name for link in links.iterdir()} == {*GOOD, "prometheus-node-exporter"} - {"node_exporter"}
    assert os.path.realpath(links / "prometheus-node-exporter") == str(clone.path / "node_exporter")


def test_second_run_has_nothing_to_do(clone: Clone) -> None:
    """It is idempotent."""
    for name, version in GOOD.items():
        clone.tool(name, version)
    clone.get_tools()
    again = clone.get_tools()
    assert again.returncode == 0
    assert "all there" in again.stdout


def test_old_program_is_not_used(clone: Clone) -> None:
    """2.5 is older than 2.42: versions are compared as numbers."""
    for name, version in {**GOOD, "prometheus": "2.5.0"}.items():
        clone.tool(name, version)
    done = clone.get_tools()
    assert done.returncode == 2
    assert "prometheus" in done.stderr


def test_machine_without_apt_is_told_what_to_put_on_path(clone: Clone) -> None:
    """No Debian: the programs and their versions are named."""
    done = clone.get_tools()
    assert done.returncode == 2
    for words in ("Prometheus >= 2.42", "Alertmanager >= 0.25", "node_exporter", "PATH"):
        assert words in done.stderr


def test_missing_network_is_told(clone: Clone) -> None:
    """Package lists that cannot be fetched ask for the network, not for root."""
    clone.program("apt-get", "exit 100")
    clone.program("dpkg-deb", "exit 0")
    done = clone.get_tools()
    assert done.returncode == 2
    assert "network" in done.stderr


def test_only_what_is_missing_is_downloaded_into_the_clone(clone: Clone) -> None:
    """apt works on lists, cache and state of its own below .tools, and installs nothing."""
    for name, version in GOOD.items():
        if name not in ("alertmanager", "amtool"):
            clone.tool(name, version)
    said = clone.directory / "said"
    clone.program("apt-get", f'echo "$@" >> {said}\ncase "$*" in *download*) exit 100;; esac')
    clone.program("dpkg-deb", "exit 0")
    clone.get_tools()
    calls = said.read_text().splitlines()
    assert [call.split()[-1] for call in calls] == ["update", "prometheus-alertmanager"]
    own = str(clone.directory / ".tools" / "apt")
    for call in calls:
        assert f"Dir::State={own}" in call
        assert f"Dir::Cache={own}" in call
        assert "install" not in call.split()
