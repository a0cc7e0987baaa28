"""What we have done, and have in hand, on all nodes: what caps and workload cooldowns count.

A plan that another node is performing counts as done: its record was written before its first act, and two
nodes that decide in the same second must not both take what is left.
"""

from collections.abc import Iterator

from remediator.core.model import Isolation, Mode, Phase
from remediator.core.results import TOOK_EFFECT, with_eviction
from remediator.core.situation import Situation
from remediator.core.state import Action, ActionKind, ActionStatus, EvictionRecord, NodeState


def in_hand(state: NodeState, kind: ActionKind) -> Iterator[Action]:
    """Actions of this kind that a plan being performed has done, or may still do."""
    if state.phase is not Phase.ACTING or state.plan is None:
        return
    answered = {key: status for key, status, _ in state.results}
    for action in state.plan.actions:
        if action.kind is kind and answered.get(action.key, ActionStatus.UNKNOWN) in TOOK_EFFECT:
            yield action


def fleet_evictions(situation: Situation) -> list[EvictionRecord]:
    """Our evictions of the last hour on all nodes, of the kind of this mode (real ones, or observed ones)."""
    states = situation.observation.fleet.states.items()
    done = [e for node, state in states if node != situation.node for e in _foreseen(state)]
    done += situation.state.evictions
    return [e for e in done if e.observed_only == situation.observing]


def _foreseen(state: NodeState) -> tuple[EvictionRecord, ...]:
    """A node's evictions, with those of the plan it is performing."""
    if state.plan is None:
        return state.evictions
    made_at, observed = state.plan.created_at, state.mode is Mode.OBSERVE
    for action in in_hand(state, ActionKind.EVICT):
        state = with_eviction(state, action, made_at, observed=observed)
    return state.evictions


def closed_nodes(situation: Situation) -> list[str]:
    """Other nodes that are cordoned by us, or are about to be."""
    return [
        node
        for node, state in situation.observation.fleet.states.items()
        if node != situation.node and _is_closed(state, observing=situation.observing)
    ]


def _is_closed(state: NodeState, *, observing: bool) -> bool:
    if state.isolation is not Isolation.NONE:
        return state.isolation_observed == observing
    about_to = any(True for _ in in_hand(state, ActionKind.CORDON))
    return about_to and (state.mode is Mode.OBSERVE) == observing
