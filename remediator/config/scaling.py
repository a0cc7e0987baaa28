"""One clock factor for drills: `scaled(policy, speed)` divides our own durations.

Only durations of the remediator itself; values that go into Kubernetes objects (grace periods, Lease
durations) stay as they are. In production speed is 1 and the policy is returned untouched.
"""

from dataclasses import fields, replace
from typing import TypeVar

from remediator.core.policy import LadderStep, Policy, Safeguards, Timers

_Section = TypeVar("_Section", Timers, Safeguards, LadderStep)


def scaled(policy: Policy, speed: float) -> Policy:
    """The policy as seen by a cluster whose time runs `speed` times as fast as ours (speed > 0)."""
    if speed <= 0:
        raise ValueError(f"speed must be above 0, not {speed}")
    if speed == 1:
        return policy
    return replace(
        policy,
        timers=_divided(policy.timers, speed),
        safeguards=_divided(policy.safeguards, speed),
        ladder={level: _divided(step, speed) for level, step in policy.ladder.items()},
    )


def _divided(section: _Section, speed: float) -> _Section:
    """Every `_seconds` field of the section, divided; the naming rule is what keeps this complete."""
    names = [field.name for field in fields(section) if field.name.endswith("_seconds")]
    return replace(section, **{name: getattr(section, name) / speed for name in names})
