"""The period that is asked for, as people write it: `14d`, or a moment. Pure; every refusal says what to write."""

import math
import re
from datetime import datetime

_UNIT_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_LENGTH = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)([mhdw])")
DEFAULT = "14d"
LONGEST_SECONDS = 366 * 86_400.0
_LONGEST_TEXT = 40
_LAST_MOMENT = 253_402_300_799.0
"""The end of the year 9999."""


class PeriodError(ValueError):
    """A period that cannot be understood; the text says which part, and what to write instead."""


def period(since: str, until: str | None, now: float) -> tuple[float, float]:
    """(since, until) in unix seconds; `until` None means now, and a length counts back from `until`."""
    end = now if until is None else _moment("until", until)
    begin = _begin(since, end)
    if not begin < end:
        raise PeriodError(f"since={since} is not before until={until or 'now'}")
    if end - begin > LONGEST_SECONDS:
        raise PeriodError("the period is longer than a year; ask for a shorter one, as since=14d")
    return begin, end


def _begin(text: str, end: float) -> float:
    length = _LENGTH.fullmatch(text)
    return end - float(length[1]) * _UNIT_SECONDS[length[2]] if length else _moment("since", text)


def _moment(name: str, text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
        at = found.timestamp() if found.tzinfo else math.nan
    except (ValueError, OverflowError):
        at = float(text) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text) else math.nan
    if not 0 <= at <= _LAST_MOMENT:
        length = "a length (14d, 36h, 90m), " if name == "since" else ""
        forms = f"{length}RFC 3339 (2026-12-04T22:06:13Z) or unix seconds (1796421973)"
        raise PeriodError(f"{name}={text[:_LONGEST_TEXT]!r} is no time; write {forms}")
    return at
