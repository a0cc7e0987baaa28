"""How figures are written in sentences: bytes, ratios, durations. One place for one style."""

GIB = 1024**3
MIB = 1024**2


def size(value: float) -> str:
    """`19.8 GiB` or `512 MiB`."""
    return f"{value / GIB:.1f} GiB" if abs(value) >= GIB else f"{value / MIB:.0f} MiB"


def percent(ratio: float) -> str:
    """`93.0 %`."""
    return f"{100 * ratio:.1f} %"


def duration(seconds: float) -> str:
    """`45 s` or `5.0 min`."""
    return f"{seconds:.0f} s" if abs(seconds) < 120 else f"{seconds / 60:.1f} min"


def span(seconds: float) -> str:
    """`45 s`, `12 min`, `3.5 h` or `13.6 days`: how long something went on, for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
