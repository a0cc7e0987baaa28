"""report.html: one self-contained page with the water mark, thresholds, levels and actions drawn over time."""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, select_autoescape

from remediator.drill.observation import LEVEL_NAMES
from remediator.drill.scenario import Scenario
from remediator.drill.story import Chronicle
from remediator.drill.timeline import timeline
from remediator.drill.wants import clock, seen_text
from remediator.rulefiles import PROFILES

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 1000, 320, 46, 34, 14
_ACTIONS = {
    "endpoints_drained": "drain",
    "cordoned": "cordon",
    "pod_terminating": "evict",
    "endpoints_restored": "restore",
    "uncordoned": "uncordon",
}


@dataclass(frozen=True, slots=True)
class Chart:
    """Scenario seconds and ratios to places on the drawing."""

    duration: float

    def x(self, seconds: float) -> float:
        """Horizontal place."""
        return round(LEFT + (WIDTH - LEFT - 10) * seconds / self.duration, 1)

    def y(self, ratio: float) -> float:
        """Vertical place."""
        return round(TOP + (HEIGHT - BOTTOM - TOP) * (1 - ratio), 1)

    def line(self, points: list[tuple[float, float]]) -> str:
        """A polyline's points."""
        return " ".join(f"{self.x(seconds)},{self.y(ratio)}" for seconds, ratio in points)


def write_page(path: Path, report: dict[str, Any], chronicle: Chronicle, scenario: Scenario) -> None:
    """Write the page."""
    environment = Environment(autoescape=select_autoescape(default_for_string=True, default=True))
    environment.filters |= {"clock": clock, "size": size, "seen_text": seen_text}
    text = (resources.files("remediator.drill") / "templates" / "report.html").read_text(encoding="utf-8")
    page = environment.from_string(text).render(
        report=report, timeline=timeline(report, chronicle), chart=chart_of(report, chronicle, scenario)
    )
    path.write_text(page, encoding="utf-8")


def size(value: float | None) -> str:
    """Bytes for people."""
    if value is None:
        return "—"
    return f"{value / 2**30:.1f} GiB" if value >= 2**30 else f"{value / 2**20:.0f} MiB"


def chart_of(report: dict[str, Any], chronicle: Chronicle, scenario: Scenario) -> dict[str, Any]:
    """Everything the drawing needs, as plain values."""
    chart, focus = Chart(scenario.duration), scenario.focus
    used = [(m.seconds, m.used_ratio[focus]) for m in chronicle.moments if focus in m.used_ratio]
    others = [
        chart.line([(m.seconds, m.used_ratio[node]) for m in chronicle.moments if node in m.used_ratio])
        for node in scenario.node_names
        if node != focus
    ]
    profile = PROFILES[scenario.policy.profile]
    thresholds = [{"level": level, "y": chart.y(ratio), "ratio": ratio} for level, ratio in profile.enter.items()]
    safe = scenario.policy.to_policy().safe_used_ratio
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "used": chart.line(used),
        "others": others,
        "thresholds": [*thresholds, {"level": "safe", "y": chart.y(safe), "ratio": safe}],
        "bands": _bands(chart, chronicle, focus),
        "marks": _marks(chart, chronicle, focus),
        "minutes": [{"x": chart.x(m * 60), "label": m} for m in range(int(scenario.duration // 60) + 1)],
        "ratios": [{"y": chart.y(r / 10), "label": f"{r * 10}%"} for r in range(0, 11, 2)],
        "base": HEIGHT - BOTTOM,
    }


def _bands(chart: Chart, chronicle: Chronicle, node: str) -> list[dict[str, Any]]:
    """Stretches of one level, to be coloured."""
    bands: list[dict[str, Any]] = []
    for moment in chronicle.moments:
        level = LEVEL_NAMES[moment.level.get(node, 0)].lower()
        x = chart.x(moment.seconds)
        if bands and bands[-1]["level"] == level:
            bands[-1]["width"] = round(x - bands[-1]["x"], 1)
        else:
            bands.append({"level": level, "x": x, "width": 1.0})
    return bands


def _marks(chart: Chart, chronicle: Chronicle, node: str) -> list[dict[str, Any]]:
    """One mark per kind of action and moment; neighbours of a kind become one with a count."""
    marks: list[dict[str, Any]] = []
    for event in chronicle.events:
        kind = _ACTIONS.get(event["what"])
        if kind is None or event.get("node") != node:
            continue
        if marks and marks[-1]["kind"] == kind and event["at"] - marks[-1]["at"] < 30:
            marks[-1]["count"] += 1
        else:
            marks.append({"kind": kind, "at": event["at"], "x": chart.x(event["at"]), "count": 1})
    for index, mark in enumerate(marks):
        mark["row"] = index % 4
    return marks
