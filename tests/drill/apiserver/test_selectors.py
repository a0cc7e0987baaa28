"""Label and field selectors: their grammar, and properties over generated ones."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediator.drill.apiserver.errors import ApiError
from remediator.drill.apiserver.selectors import parse_field_selector, parse_label_selector, selector_matches

KEYS = st.sampled_from(["app", "tier", "remediator.io/serving", "in", "notin"])
WORDS = st.sampled_from(["a", "b", "c-d", "1"])
LABELS = st.dictionaries(KEYS, WORDS)


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b,c=d", {"a": "b"}, False),
        ("a!=b", {}, True),
        ("a in (b, c),d", {"a": "c", "d": ""}, True),
        ("a notin (b)", {"a": "b"}, False),
        ("a notin (b)", {}, True),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("a=", {"a": ""}, True),
        ("x.io/y-z in (1)", {"x.io/y-z": "1"}, True),
    ],
)
def test_label_selectors(text: str, labels: Mapping[str, str], matches: bool) -> None:
    """Equality, sets, existence, and their absence."""
    assert parse_label_selector(text)(labels) is matches


@pytest.mark.parametrize("text", ["a in b", "a=b=c", "a in (b", "=b", "a b", "a!b"])
def test_a_selector_that_cannot_be_read_is_a_bad_request(text: str) -> None:
    """400, never a selector that selects something else."""
    with pytest.raises(ApiError) as refused:
        parse_label_selector(text)
    assert refused.value.code == 400


@given(LABELS, KEYS, st.lists(WORDS, min_size=1))
def test_in_and_notin_are_opposites(labels: dict[str, str], key: str, values: list[str]) -> None:
    """Exactly one of the two selects any set of labels."""
    listed = f"({','.join(values)})"
    chosen = parse_label_selector(f"{key} in {listed}")(labels), parse_label_selector(f"{key} notin {listed}")(labels)
    assert sorted(chosen) == [False, True]


@given(LABELS, LABELS)
def test_text_and_spec_selectors_agree(wanted: dict[str, str], labels: dict[str, str]) -> None:
    """matchLabels, the same as text, and the same as expressions select alike."""
    text = ",".join(f"{key}={value}" for key, value in wanted.items())
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in wanted.items()]
    by_text = parse_label_selector(text)(labels)
    assert by_text is selector_matches({"matchLabels": wanted}, labels)
    assert by_text is selector_matches({"matchExpressions": expressions}, labels)


@given(LABELS)
def test_no_selector_selects_nothing_and_an_empty_one_everything(labels: dict[str, str]) -> None:
    """As PodDisruptionBudgets of policy/v1 and Services read them."""
    assert (selector_matches(None, labels), selector_matches({}, labels)) == (False, True)


@given(st.lists(st.tuples(st.sampled_from(["spec.a", "status.b"]), WORDS, st.booleans()), min_size=1))
def test_every_field_requirement_counts(parts: list[tuple[str, str, bool]]) -> None:
    """A field named several times must hold every time; its value is what the object has at the path."""
    text = ",".join(f"{path}{'=' if equal else '!='}{value}" for path, value, equal in parts)
    obj = {"spec": {"a": "a"}, "status": {"b": True}}
    found = {"spec.a": "a", "status.b": "true"}
    wanted = all((found[path] == value) is equal for path, value, equal in parts)
    assert all(each.holds(obj) for each in parse_field_selector(text, lambda path: True)) is wanted
