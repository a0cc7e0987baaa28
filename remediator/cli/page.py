"""A page of lines and tables for terminals of any width: figures stay beside their units. Form only."""

import re
import textwrap

from rich.console import Group, RenderableType
from rich.text import Text

ABSENT = "–"
_GLUE = "\N{NO-BREAK SPACE}"
_FIGURE = re.compile(r"(?<=\d) (?=(GiB|MiB|%|min|s|h|pods|steps)\b|%)")


class Page:
    """Collects what is printed."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._parts: list[RenderableType] = []

    def line(self, text: str, style: str = "", indent: int = 0) -> None:
        """A line, wrapped between words and never within a figure."""
        self._parts.append(Text("\n".join(wrapped(text, self.width, indent)), style))

    def heading(self, text: str) -> None:
        """A blank line and a bold one."""
        self._parts.append(Text(""))
        self.line(text, "bold")

    def add(self, part: RenderableType) -> None:
        """Anything else, as it is."""
        self._parts.append(part)

    def whole(self) -> Group:
        """All of it."""
        return Group(*self._parts)


def wrapped(text: str, width: int, indent: int = 0) -> list[str]:
    """Lines of at most `width` columns; later lines stand two deeper than the first."""
    glued = _FIGURE.sub(_GLUE, text)
    first, later = " " * indent, " " * (indent + 2)
    found = textwrap.wrap(glued, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    return [each.replace(_GLUE, " ") for each in found] or [first]


def size(size: int | float | None) -> str:
    """`9.0Gi`, `512Mi`."""
    if size is None:
        return ABSENT
    return f"{size / 2**30:.1f}Gi" if abs(size) >= 2**30 else f"{size / 2**20:.0f}Mi"
