"""Alertmanager's matcher semantics, and our two rules on top of them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from remediator.core.matchers import matcher_holds, parse_matchers
from remediator.core.model import Matcher, Silence
from remediator.core.silences import silence_holds

VECTORS: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "silences.yaml").read_text(encoding="utf-8"))

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


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: " ".join(vector["matchers"]))
def test_the_vectors_hold(vector: dict[str, Any]) -> None:
    """Those that a real Alertmanager is asked too (tests/adapters/test_silences_oracle.py)."""
    matchers = tuple(matcher for text in vector["matchers"] for matcher in parse_matchers(text))
    assert silence_holds(Silence("a", matchers), vector["labels"]) is vector["holds"]


def test_an_expression_that_could_take_for_ever_is_never_tried() -> None:
    """Python would try two to the power of forty ways; counted as matching instead."""
    assert matcher_holds(Matcher("node", "(a+)+b", is_regex=True), {"node": "a" * 40})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{a="b", c=~"d,}.*",}', (Matcher("a", "b"), Matcher("c", "d,}.*", is_regex=True))),
        ("a!~b|c", (Matcher("a", "b|c", is_regex=True, is_equal=False),)),
        (' a != "" ', (Matcher("a", "", is_equal=False),)),
        (r'a="x\"\\\d\n"', (Matcher("a", 'x"\\\\d\n'),)),
        ('"ä b"="x"', (Matcher("ä b", "x"),)),
        ("{}", ()),
    ],
)
def test_matchers_are_read_as_they_are_written(text: str, found: tuple[Matcher, ...]) -> None:
    """Braces, quotes, escapes, and names in UTF-8 as newer Alertmanagers allow them."""
    assert parse_matchers(text) == found


@pytest.mark.parametrize("text", ["a", 'a="b" c="d"', '="b"', 'a=~"b'])
def test_what_is_no_matcher_is_refused(text: str) -> None:
    """Half of a matcher is not guessed at."""
    with pytest.raises(ValueError, match="is no matcher like"):
        parse_matchers(text)
