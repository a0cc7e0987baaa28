"""The real programs that the tests here need: unpacked in the clone by `make tools`, else on PATH."""

from pathlib import Path

import pytest

from remediator.drill import tools
from remediator.drill.processes import DrillError


def find_tool(name: str) -> Path:
    """Path of a program; skips, with what to do, when it is not there."""
    try:
        return Path(tools.find(name))
    except DrillError as absent:
        pytest.skip(str(absent))


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Path of promtool."""
    return find_tool("promtool")


@pytest.fixture(scope="session")
def amtool() -> Path:
    """Path of amtool."""
    return find_tool("amtool")
