"""Grafana panels (10 and newer) as data: what every panel has in common. Which panels there are is `generate.py`.

A panel says its queries, its unit and what it means; a gap stays a gap, for missing is never zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
RUNBOOK = "https://remediator.io/docs/runbook.md"
STATUS_PAGE = "http://127.0.0.1:8080"
"""As `kubectl port-forward` brings it here; the chart puts in the address of the installation."""
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24
LEVELS = {0: ("GREEN", "green"), 1: ("YELLOW", "yellow"), 2: ("ORANGE", "orange"), 3: ("RED", "red")}
LEVEL_MAPPING = [
    {
        "type": "value",
        "options": {str(n): {"text": name, "color": color, "index": n} for n, (name, color) in LEVELS.items()},
    }
]
UP_MAPPING = [
    {"type": "value", "options": {"0": {"text": "no", "color": "red"}, "1": {"text": "yes", "color": "green"}}}
]


@dataclass(frozen=True)
class Panel:
    """One panel; `queries` are (PromQL, legend)."""

    title: str
    queries: Sequence[tuple[str, str]]
    kind: str = "timeseries"
    unit: str = "short"
    text: str = ""
    width: int = 12
    height: int = 8
    low: float | None = 0
    high: float | None = None
    stacked: bool = False
    mappings: Sequence[Json] = ()
    runbook: str = ""
    dashed: str = ""
    """Legends that match this pattern are drawn as dashed lines: thresholds."""
    units: dict[str, str] = field(default_factory=dict)
    """Unit by legend, where a table holds several."""
    danger: float | None = None
    """From here on a figure is red."""


def dashboard(name: str, title: str, variables: Sequence[Json], panels: Sequence[Panel], **more: Any) -> Json:
    """The whole of one dashboard. `name` ends its uid: links rely on it."""
    return {
        "uid": f"remediator-{name}",
        "title": f"Memory / {title}",
        "tags": ["remediator"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": list(more.get("annotations", ()))},
        "links": _links(more.get("page", "/")),
        "templating": {"list": [_datasource(), *variables]},
        "panels": _placed(panels),
    }


def variable(name: str, query: str, *, several: bool) -> Json:
    """A variable filled by a query; `several` also offers All, which matches series without the label too."""
    return {
        "name": name,
        "label": name,
        "type": "query",
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": several,
        "includeAll": several,
        "allValue": ".*" if several else None,
        "current": {"text": "All", "value": "$__all"} if several else {},
        "options": [],
    }


def moments(name: str, expression: str, color: str) -> Json:
    """Annotations at unix times (s) that a query's values tell."""
    return {
        "name": name,
        "datasource": DATASOURCE,
        "enable": True,
        "iconColor": color,
        "expr": f"({expression}) * 1000",
        "useValueForTime": "on",
        "titleFormat": name,
        "textFormat": "{{node}}",
        "step": "60s",
    }


def _links(page: str) -> list[Json]:
    common = {"asDropdown": True, "includeVars": True, "keepTime": True}
    return [
        {"title": "Memory dashboards", "type": "dashboards", "tags": ["remediator"], **common},
        {"title": "Runbook", "type": "link", "url": RUNBOOK, "icon": "doc", "targetBlank": True, "tags": []},
        {
            "title": "Status page",
            "type": "link",
            "url": STATUS_PAGE + page,
            "icon": "external link",
            "targetBlank": True,
            "tags": [],
        },
    ]


def _datasource() -> Json:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "options": []}


def _placed(panels: Sequence[Panel]) -> list[Json]:
    """Left to right, a new line where one is full."""
    placed, x, y, line = [], 0, 0, 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > WIDTH:
            x, y, line = 0, y + line, 0
        at = {"x": x, "y": y, "w": panel.width, "h": panel.height}
        placed.append({"id": number, "gridPos": at, **_drawn(panel)})
        x, line = x + panel.width, max(line, panel.height)
    return placed


def _drawn(panel: Panel) -> Json:
    instant = panel.kind in ("stat", "table", "bargauge")
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": DATASOURCE,
        "links": [{"title": "Runbook", "url": f"{RUNBOOK}#{panel.runbook}", "targetBlank": True}]
        if panel.runbook
        else [],
        "targets": [_target(n, expression, legend, panel, instant) for n, (expression, legend) in _numbered(panel)],
        "fieldConfig": {"defaults": _field(panel), "overrides": _overrides(panel)},
        "options": _OPTIONS.get(panel.kind, {}),
        "transformations": _one_table(panel) if panel.kind == "table" else [],
    }


def _numbered(panel: Panel) -> list[tuple[int, tuple[str, str]]]:
    return list(enumerate(panel.queries))


def _target(number: int, expression: str, legend: str, panel: Panel, instant: bool) -> Json:
    return {
        "refId": chr(ord("A") + number),
        "datasource": DATASOURCE,
        "expr": expression,
        "legendFormat": legend,
        "instant": instant,
        "range": not instant,
        "format": "table" if panel.kind == "table" else "time_series",
    }


def _field(panel: Panel) -> Json:
    steps = [{"color": "green", "value": None}]
    if panel.danger is not None:
        steps.append({"color": "red", "value": panel.danger})
    defaults: Json = {
        "unit": panel.unit,
        "noValue": "no data",
        "mappings": list(panel.mappings),
        "thresholds": {"mode": "absolute", "steps": steps},
    }
    if panel.kind == "timeseries":
        stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
        defaults["custom"] = {
            "fillOpacity": 30 if panel.stacked else 5,
            "lineWidth": 1,
            "spanNulls": False,
            "showPoints": "never",
            "stacking": stacking,
        }
        defaults |= {"min": panel.low} if panel.low is not None else {}
        defaults |= {"max": panel.high} if panel.high is not None else {}
    return defaults


def _overrides(panel: Panel) -> list[Json]:
    found = [
        {"matcher": {"id": "byName", "options": name}, "properties": [{"id": "unit", "value": unit}]}
        for name, unit in panel.units.items()
    ]
    if panel.dashed:
        line = [
            {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}},
            {"id": "custom.fillOpacity", "value": 0},
        ]
        found.append({"matcher": {"id": "byRegexp", "options": panel.dashed}, "properties": line})
    if panel.kind == "table":
        url = "/d/remediator-node?var-node=${__value.raw}&${cluster:queryparam}&${datasource:queryparam}"
        link = [{"id": "links", "value": [{"title": "This node", "url": url}]}]
        found.append({"matcher": {"id": "byName", "options": "node"}, "properties": link})
    if "level" in panel.units:
        shown = [
            {"id": "mappings", "value": LEVEL_MAPPING},
            {"id": "custom.cellOptions", "value": {"type": "color-background"}},
        ]
        found.append({"matcher": {"id": "byName", "options": "level"}, "properties": shown})
    return found


def _one_table(panel: Panel) -> list[Json]:
    """Queries side by side, a row per node, worst first."""
    names = {f"Value #{chr(ord('A') + number)}": legend for number, (_, legend) in _numbered(panel)}
    return [
        {"id": "merge", "options": {}},
        {
            "id": "organize",
            "options": {"excludeByName": {"Time": True}, "renameByName": names, "indexByName": {"node": 0}},
        },
        {"id": "sortBy", "options": {"sort": [{"field": panel.queries[0][1], "desc": True}]}},
    ]


_LEGEND = {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull", "max"], "showLegend": True}
_OPTIONS: dict[str, Json] = {
    "timeseries": {"legend": _LEGEND, "tooltip": {"mode": "multi", "sort": "desc"}},
    "stat": {
        "colorMode": "value",
        "graphMode": "none",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "textMode": "auto",
    },
    "state-timeline": {"mergeValues": True, "showValue": "never", "rowHeight": 0.9, "legend": {"showLegend": False}},
    "bargauge": {
        "orientation": "horizontal",
        "displayMode": "basic",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    },
    "table": {"showHeader": True, "cellHeight": "sm"},
}
