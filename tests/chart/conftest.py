"""The chart, rendered by real Helm 3 and Helm 4 (`make helm`), each variant once."""

import functools
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "remediator"
NAMESPACE = "memory"
VARIANTS = sorted(file.name.removesuffix("-values.yaml") for file in (CHART / "ci").glob("*-values.yaml"))
HELMS = ("helm3", "helm4")
Manifest = dict[str, Any]
# The values without which nothing can be installed.
LEAST = (
    "image.repository=r/remediator",
    "exporter.image.repository=r/remediator-exporter",
    "prometheus.url=http://p:9090",
    "alertmanager.urls={http://a:9093}",
    "webhook.tokenSecret.name=t",
)


def helm(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it; skips when it was not fetched."""
    path = ROOT / ".tools" / "bin" / program
    if not path.exists():
        pytest.skip(f"{program} is not in .tools/bin: run `make helm`")
    return subprocess.run([str(path), *arguments], capture_output=True, text=True, timeout=60, check=False)


def values_file(variant: str) -> Path:
    """The values of a variant."""
    return CHART / "ci" / f"{variant}-values.yaml"


@functools.cache
def rendered(variant: str, program: str = "helm3") -> tuple[Manifest, ...]:
    """All manifests of a variant."""
    done = helm(
        program, "template", "remediator", str(CHART), "--namespace", NAMESPACE, "-f", str(values_file(variant))
    )
    assert done.returncode == 0, done.stderr
    return tuple(document for document in yaml.safe_load_all(done.stdout) if document)


def one(manifests: tuple[Manifest, ...], kind: str, suffix: str = "") -> Manifest:
    """The only manifest of a kind, or of a kind and an end of its name."""
    (found,) = [m for m in manifests if m["kind"] == kind and m["metadata"]["name"].endswith(suffix)]
    return found


def with_values(*settings: str) -> subprocess.CompletedProcess[str]:
    """Render with the least that is needed and these `--set` words."""
    words = [word for setting in (*LEAST, *settings) for word in ("--set", setting)]
    return helm("helm3", "template", "remediator", str(CHART), "--namespace", NAMESPACE, *words)
