"""Prometheus' text format, written. Knows names and escaping, nothing of memory.

A `Table` writes the same families of the same members again and again: text around the numbers is kept as one template
per family, and made anew only when members, or which of them have a value, have changed. A family whose values are all
as before is not written again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress


def escaped(value: str) -> str:
    """A label value: names of cgroups may hold quotes, backslashes and bytes that are no UTF-8."""
    safe = value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def label_text(labels: Iterable[tuple[str, str]]) -> str:
    """`a="b",c="d"`; a label without a value is the same as none, so it is left out."""
    return ",".join(f'{name}="{escaped(value)}"' for name, value in labels if value)


def family(name: str, kind: str, text: str, samples: Iterable[tuple[str, float]]) -> Iterator[str]:
    """HELP, TYPE and the samples (label text, value); nothing when there is none."""
    lines = [f"{name}{{{labels}}} {formatted(value)}" for labels, value in samples]
    if lines:
        yield heading(name, kind, text)
        yield from lines


def heading(name: str, kind: str, text: str) -> str:
    """HELP and TYPE."""
    return f"# HELP {name} {text}\n# TYPE {name} {kind}"


def formatted(value: float) -> str:
    """Whole numbers without a point."""
    return str(int(value)) if value == int(value) else repr(float(value))


@dataclass(frozen=True, slots=True)
class Column:
    """A family, or a part of one with a label more. Without a help text it continues the family before it."""

    name: str
    kind: str
    text: str
    label: str = ""


class Table:
    """Families of many members, a value of each per column."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._labels: list[str] = []
        self._templates: list[str] = [""] * len(columns)
        self._present: list[object] = [None] * len(columns)
        self._values: list[object] = [None] * len(columns)
        self._parts: list[bytes] = [b""] * len(columns)

    def parts(self, labels: list[str], rows: Iterable[Sequence[int | float | None]]) -> list[bytes]:
        """Lines of all members, a part per column: `labels` their label texts, `rows` values in the columns' order."""
        if labels != self._labels:
            self._labels = labels
            self._present = [None] * len(self._columns)
            self._values = [None] * len(self._columns)
            self._parts = [b""] * len(self._columns)
        for number, values in enumerate(zip(*rows, strict=True)):
            if values != self._values[number]:
                self._values[number] = values
                self._parts[number] = self._part(number, values)
        return list(self._parts)

    def _part(self, number: int, values: tuple[object, ...]) -> bytes:
        present: object = True
        if None in values:
            present = [value is not None for value in values]
            values = tuple(value for value in values if value is not None)
        if present != self._present[number]:
            self._present[number] = present
            self._templates[number] = self._template(number, present)
        return (self._templates[number] % values).encode()

    def _template(self, number: int, present: object) -> str:
        column = self._columns[number]
        labels = list(compress(self._labels, present)) if isinstance(present, list) else self._labels
        if not labels:
            return ""
        lines = [f"{column.name}{{{text}{column.label}}}".replace("%", "%%") + " %s\n" for text in labels]
        if column.text:
            lines.insert(0, heading(column.name, column.kind, column.text).replace("%", "%%") + "\n")
        return "".join(lines)
