"""The images: the Dockerfile is linted, its lock is whole, and its build step makes something that runs."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def _pins(name: str) -> dict[str, str]:
    found = _PIN.findall((ROOT / "requirements" / name).read_text())
    return {package.lower().replace("_", "-"): version for package, version in found}


def test_dockerfile_is_linted() -> None:
    """hadolint finds nothing."""
    hadolint = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([hadolint, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_image_is_locked() -> None:
    """Every dependency is pinned for the image with hashes, at the version that the tests run with (`make lock`)."""
    image, tested = _pins("remediator.txt"), _pins("ci.txt")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {re.split(r"[<>=\[]", requirement)[0].lower() for requirement in project["dependencies"]}
    assert wanted - set(image) == set()
    assert {name: version for name, version in image.items() if tested.get(name, version) != version} == {}
    blocks = re.split(r"\n(?=\S)", (ROOT / "requirements" / "remediator.txt").read_text())
    assert [block for block in blocks if "==" in block and "--hash=sha256:" not in block] == []


def test_one_version() -> None:
    """Package, chart and images carry the same version."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((ROOT / "helm" / "remediator" / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)
    assert f"ARG VERSION={version}\n" in (ROOT / "Dockerfile").read_text()


def _context(directory: Path) -> Path:
    """What the build sees: the files that .dockerignore lets through."""
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line.startswith("!"):
            source, target = ROOT / line[1:], directory / line[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)
    return directory


def test_exporter_image_needs_only_python(tmp_path: Path) -> None:
    """With nothing but the files that are copied into it, and no package, the exporter reads this machine."""
    shutil.copytree(ROOT / "remediator" / "exporter", tmp_path / "remediator" / "exporter")
    shutil.copy(ROOT / "remediator" / "__init__.py", tmp_path / "remediator")
    command = [sys.executable, "-S", "-m", "remediator.exporter.main", "--once"]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "memory_exporter_node_memory_total_bytes" in done.stdout


@pytest.mark.acceptance
def test_build_step_makes_what_runs(tmp_path: Path) -> None:
    """From the build's context alone the remediator installs by hash, without pip left over, and finds its rules."""
    target = tmp_path / "opt"
    subprocess.run(
        [_context(tmp_path / "src") / "scripts" / "install-into", target],
        env=os.environ | {"PYTHON": sys.executable},
        check=True,
        timeout=110,
    )
    program = target / "bin" / "remediator"
    rules = subprocess.run([program, "rules"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "node:memory_level" in rules
    refused = subprocess.run([program, "serve"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "--prometheus" in refused.stderr
    assert not (target / "bin" / "pip").exists()
