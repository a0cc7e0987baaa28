"""Prometheus' text format, written. Knows nothing of what is measured."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache


@dataclass(slots=True)
class Family:
    """One metric with its samples (label text, value)."""

    name: str
    type: str
    help: str
    samples: list[tuple[str, float]] = field(default_factory=list)

    def add(self, value: float, /, **labels: str) -> "Family":
        """One sample more."""
        self.samples.append((label_text(**labels), value))
        return self

    def put(self, labels: str, value: float) -> None:
        """One sample more, its labels written already."""
        self.samples.append((labels, value))


@lru_cache(maxsize=65536)
def label_text(**labels: str) -> str:
    """`{a="b"}`, escaped; empty without labels. Remembered: the same labels come with every scrape."""
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items()) + "}"


def extended(text: str, more: str) -> str:
    """Label text with more pairs (`a="b",c="d"`) at its end."""
    return f"{text[:-1]},{more}}}" if text else f"{{{more}}}"


def escaped(value: str) -> str:
    """A label value as the format wants it."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def number(value: float) -> str:
    """Shortest text that reads back as the same number."""
    return str(int(value)) if value == int(value) else repr(float(value))


def render(families: Iterable[Family], at_ms: int | None = None) -> str:
    """The page; families without samples are left out. `at_ms` stands behind every sample: Unix milliseconds."""
    stamp = f" {at_ms}" if at_ms is not None else ""
    lines: list[str] = []
    for family in families:
        if family.samples:
            lines.append(f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.type}")
            lines.extend(f"{family.name}{labels} {number(value)}{stamp}" for labels, value in family.samples)
    return "\n".join(lines) + "\n"
