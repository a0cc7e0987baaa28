"""The pages: `/` with all nodes, `/nodes/NAME` with one. Server-rendered and autoescaped; nothing is decided here.

They come up when the cluster or Prometheus do not answer: that is when people look at them.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from flask import Blueprint, abort, render_template

from remediator.reconciler.ports import Record, Trend
from remediator.web.api import NODE_NAME
from remediator.web.episode import KEPT, past, steps
from remediator.web.formats import FILTERS
from remediator.web.overview import node_rows, silence_rows, sparkline, trends_of
from remediator.web.services import Services
from remediator.web.verdicts import PlanStatus, plan_rows

Json = dict[str, Any]
LEVELS = ("RED", "ORANGE", "YELLOW", "GREEN", "unknown")
_NO_SILENCES: Json = {"active": [], "unknown": None}
_NO_RECORDS: list[Record] = []
_NO_ROWS: list[Json] = []
_NO_TRENDS: Mapping[str, Trend] = {}
_NOTHING: Mapping[str, Any] = {}
_T = TypeVar("_T")


def blueprint(services: Services) -> Blueprint:
    """Routes / and /nodes/NAME."""
    pages = Blueprint("status_page", __name__)

    @pages.get("/")
    def status() -> str:
        return render_template("status.html", **_frame(services), **overview(services))

    @pages.get("/nodes/<name>")
    def node(name: str) -> str:
        if not NODE_NAME.fullmatch(name):
            abort(404, f"{name!r} is not a node name")
        return render_template("node.html", **_frame(services), **one_node(services, name))

    for name, function in {**FILTERS, "sparkline": sparkline}.items():
        pages.add_app_template_filter(function, name)
    return pages


def _frame(services: Services) -> Json:
    """What every page shows around its content."""
    return {
        "version": services.version,
        "config": services.config(),
        "now": services.clock(),
        "token_needed": not services.operator_auth.open,
    }


def overview(services: Services) -> Json:
    """Content of /."""
    problems: list[str] = []
    records = _asked(problems, "The cluster's records", lambda: list(services.records()), _NO_RECORDS)
    rows = _asked(problems, "Levels", lambda: node_rows(services, records), _NO_ROWS)
    plans = plan_rows(records, services.clock())
    return {
        "problems": problems,
        "rows": rows,
        "troubled": [row for row in rows if not _calm(row)],
        "calm": [row for row in rows if _calm(row)],
        "counts": _counts(rows),
        "plans": [plan for plan in plans if plan["status"] == PlanStatus.WAITING],
        "running": {plan["node"]: plan for plan in plans},
        "trends": _asked(problems, "The last hour", lambda: trends_of(services), _NO_TRENDS),
        "silences": _asked(problems, "Silences", lambda: silence_rows(services), _NO_SILENCES),
        "outcomes": [row for row in past(records) if row["what"] == "outcome"][:KEPT],
    }


def one_node(services: Services, name: str) -> Json:
    """Content of /nodes/NAME."""
    problems: list[str] = []
    records = _asked(problems, "The cluster's records", lambda: list(services.records()), _NO_RECORDS)
    record = next((each for each in records if each.node == name), None)
    mine = [record] if record else []
    rows = _asked(problems, "Levels", lambda: node_rows(services, records), _NO_ROWS)
    return {
        "problems": problems,
        "name": name,
        "row": next((row for row in rows if row["node"] == name), None),
        "told": _asked(problems, "What would be decided now", lambda: services.explain(name), _NOTHING),
        "steps": steps(record.state) if record else [],
        "plan": next(iter(plan_rows(mine, services.clock())), None),
        "trend": _asked(problems, "The last hour", lambda: trends_of(services), _NO_TRENDS).get(name, ()),
        "history": past(mine)[: 2 * KEPT],
    }


def _asked(problems: list[str], what: str, ask: Callable[[], _T], otherwise: _T) -> _T:
    """The answer; a source that fails is told on the page instead of taking it down."""
    try:
        return ask()
    except Exception as error:
        problems.append(f"{what} cannot be read: {type(error).__name__}")
        return otherwise


def _calm(row: Mapping[str, Any]) -> bool:
    quiet = row["phase"] == "WATCHING" and row["isolation"] == "NONE" and not row["paused"]
    return row["level"] == "GREEN" and quiet


def _counts(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    found = Counter(row["level"] or "unknown" for row in rows)
    return [(level, found[level]) for level in LEVELS if found[level] or level in ("RED", "GREEN")]
