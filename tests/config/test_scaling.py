"""The drill's clock factor on a policy."""

from dataclasses import fields

import pytest

from remediator.config import scaled
from remediator.core.model import Level
from remediator.core.policy import Policy


def test_every_duration_is_divided_and_nothing_else() -> None:
    """Timers, safeguards' and the ladder's seconds shrink by the factor; counts and ratios stay."""
    policy = Policy()
    fast = scaled(policy, 10)
    for section in ("timers", "safeguards"):
        for field in fields(getattr(policy, section)):
            before, after = (
                getattr(getattr(policy, section), field.name),
                getattr(getattr(fast, section), field.name),
            )
            assert after == (before / 10 if field.name.endswith("_seconds") else before), field.name
    assert fast.ladder[Level.ORANGE].evict_after_seconds == 18
    assert fast.ladder[Level.RED].max_rounds == 3
    assert fast.caps == policy.caps


def test_speed_one_changes_nothing() -> None:
    """In production the policy is the very same object."""
    policy = Policy()
    assert scaled(policy, 1) is policy


@pytest.mark.parametrize("speed", [0, -1])
def test_a_speed_that_stops_time_is_refused(speed: float) -> None:
    """Zero or negative speed is an error, not a division by zero."""
    with pytest.raises(ValueError, match="above 0"):
        scaled(Policy(), speed)
