"""Exposition pages as they look when something is wrong with an exporter: samples missing, samples twice. Pure."""

import re
from collections.abc import Iterable, Iterator

from remediator.drill.scenario import FaultSpec


def spoilt(page: str, faults: Iterable[FaultSpec]) -> str:
    """The page with the faults in it."""
    lines = page.splitlines()
    for fault in faults:
        if fault.drop:
            pattern = re.compile(fault.drop)
            lines = [line for line in lines if line.startswith("#") or not pattern.search(line)]
        if fault.duplicate:
            lines = [copy for line in lines for copy in _twice(line)]
    return "\n".join(lines) + "\n"


def _twice(line: str) -> Iterator[str]:
    yield line
    if not line.startswith("#") and "}" in line:
        labels, _, value = line.rpartition("}")
        yield f'{labels},copy="2"}}{value}'
