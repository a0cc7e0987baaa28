"""Rewriting of PromQL text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediator.rulefiles.durations import format_ms, parse_ms
from remediator.rulefiles.promql import map_durations, rename, scale_ages, tokens, wrap_calls


@given(st.text(alphabet="abcnoderate_:01259.smh[](){}\"'`\\=~,# \n+-*/><offset", max_size=80))
def test_tokens_lose_nothing(expression: str) -> None:
    """The texts of the tokens, joined, are the expression."""
    assert "".join(token.text for token in tokens(expression)) == expression


@given(st.integers(1, 10**12))
def test_durations_come_back(milliseconds: int) -> None:
    """What is formatted is parsed to the same."""
    assert parse_ms(format_ms(milliseconds)) == milliseconds


@pytest.mark.parametrize("text", ["", "5", "m5", "5x", "-5s", "5s "])
def test_no_duration(text: str) -> None:
    """What Prometheus would refuse is refused with an example."""
    with pytest.raises(ValueError, match="such as 15s"):
        parse_ms(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rate(x[5m])", "rate(x[30s])"),
        ("max_over_time(x[1h30m:1m] offset 10m)", "max_over_time(x[9m:6s] offset 1m)"),
        ("x offset  -10s", "x offset  -1s"),
        ("sum_over_time(x[7d:])", "sum_over_time(x[1008m:])"),
        # Label values, comments, names and plain numbers are no durations.
        ("x{a=\"[5m] offset 5m\",b='[1h]'} # [5m]\n > 5", "x{a=\"[5m] offset 5m\",b='[1h]'} # [5m]\n > 5"),
        ('node:memory_used:deriv5m{offset="5m"}', 'node:memory_used:deriv5m{offset="5m"}'),
        ('label_replace(x[30s], "a", "$1", "b", "(.*)[10m]")', 'label_replace(x[3s], "a", "$1", "b", "(.*)[10m]")'),
    ],
)
def test_durations_are_found_where_promql_has_them(before: str, after: str) -> None:
    """Ranges, subqueries and offsets are changed, text is not."""
    assert map_durations(before, lambda ms: ms / 10) == after


def test_durations_that_do_not_change_keep_their_words() -> None:
    """`120s` does not become `2m` on the way."""
    assert map_durations("x[120s] offset 60s", lambda ms: ms) == "x[120s] offset 60s"


def test_rename_is_of_whole_names() -> None:
    """A name within another name, a string or a comment stays."""
    text = 'a + a:b + ba{x="a"} # a'
    assert rename(text, "a", "z") == 'z + a:b + ba{x="a"} # a'


def test_calls_on_a_selector_are_wrapped_whatever_their_layout() -> None:
    """Matchers, offsets and line breaks belong to the call; calls on expressions are left alone."""
    text = 'max(rate(node_x{a=")"}[1m])) + last_over_time(\n  node_y[20s] offset 5m\n) + rate(sum(node_z)[1m:1s])'
    wrapped = wrap_calls(text, lambda _function, metric, call: f"<{call}>" if metric.startswith("node_") else None)
    assert wrapped == (
        'max(<rate(node_x{a=")"}[1m])>) + <last_over_time(\n  node_y[20s] offset 5m\n)> + rate(sum(node_z)[1m:1s])'
    )


def test_ages_are_told_in_the_time_of_the_observed() -> None:
    """Only `(time() - ...)` is an age."""
    assert scale_ages("(time() - (max(x) > 0)) > 5", 2) == "((time() - (max(x) > 0)) * 2) > 5"
    assert scale_ages("timestamp(x) > time() - 120", 2) == "timestamp(x) > time() - 120"
