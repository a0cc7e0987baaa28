"""Writes the dashboards' JSON beside this file; `make chart` copies it into the chart.

Queries use only what rules/, the exporter, node-exporter, kube-state-metrics and remediator/metrics.py give; tests hold
them to it, and run each on a drill's Prometheus.
"""

import json
from pathlib import Path

from dashboards import exporter, fleet, node, remediator
from dashboards.panels import Json

HERE = Path(__file__).resolve().parent
DASHBOARDS: dict[str, Json] = {
    "fleet.json": fleet.DASHBOARD,
    "node.json": node.DASHBOARD,
    "remediator.json": remediator.DASHBOARD,
    "exporter.json": exporter.DASHBOARD,
}


def text(content: Json) -> str:
    """As it is committed."""
    return json.dumps(content, indent=1) + "\n"


if __name__ == "__main__":
    for name, content in DASHBOARDS.items():
        (HERE / name).write_text(text(content), encoding="utf-8")
