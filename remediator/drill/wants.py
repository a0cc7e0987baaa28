"""at()/want(): what a story was wanted to show, compared with what was seen. Pure.

A snapshot is (scenario seconds, report so far); the last one is the final report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from remediator.config.quantities import duration_seconds
from remediator.drill.scenario import WantSpec

Snapshot = tuple[float, dict[str, Any]]
NOTHING = "nothing there"


@dataclass(frozen=True, slots=True)
class WantResult:
    """One line of the verdict."""

    what: str
    expected: str
    seen: Any
    ok: bool
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For the report."""
        return asdict(self)


def evaluate(wants: Sequence[WantSpec], snapshots: Sequence[Snapshot]) -> list[WantResult]:
    """Every want against its snapshot: the first at or after its time, else the final one."""
    return [_result(want, _snapshot(want, snapshots)) for want in wants]


def _snapshot(want: WantSpec, snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    if want.at is not None:
        for seconds, report in snapshots:
            if seconds >= want.at:
                return report
    return snapshots[-1][1] if snapshots else {}


def seen_text(want: Mapping[str, Any]) -> str:
    """What was seen, for people: moments of the story as minutes and seconds."""
    seen, what = want["seen"], str(want["what"])
    if isinstance(seen, int | float) and what.endswith("_at"):
        return clock(seen)
    return f"{seen:.4g}" if isinstance(seen, float) else _plain(seen)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value) or "none"
    return "nothing" if value is None else str(value)


def look_up(report: Any, path: str) -> Any:
    """Value at `a.b`; `evicted.count` is a list's length, `evicted.workload` a list of a key's values."""
    for step in path.split("."):
        if isinstance(report, list):
            report = len(report) if step == "count" else [item.get(step) for item in report]
        elif isinstance(report, dict) and step in report:
            report = report[step]
        else:
            return NOTHING
    return report


def _result(want: WantSpec, report: dict[str, Any]) -> WantResult:
    seen = look_up(report, want.what)
    moment = f"at {clock(want.at)}: " if want.at is not None else ""
    expected, ok = _compare(want, seen)
    return WantResult(want.what, moment + expected, seen, ok, want.note)


def _compare(want: WantSpec, seen: Any) -> tuple[str, bool]:
    if want.members is not None or want.contains is not None or want.descending:
        return _compare_list(want, seen)
    number = isinstance(seen, int | float) and not isinstance(seen, bool)
    if want.between is not None:
        low, high = (bound(value) for value in want.between)
        return f"between {want.between[0]} and {want.between[1]}", number and low <= seen <= high
    if want.at_most is not None:
        return f"at most {want.at_most:g}", number and seen <= want.at_most
    if want.at_least is not None:
        return f"at least {want.at_least:g}", number and seen >= want.at_least
    return _plain(want.equals), bool(seen == want.equals)


def _compare_list(want: WantSpec, seen: Any) -> tuple[str, bool]:
    there = seen if isinstance(seen, list) else None
    if want.members is not None:
        same = there is not None and sorted(map(str, there)) == sorted(map(str, want.members))
        return f"in any order: {_plain(list(want.members))}", same
    if want.contains is not None:
        return f"{_plain(want.contains)} among them", there is not None and want.contains in there
    return "in descending order", there is not None and None not in there and there == sorted(there, reverse=True)


def bound(value: Any) -> float:
    """A number, or a duration in seconds."""
    return float(value) if isinstance(value, int | float) else duration_seconds(value)


def clock(seconds: float) -> str:
    """`8:30`: minutes and seconds of the story."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
