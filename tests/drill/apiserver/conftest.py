"""Fixture of this folder: simulated API servers over real HTTP."""

from collections.abc import Callable, Iterator

import pytest

from tests.simulated import Served, serving


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Start servers that are stopped after the test."""
    with serving() as start:
        yield start
