"""Alertmanager's matcher semantics, and our two rules on top of them."""

import pytest

from remediator.core.model import Matcher, Silence
from remediator.core.silences import matcher_holds, silence_holds

LABELS = {"alertname": "NodeMemoryPressure", "node": "worker-1", "empty": ""}


@pytest.mark.parametrize(
    ("matcher", "holds"),
    [
        (Matcher("node", "worker-1"), True),
        (Matcher("node", "worker-2"), False),
        (Matcher("node", "worker-1", is_equal=False), False),
        (Matcher("node", "worker-2", is_equal=False), True),
        (Matcher("missing", ""), True),
        (Matcher("missing", "x"), False),
        (Matcher("missing", "", is_equal=False), False),
        (Matcher("empty", ""), True),
        (Matcher("node", "worker-.", is_regex=True), True),
        (Matcher("node", "worker", is_regex=True), False),
        (Matcher("node", "orker-1", is_regex=True), False),
        (Matcher("node", "worker-1|other", is_regex=True), True),
        (Matcher("node", "other|worker", is_regex=True), False),
        (Matcher("node", ".*", is_regex=True), True),
        (Matcher("missing", ".*", is_regex=True), True),
        (Matcher("missing", ".+", is_regex=True), False),
        (Matcher("node", "worker-.", is_regex=True, is_equal=False), False),
        (Matcher("node", "(?i)WORKER-1", is_regex=True), True),
        (Matcher("node", r"worker-\d", is_regex=True), True),
        (Matcher("node", r"\pL+-1", is_regex=True), True),
        (Matcher("node", "[[:alpha:]]+", is_regex=True), True),
        (Matcher("node", "(", is_regex=True, is_equal=False), True),
    ],
)
def test_a_matcher_holds_as_in_alertmanager(matcher: Matcher, holds: bool) -> None:
    """Anchored, missing equals empty, negative forms; what Python cannot compile counts as matching."""
    assert matcher_holds(matcher, LABELS) is holds


def test_all_matchers_must_hold() -> None:
    """A silence is a conjunction."""
    both = (Matcher("node", "worker-1"), Matcher("alertname", "NodeMemoryPressure"))
    assert silence_holds(Silence("a", both), LABELS)
    assert not silence_holds(Silence("a", (*both, Matcher("cluster", "lab"))), LABELS)


@pytest.mark.parametrize(
    "matchers",
    [
        (Matcher("team", "x", is_equal=False),),
        (Matcher("missing", ""),),
        (Matcher("missing", ".*", is_regex=True),),
        (),
    ],
)
def test_a_silence_without_a_positive_hit_on_a_real_label_pauses_nothing(
    matchers: tuple[Matcher, ...],
) -> None:
    """`team!="x"` was meant for other alerts; it must not pause every node."""
    assert not silence_holds(Silence("a", matchers), LABELS)


def test_negative_matchers_narrow_a_positive_one() -> None:
    """`alertname=…, node!="worker-2"` pauses worker-1."""
    matchers = (Matcher("alertname", "NodeMemoryPressure"), Matcher("node", "worker-2", is_equal=False))
    assert silence_holds(Silence("a", matchers), LABELS)
    assert not silence_holds(Silence("a", matchers), {**LABELS, "node": "worker-2"})
