"""The report as a page, for the server and as a file of its own: one template, and what it draws. Form only.

The file holds its style; the served page links it, for its Content-Security-Policy allows nothing inline.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import resources
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from remediator.core.figures import span as _span
from remediator.core.report.values import STRIP
from remediator.web.formats import DASH, FILTERS

Json = Mapping[str, Any]
STYLES = ("status.css", "report.css")
LEVEL_NAMES = ("green", "yellow", "orange", "red")
CAUSES = {
    "node-oom": "killed by the kernel, the node being short of memory",
    "limit-oom": "killed at their own limit (no node would have helped)",
    "unknown": "killed by signal 9, for whatever reason",
    "kubelet-eviction": "evicted by the kubelet",
}
KINDS = {
    "evict": "evict",
    "force_delete": "force deletion",
    "scale": "scale down",
    "drain_endpoints": "take out of service",
    "cordon": "cordon and taint",
}
_NB = "\N{NO-BREAK SPACE}"


def standalone(report: Json, made_at: float) -> str:
    """A whole HTML file that needs nothing else."""
    environment = Environment(
        loader=PackageLoader("remediator.web"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
    )
    environment.filters |= {**FILTERS, **REPORT_FILTERS}
    styles = resources.files("remediator.web").joinpath("static")
    css = "\n".join(styles.joinpath(name).read_text(encoding="utf-8") for name in STYLES)
    return environment.get_template("report.html").render(css=Markup(css), **page_of(report, made_at))  # noqa: S704


def page_of(report: Json, made_at: float) -> dict[str, Any]:
    """What the template needs beside its style; `report` is the report as JSON."""
    most = max((row["most_bytes"] for row in report["undeclared"]), default=0)
    return {
        "report": report,
        "now": made_at,
        "most_undeclared": most or 1,
        "gaps": [_place(report, gap["since"], gap["until"]) for gap in report["coverage"]["gaps"]],
        "deaths_of": {
            node: [_place(report, each["at"], each["at"])["x"] for each in deaths]
            for node, deaths in _by_node(report["deaths"])
        },
        "days": _days(report["coverage"]["since"], report["coverage"]["until"]),
        "causes": CAUSES,
        "kinds": KINDS,
        "width": STRIP,
    }


def _by_node(deaths: Sequence[Json]) -> list[tuple[str, list[Json]]]:
    ordered = sorted(deaths, key=lambda each: each["node"])
    return [(node, list(found)) for node, found in groupby(ordered, key=lambda each: each["node"])]


def _place(report: Json, since: float, until: float) -> dict[str, float]:
    """Where on a strip, in its units."""
    begin, length = report["coverage"]["since"], report["coverage"]["asked_seconds"]
    first, last = (STRIP * min(1.0, max(0.0, (at - begin) / length)) for at in (since, until))
    return {"x": round(first, 2), "width": round(max(0.0, last - first), 2)}


def runs(strip: Sequence[int]) -> list[dict[str, Any]]:
    """Stretches of one level above GREEN, higher the worse it was, so that colour is not all."""
    found, x = [], 0
    for level, parts in groupby(strip):
        width = len(list(parts))
        if level:
            found.append({"x": x, "width": width, "level": LEVEL_NAMES[level], "height": 4 * level})
        x += width
    return found


def _days(since: float, until: float) -> list[dict[str, Any]]:
    """Midnights (UTC) in the period, at most some twenty, with their places."""
    midnights = range(int(since // 86_400 + 1) * 86_400, int(until) + 1, 86_400)
    step = max(1, -(-len(midnights) // 20))
    length = until - since
    return [{"x": round(STRIP * (at - since) / length, 2), "day": _written(at, "%b %d")} for at in midnights[::step]]


def moment(at: float | None) -> str:
    """`Dec 04 22:06`, or a dash."""
    return DASH if at is None else _written(at, f"%b{_NB}%d %H:%M")


def day(at: float) -> str:
    """`2026-12-04 22:06 UTC`."""
    return _written(at, "%Y-%m-%d %H:%M UTC")


def _written(at: float, form: str) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime(form)
    except (ValueError, OverflowError, OSError):
        return DASH


def span(seconds: float | None) -> str:
    """`12 min`, `13.6 days`, or a dash."""
    return DASH if seconds is None else _span(seconds).replace(" ", _NB)


REPORT_FILTERS = {f.__name__: f for f in (moment, day, span, runs)}
