"""Where in a YAML text each value stands, so that an error can name its line.

Composes the node tree (never constructs Python objects from tags) and also finds duplicate keys, which YAML
loaders swallow: the second silently wins, and half of somebody's policy is gone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from remediator.config.problems import Problem

Path = tuple[str | int, ...]


@dataclass(slots=True)
class Positions:
    """Line of every path in a document, and the keys that stand there twice."""

    lines: dict[Path, int] = field(default_factory=dict)
    duplicates: list[Problem] = field(default_factory=list)

    def line(self, path: Path) -> int | None:
        """Line of the path, else of its nearest ancestor that is in the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None


def dotted(path: Path) -> str:
    """`("business", 0, "tier")` -> `business[0].tier`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def positions(root: yaml.Node | None) -> Positions:
    """Positions of a composed YAML document; no alias in it may stand in what it refers to."""
    found = Positions()
    if root is not None:
        for path, line, repeated in _walk(root, ()):
            if repeated:
                first = found.lines[path]
                found.duplicates.append(Problem(dotted(path), f"stands twice (first in line {first}); keep one", line))
            else:
                found.lines[path] = line
    return found


def expanded_values(node: yaml.Node | None) -> int:
    """How many values a document has with every alias written out; RecursionError when one contains itself."""
    sizes: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = 0
            children = node.value if isinstance(node, yaml.SequenceNode | yaml.MappingNode) else ()
            parts = [part for child in children for part in (child if isinstance(child, tuple) else (child,))]
            sizes[id(node)] = 1 + sum(size(part) for part in parts)
        elif sizes[id(node)] == 0:
            raise RecursionError("an alias refers to what it stands in")
        return sizes[id(node)]

    return 0 if node is None else size(node)


def _walk(node: yaml.Node, path: Path) -> Iterator[tuple[Path, int, bool]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key_node, value_node in node.value:
            key = str(key_node.value)
            here: Path = (*path, key)
            yield here, key_node.start_mark.line + 1, key in seen
            seen.add(key)
            yield from _walk(value_node, here)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            here = (*path, index)
            yield here, item.start_mark.line + 1, False
            yield from _walk(item, here)
