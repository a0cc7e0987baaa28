"""Prometheus' text format, written. Knows nothing of what is measured."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Family:
    """One metric with its samples (label text, value)."""

    name: str
    type: str
    help: str
    samples: list[tuple[str, float]] = field(default_factory=list)

    def add(self, value: float, **labels: str) -> "Family":
        """One sample more."""
        self.samples.append((label_text(labels), value))
        return self


def label_text(labels: Mapping[str, str]) -> str:
    """`{a="b"}`, escaped; empty without labels."""
    if not labels:
        return ""
    pairs = (f'{name}="{escaped(value)}"' for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"


def escaped(value: str) -> str:
    """A label value as the format wants it."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def render(families: Iterable[Family]) -> str:
    """The page; families without samples are left out."""
    lines: list[str] = []
    for family in families:
        if family.samples:
            lines.append(f"# HELP {family.name} {family.help}")
            lines.append(f"# TYPE {family.name} {family.type}")
            lines.extend(f"{family.name}{labels} {value:.17g}" for labels, value in family.samples)
    return "\n".join(lines) + "\n"
