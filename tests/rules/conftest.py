"""Where promtool and amtool are: unpacked in the clone by `make tools`, else on PATH."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _tool(name: str) -> Path:
    unpacked = ROOT / ".tools" / "root" / "usr" / "bin" / name
    found = str(unpacked) if unpacked.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is neither in .tools (make tools) nor on PATH")
    return Path(found)


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Path of promtool."""
    return _tool("promtool")


@pytest.fixture(scope="session")
def amtool() -> Path:
    """Path of amtool."""
    return _tool("amtool")
