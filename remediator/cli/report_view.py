"""The report for a terminal, readable at 80 columns. Form only."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from remediator.cli.page import ABSENT, Page, size
from remediator.core.figures import span
from remediator.web.report_view import CAUSES, KINDS, day, moment

Json = Mapping[str, Any]
_STRIP_COLUMNS = 24
_STYLES = ("dim", "yellow", "dark_orange", "bold red")
_BLOCKS = "·▃▅█"
_MOST_ROWS = 15
_MOST_DEATHS = 10


def shown(report: Json, width: int) -> Group:
    """Everything, in the order in which it is needed."""
    page = Page(width)
    covered = report["coverage"]
    page.line(f"Report, {day(covered['since'])} to {day(covered['until'])}", "bold")
    page.line(report["summary"])
    for caveat in report["caveats"]:
        page.line(f"! {caveat}", "yellow")
    for part in (_undeclared, _levels, _acts, _held, _kept, _deaths, _next):
        part(page, report)
    return page.whole()


def _table(*columns: tuple[str, str]) -> Table:
    """Columns by name and kind: `text` folds, `figure` is kept whole to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name, kind in columns:
        table.add_column(
            name,
            overflow="fold",
            justify="right" if kind == "figure" else "left",
            no_wrap=kind != "text",
        )
    return table


def _more(page: Page, shown_rows: int, all_rows: int) -> None:
    if all_rows > shown_rows:
        page.line(f"and {all_rows - shown_rows} more: --output json or html", "dim")


def _undeclared(page: Page, report: Json) -> None:
    rows = report["undeclared"]
    page.heading("Undeclared workloads in the way")
    if not rows:
        page.line("None.")
        return
    table = _table(
        ("workload", "text"), ("up to", "figure"), ("avg", "figure"), ("spells", "figure"), ("largest", "figure")
    )
    for row in rows[:_MOST_ROWS]:
        gave = size(row["most_bytes"]), size(row["mean_bytes"])
        table.add_row(Text(row["workload"]), *gave, str(row["spells"]), str(row["top_spells"]))
    page.add(table)
    _more(page, _MOST_ROWS, len(rows))
    if report["business"]:
        page.line("For the policy, once their owners have chosen the tiers:")
        page.add(Padding(Text(report["business"].rstrip(), "cyan", no_wrap=True, overflow="ignore"), (0, 0, 0, 0)))


def _levels(page: Page, report: Json) -> None:
    rows = report["nodes"]
    page.heading("Levels reached: how often, and for how long")
    if not rows:
        page.line("No node rose above GREEN.")
        return
    table = _table(("node", "text"), *((name, "figure") for name in ("YELLOW", "ORANGE", "RED")), ("worst", "figure"))
    for row in rows[:_MOST_ROWS]:
        ratio = row["worst_used_ratio"]
        worst = ABSENT if ratio is None else f"{100 * ratio:.0f} %"
        levels = (_level(row, name) for name in ("YELLOW", "ORANGE", "RED"))
        table.add_row(Group(Text(row["node"]), _strip(row["strip"])), *levels, f"{worst}\n{moment(row['worst_at'])}")
    page.add(table)
    _more(page, _MOST_ROWS, len(rows))


def _level(row: Json, name: str) -> str:
    times, seconds = row["times"][name], row["seconds"][name]
    return f"{times} x\n{span(seconds)}" if times or seconds else ABSENT


def _strip(strip: list[int]) -> Text:
    """The period from left to right."""
    wide = len(strip) // _STRIP_COLUMNS
    text = Text()
    for begin in range(0, len(strip), wide):
        level = max(strip[begin : begin + wide])
        text.append(_BLOCKS[level], _STYLES[level])
    return text


def _acts(page: Page, report: Json) -> None:
    rows = report["acts"]
    page.heading("What was done" if any(not row["observed"] for row in rows) else "What would have been done")
    if not rows:
        page.line("Nothing.")
        return
    table = _table(("what", "text"), ("whom", "text"), ("tier", "text"), *((n, "figure") for n in ("times", "memory")))
    for row in rows[:_MOST_ROWS]:
        what = KINDS.get(row["kind"], row["kind"]) + (" (would)" if row["observed"] else "")
        whom = Text(row["workload"] or ", ".join(row["nodes"][:3]))
        times = str(row["done"]) if row["done"] == row["times"] else f"{row['done']} of {row['times']}"
        memory = size(row["expected_bytes"]) if row["expected_bytes"] else ABSENT
        table.add_row(what, whom, row["tier"] or ABSENT, times, memory)
    page.add(table)
    _more(page, _MOST_ROWS, len(rows))
    rounds = report["rounds"]
    if rounds["outcomes"]:
        kinds = ", ".join(f"{n} {kind}" for kind, n in rounds["outcomes"].items())
        freed = f"{size(rounds['released_bytes'])} of {size(rounds['expected_bytes'])} expected"
        page.line(f"Freed {freed}; rounds: {kinds}.")


def _held(page: Page, report: Json) -> None:
    page.heading("What held nodes back")
    for row in report["held"]:
        nodes = ", ".join(row["nodes"][:3]) + (", ..." if len(row["nodes"]) > 3 else "")
        page.line(f"{row['spells']} x {row['reason']}: {row['sentence']} ({nodes})")
        page.line(f"-> {row['advice']}", "dim", indent=4)
    if not report["held"]:
        page.line("No guard held anything back at ORANGE or RED.")


def _kept(page: Page, report: Json) -> None:
    if report["kept"]:
        page.heading("Why pods were left alone")
    for row in report["kept"]:
        page.line(f"up to {size(row['most_bytes'])}: {row['sentence']} ({row['reason']}; largest {row['largest']})")
        if row["advice"]:
            page.line(f"-> {row['advice']}", "dim", indent=4)


def _deaths(page: Page, report: Json) -> None:
    page.heading("What died all the same")
    for row in report["causes"]:
        before = f": {row['warned']} warned of, {row['planned']} planned before" if row["deaths"] else ""
        page.line(f"{row['deaths']} {CAUSES.get(row['cause'], row['cause'])}{before}")
    for death in report["deaths"][-_MOST_DEATHS:]:
        name = death["workload"] or f"{death['namespace']}/{death['pod']}"
        page.line(f"{moment(death['at'])} {name} on {death['node']} ({death['cause']}, {_ahead(death)})", indent=2)
        for word in death["said"]:
            page.line(f"{span(word['seconds_before'])} before: {word['text']}", "dim", indent=6)
    _more(page, _MOST_DEATHS, len(report["deaths"]))


def _ahead(death: Json) -> str:
    if death["warned_seconds"] is None:
        return "not warned of"
    planned = death["planned_seconds"]
    return f"warned {span(death['warned_seconds'])} ahead" + (
        f", planned {span(planned)} ahead" if planned is not None else ", nothing planned"
    )


def _next(page: Page, report: Json) -> None:
    page.heading("What to do next")
    for number, each in enumerate(report["recommendations"], 1):
        page.line(f"{number}. {each['text']}")
        page.line(each["figure"], "dim", indent=3)
    if not report["recommendations"]:
        page.line("The figures ask for nothing.")
