"""Prometheus' text format, written. Knows names and escaping, nothing of memory."""

from collections.abc import Iterable


def escaped(value: str) -> str:
    """A label value: names of cgroups may hold quotes, backslashes and bytes that are no UTF-8."""
    safe = value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def family(name: str, kind: str, text: str, samples: Iterable[tuple[str, float]]) -> Iterable[str]:
    """HELP, TYPE and the samples (label text, value); nothing when there is none."""
    lines = [f"{name}{{{labels}}} {formatted(value)}" for labels, value in samples]
    if lines:
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
        yield from lines


def formatted(value: float) -> str:
    """Whole numbers without a point."""
    return str(int(value)) if value == int(value) else repr(float(value))
