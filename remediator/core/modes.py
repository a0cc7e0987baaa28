"""How far we may go on a node: who set the mode, and the circuit breaker that asks a human instead.

Resolution: `NodeRemediation.spec.mode`, then the node's label, then the policy's selectors, then its default.
An unreadable label falls to `observe`, never to something more.
"""

from itertools import pairwise

from remediator.core.figures import duration
from remediator.core.model import ClusterFacts, Mode, NodeFacts
from remediator.core.policy import Policy
from remediator.core.state import FleetFacts, Observation, Outcome, OutcomeKind

MODE_LABEL = "remediator.io/mode"
BAD_OUTCOMES = (OutcomeKind.NO_EFFECT, OutcomeKind.REBOUNDED, OutcomeKind.MOVED)


def mode_of(observation: Observation, policy: Policy) -> Mode:
    """The mode that people configured for this node."""
    if observation.spec.mode is not None:
        return observation.spec.mode
    if isinstance(observation.cluster, ClusterFacts):
        return node_mode(observation.cluster.node, policy)
    return policy.mode


def node_mode(node: NodeFacts, policy: Policy) -> Mode:
    """The mode by label, selectors and default."""
    label = node.labels.get(MODE_LABEL)
    if label is not None:
        return Mode(label) if label in [mode.value for mode in Mode] else Mode.OBSERVE
    for rule in policy.mode_rules:
        if all(node.labels.get(key) == value for key, value in rule.node_selector.items()):
            return rule.mode
    return policy.mode


def bad_episodes(fleet: FleetFacts) -> list[tuple[float, str]]:
    """(when, node) of every episode whose last outcome was bad, oldest first."""
    last: dict[tuple[str, str], Outcome] = {}
    for node, state in fleet.states.items():
        for outcome in state.outcomes:
            last[node, outcome.episode_id] = outcome
    return sorted((o.at, node) for (node, _), o in last.items() if o.kind in BAD_OUTCOMES)


def breaker_tripped(fleet: FleetFacts, policy: Policy, now: float) -> tuple[float, str] | None:
    """(until when, on which node the last straw fell) while the circuit breaker is open, else None."""
    bad, hour = bad_episodes(fleet), policy.timers.hour_seconds
    for (first, _), (second, node) in reversed(list(pairwise(bad))):
        if second - first <= hour and now - second < hour:
            return second + hour, node
    return None


def breaker_sentence(until: float, now: float) -> str:
    """For people."""
    return (
        "two episodes within an hour freed nothing, rebounded, or moved the pressure: "
        f"a human approves each plan for another {duration(until - now)}"
    )
