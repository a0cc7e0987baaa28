"""Figures and times as the pages write them, never broken between number and unit. Pure."""

from datetime import UTC, datetime

DASH = "–"
_NB = "\N{NO-BREAK SPACE}"


def gibibytes(size: float | None) -> str:
    """`9.0 GiB`, `512 MiB`, or a dash."""
    if size is None:
        return DASH
    return f"{size / 2**30:,.1f}{_NB}GiB" if abs(size) >= 2**30 else f"{size / 2**20:,.0f}{_NB}MiB"


def percent(ratio: float | None) -> str:
    """`93 %`, or a dash."""
    return DASH if ratio is None else f"{100 * ratio:.0f}{_NB}%"


def clock(at: float | None) -> str:
    """`13:02:11 UTC`, or a dash."""
    return DASH if at is None else _written(at, "%H:%M:%S UTC")


def iso(at: float) -> str:
    """For `<time datetime=…>`."""
    return _written(at, "%Y-%m-%dT%H:%M:%SZ")


def _written(at: float, form: str) -> str:
    """A dash for what is no time: a record that somebody edited must not take the page down."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime(form)
    except (ValueError, OverflowError, OSError):
        return DASH


def seconds(duration: float | None) -> str:
    """`45 s`, `9 min 20 s`, `2 h 5 min`, or a dash."""
    if duration is None:
        return DASH
    whole = round(duration)
    if whole < 60:
        return f"{whole}{_NB}s"
    if whole < 3600:
        return f"{whole // 60}{_NB}min {whole % 60}{_NB}s"
    return f"{whole // 3600}{_NB}h {whole % 3600 // 60}{_NB}min"


def words(name: str | None) -> str:
    """`COOLING_DOWN` -> `cooling down`."""
    return (name or DASH).replace("_", " ").lower()


FILTERS = {f.__name__: f for f in (gibibytes, percent, clock, iso, seconds, words)}
