"""The programs that a drill needs and does not bring: Prometheus, Alertmanager, node-exporter."""

import os
import shutil
from pathlib import Path

from remediator.drill.processes import DrillError

_NAMES = {
    "prometheus": ("prometheus",),
    "promtool": ("promtool",),
    "alertmanager": ("alertmanager", "prometheus-alertmanager"),
    "amtool": ("amtool",),
    "node-exporter": ("prometheus-node-exporter", "node_exporter"),
}


def directories() -> list[Path]:
    """Where programs are looked for before PATH: .tools/bin of the clone, or of the working directory."""
    clone = Path(__file__).resolve().parents[2]
    given = os.environ.get("REMEDIATOR_TOOLS")
    return [Path(given)] if given else [clone / ".tools" / "bin", Path.cwd() / ".tools" / "bin"]


def find(tool: str) -> str:
    """Path of a program; DrillError that says how to get it."""
    for name in _NAMES[tool]:
        for directory in directories():
            if os.access(directory / name, os.X_OK):
                return str(directory / name)
        if (found := shutil.which(name)) is not None:
            return found
    raise DrillError(f"{tool} is not there: run `make tools`, or put {' or '.join(_NAMES[tool])} on PATH")
