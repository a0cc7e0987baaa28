"""The state machines: every phase x event pair is in the table or rejected unchanged."""

from itertools import product
from pathlib import Path

import pytest

from remediator.core.lifecycle import (
    ISOLATIONS,
    PHASES,
    Event,
    IllegalTransition,
    IsolationEvent,
    as_mermaid,
    document,
    isolation_after,
    phase_after,
)
from remediator.core.model import Isolation, Phase
from remediator.core.phases import HANDLERS

PAGE = Path(__file__).parents[2] / "docs" / "state-machines.md"


@pytest.mark.parametrize(("phase", "event"), list(product(Phase, Event)))
def test_every_phase_and_event_is_in_the_table_or_rejected(phase: Phase, event: Event) -> None:
    """A pair leads where the table says, or raises and names both."""
    if (phase, event) in PHASES:
        assert phase_after(phase, event) is PHASES[phase, event]
        return
    with pytest.raises(IllegalTransition) as raised:
        phase_after(phase, event)
    assert (raised.value.state, raised.value.event) == (phase, event)


@pytest.mark.parametrize(("isolation", "event"), list(product(Isolation, IsolationEvent)))
def test_every_isolation_and_event_is_in_the_table_or_rejected(isolation: Isolation, event: IsolationEvent) -> None:
    """The same for isolation."""
    if (isolation, event) in ISOLATIONS:
        assert isolation_after(isolation, event) is ISOLATIONS[isolation, event]
        return
    with pytest.raises(IllegalTransition):
        isolation_after(isolation, event)


def test_every_phase_is_reachable_and_can_be_left() -> None:
    """No phase is a trap, none is dead."""
    for phase in Phase:
        assert any(after is phase for (before, _), after in PHASES.items() if before is not phase)
        assert any(after is not phase for (before, _), after in PHASES.items() if before is phase)


def test_any_phase_stands_down_when_the_kubelet_evicts() -> None:
    """The kubelet has the last word everywhere."""
    assert all(phase_after(phase, Event.KUBELET_EVICTS) is Phase.STOOD_DOWN for phase in Phase)


def test_every_phase_has_a_handler() -> None:
    """No look at a node can find nobody at home."""
    assert set(HANDLERS) == set(Phase)


def test_mermaid_draws_every_row() -> None:
    """Each row of the table is an arrow of the picture."""
    drawn = as_mermaid(PHASES, Phase.WATCHING)
    for (before, event), after in PHASES.items():
        line = next(text for text in drawn.splitlines() if f"{before.value} --> {after.value}:" in text)
        assert event.value in line


def test_the_page_is_current() -> None:
    """docs/state-machines.md is what the tables say now."""
    assert PAGE.read_text() == document()
