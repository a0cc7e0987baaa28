"""Everything that `planner.decide` is asked with, as one value: a decision is the answer to it.

What is saved in a situation file and decided again from one. Nothing is computed here.
"""

from dataclasses import dataclass, field

from remediator.core.model import Signal
from remediator.core.policy import Policy
from remediator.core.state import NodeState, Observation


@dataclass(frozen=True, slots=True)
class Question:
    """One node, as seen at one moment, with what is remembered of it and the policy in force (already scaled)."""

    state: NodeState
    signal: Signal
    observation: Observation
    policy: Policy = field(repr=False)

    @property
    def now(self) -> float:
        """Unix seconds on Prometheus' clock."""
        return self.observation.at
