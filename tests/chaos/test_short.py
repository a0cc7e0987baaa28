"""The short form of `make chaos`: some of its runs, each a story of its own."""

import pytest

from tests.chaos.run import run
from tests.chaos.weather import MOST_WRITES, weather

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(150), pytest.mark.xdist_group("chaos")]
SEEDS = (1, 6, 9, 12, MOST_WRITES + 10, 2 * MOST_WRITES + 7)
"""Killed after the first writes, between cordon and eviction, among evictions, while settling; and taken over."""


@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_dies_and_whatever_fails_the_invariants_hold(seed: int) -> None:
    """Nobody is evicted twice, unannounced or protected; what is others' stays; the episode ends and gives back."""
    result = run(weather(seed))
    assert result.broken == [], f"python -m tests.chaos --seed {seed}: {result.weather}"
