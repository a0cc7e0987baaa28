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
