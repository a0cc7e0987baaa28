"""Copies into the chart what it ships of the repository: rules in every variant, the route, dashboards. `make chart`.

A directory of rules holds only the files that differ from `graded` with node labels, which lie above it.
"""

import itertools
import shutil
import sys
from pathlib import Path

import yaml

from remediator import rulefiles

ROOT = Path(__file__).resolve().parents[1]
FILES = ROOT / "helm" / "remediator" / "files"


def fill(files: Path) -> None:
    """Write the chart's `files` directory anew."""
    shutil.rmtree(files, ignore_errors=True)
    shipped = rulefiles.render()
    _write(files / "rules", shipped)
    plain = {name: yaml.safe_load(text) for name, text in shipped.items()}
    for profile, join in itertools.product(rulefiles.PROFILES, rulefiles.NODE_JOINS):
        rendered = rulefiles.render(profile, join)
        differing = {name: text for name, text in rendered.items() if yaml.safe_load(text) != plain[name]}
        if differing:
            _write(files / "rules" / f"{profile}-{join}", differing)
    shutil.copy(ROOT / "rules" / "alertmanager" / "route.yaml", files / "route.yaml")
    (files / "dashboards").mkdir()
    for dashboard in sorted((ROOT / "dashboards").glob("*.json")):
        shutil.copy(dashboard, files / "dashboards" / dashboard.name)


def _write(directory: Path, texts: dict[str, str]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    fill(Path(sys.argv[1]) if len(sys.argv) > 1 else FILES)
