"""The two small state machines of a node, as tables: the phase of its episode and its isolation.

Rules of this file, after h11: what is not in a table is illegal; an illegal event raises `IllegalTransition`
and changes nothing; nobody else assigns a phase. The level is an input computed by the rules and has no
machine here. docs/state-machines.md is rendered from these tables.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from remediator.core.model import Isolation, Phase


class Event(StrEnum):
    """What can happen to an episode."""

    ACT = "act"
    """A plan is to be performed now."""
    HOLD = "hold"
    """A plan waits for a human."""
    APPROVE = "approve"
    WITHDRAW = "withdraw"
    """The waiting plan expired, or is not needed any more."""
    PERFORMED = "performed"
    """The plan is done and memory is expected to come back."""
    NOTHING_TO_SETTLE = "nothing_to_settle"
    """The plan is done and nobody left: there is nothing to measure."""
    ASSESSED = "assessed"
    """The round was measured; the episode stays open."""
    END_EPISODE = "end_episode"
    ESCALATE = "escalate"
    COOLED = "cooled"
    KUBELET_EVICTS = "kubelet_evicts"
    STAND_DOWN_OVER = "stand_down_over"


class IsolationEvent(StrEnum):
    """What can happen to a node's isolation."""

    CORDONED = "cordoned"
    ADOPTED = "adopted"
    """Our mark was found on the node though the record did not know of it."""
    CALM = "calm"
    PRESSURE = "pressure"
    RELEASED = "released"
    LIFTED = "lifted"
    """A human (or somebody else's tool) uncordoned the node."""


PHASES: Mapping[tuple[Phase, Event], Phase] = {
    (Phase.WATCHING, Event.ACT): Phase.ACTING,
    (Phase.WATCHING, Event.HOLD): Phase.AWAITING_APPROVAL,
    (Phase.WATCHING, Event.END_EPISODE): Phase.COOLING_DOWN,
    (Phase.WATCHING, Event.ESCALATE): Phase.ESCALATED,
    (Phase.WATCHING, Event.KUBELET_EVICTS): Phase.STOOD_DOWN,
    (Phase.AWAITING_APPROVAL, Event.APPROVE): Phase.ACTING,
    (Phase.AWAITING_APPROVAL, Event.HOLD): Phase.AWAITING_APPROVAL,
    (Phase.AWAITING_APPROVAL, Event.WITHDRAW): Phase.WATCHING,
    (Phase.AWAITING_APPROVAL, Event.KUBELET_EVICTS): Phase.STOOD_DOWN,
    (Phase.ACTING, Event.PERFORMED): Phase.SETTLING,
    (Phase.ACTING, Event.NOTHING_TO_SETTLE): Phase.WATCHING,
    (Phase.ACTING, Event.KUBELET_EVICTS): Phase.STOOD_DOWN,
    (Phase.SETTLING, Event.ACT): Phase.ACTING,
    (Phase.SETTLING, Event.HOLD): Phase.AWAITING_APPROVAL,
    (Phase.SETTLING, Event.ASSESSED): Phase.WATCHING,
    (Phase.SETTLING, Event.END_EPISODE): Phase.COOLING_DOWN,
    (Phase.SETTLING, Event.ESCALATE): Phase.ESCALATED,
    (Phase.SETTLING, Event.KUBELET_EVICTS): Phase.STOOD_DOWN,
    (Phase.COOLING_DOWN, Event.COOLED): Phase.WATCHING,
    (Phase.COOLING_DOWN, Event.KUBELET_EVICTS): Phase.STOOD_DOWN,
    (Phase.STOOD_DOWN, Event.KUBELET_EVICTS): Phase.STOOD_DOWN,
    (Phase.STOOD_DOWN, Event.STAND_DOWN_OVER): Phase.WATCHING,
    (Phase.ESCALATED, Event.HOLD): Phase.ESCALATED,
    (Phase.ESCALATED, Event.APPROVE): Phase.ACTING,
    (Phase.ESCALATED, Event.END_EPISODE): Phase.COOLING_DOWN,
    (Phase.ESCALATED, Event.KUBELET_EVICTS): Phase.STOOD_DOWN,
}

ISOLATIONS: Mapping[tuple[Isolation, IsolationEvent], Isolation] = {
    (Isolation.NONE, IsolationEvent.CORDONED): Isolation.CORDONED_BY_US,
    (Isolation.NONE, IsolationEvent.ADOPTED): Isolation.CORDONED_BY_US,
    (Isolation.CORDONED_BY_US, IsolationEvent.CORDONED): Isolation.CORDONED_BY_US,
    (Isolation.CORDONED_BY_US, IsolationEvent.CALM): Isolation.RELEASABLE,
    (Isolation.CORDONED_BY_US, IsolationEvent.RELEASED): Isolation.NONE,
    (Isolation.CORDONED_BY_US, IsolationEvent.LIFTED): Isolation.NONE,
    (Isolation.RELEASABLE, IsolationEvent.PRESSURE): Isolation.CORDONED_BY_US,
    (Isolation.RELEASABLE, IsolationEvent.RELEASED): Isolation.NONE,
    (Isolation.RELEASABLE, IsolationEvent.LIFTED): Isolation.NONE,
}


class IllegalTransition(Exception):  # noqa: N818 - named as what it is, after h11
    """An event that has no row in the table; the state it was sent to is unchanged."""

    def __init__(self, state: StrEnum, event: StrEnum) -> None:
        super().__init__(f"{event.value} is not possible in {state.value}")
        self.state = state
        self.event = event


def phase_after(phase: Phase, event: Event) -> Phase:
    """The phase that follows; raises IllegalTransition."""
    try:
        return PHASES[phase, event]
    except KeyError:
        raise IllegalTransition(phase, event) from None


def isolation_after(isolation: Isolation, event: IsolationEvent) -> Isolation:
    """The isolation that follows; raises IllegalTransition."""
    try:
        return ISOLATIONS[isolation, event]
    except KeyError:
        raise IllegalTransition(isolation, event) from None


_S = TypeVar("_S", Phase, Isolation)
_E = TypeVar("_E", Event, IsolationEvent)


def as_mermaid(table: Mapping[tuple[_S, _E], _S], start: _S) -> str:
    """The table as a Mermaid state diagram; several events between two states share an arrow."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for (state, event), after in table.items():
        arrows.setdefault((state.value, after.value), []).append(event.value)
    drawn: list[str] = [f"    {a} --> {b}: {', '.join(events)}" for (a, b), events in arrows.items()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {start.value}", *drawn])


def document() -> str:
    """The whole of docs/state-machines.md."""
    return f"""# State machines

Rendered from the tables in `remediator/core/lifecycle.py` by its `document()`; a test fails when this page is
stale. An event without an arrow is illegal: it raises and changes nothing.

## Phase of a node's episode

```mermaid
{as_mermaid(PHASES, Phase.WATCHING)}
```

An episode begins with the first action on a node. It ends when the node is GREEN, when its rounds are spent,
or when we stand down because the kubelet evicts; then the node cools down. WATCHING with an episode open
means that nothing is under way right now: endpoints were drained, or the last round covered its target and
the level has yet to fall.

## Isolation of a node

```mermaid
{as_mermaid(ISOLATIONS, Isolation.NONE)}
```

Only what carries our mark is ever lifted. A human's uncordon is respected for the length of the cooldown.
"""
