"""Patches as pure functions: the examples of the standards, Kubernetes' own ways, and properties."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediator.drill.apiserver.errors import ApiError
from remediator.drill.apiserver.patches import json_patch, merge_patch, strategic_merge_patch

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_by_the_standard(target: Any, patch: Any, result: Any) -> None:
    """The examples of RFC 7386's appendix."""
    assert merge_patch(target, patch) == result


@given(VALUES, VALUES)
def test_a_merge_patch_applied_twice_is_applied_once(target: Any, patch: Any) -> None:
    """Idempotent, and it leaves its arguments alone."""
    target_before, patch_before = copy.deepcopy(target), copy.deepcopy(patch)
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once
    assert (target, patch) == (target_before, patch_before)


@given(OBJECTS)
def test_an_empty_patch_changes_nothing(target: dict[str, Any]) -> None:
    """For both merge patches and for a JSON patch without steps."""
    assert merge_patch(target, {}) == strategic_merge_patch(target, {}) == json_patch(target, []) == target


@given(OBJECTS, OBJECTS)
def test_without_lists_a_strategic_patch_sets_what_a_merge_patch_sets(
    target: dict[str, Any], patch: dict[str, Any]
) -> None:
    """At the top level, scalars and removals mean the same in both."""
    flat = {key: value for key, value in patch.items() if not isinstance(value, list | dict) and key[:1] != "$"}
    assert strategic_merge_patch(target, flat) == merge_patch(target, flat)


def test_conditions_are_merged_by_their_type() -> None:
    """A patched condition takes its place, a new one comes first, the others stay."""
    old = {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}]}
    patch = {"conditions": [{"type": "Ready", "status": "False"}, {"type": "New", "status": "True"}]}
    assert strategic_merge_patch(old, patch)["conditions"] == [
        {"type": "New", "status": "True"},
        {"type": "Ready", "status": "False", "reason": "r"},
    ]


def test_environment_is_merged_inside_its_container() -> None:
    """Merge keys hold at every depth; `$patch: delete` takes an item away."""
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    old = {"spec": {"containers": [{"name": "c", "image": "i", "env": env}]}}
    steps = [{"name": "A", "value": "3"}, {"name": "B", "$patch": "delete"}]
    new = strategic_merge_patch(old, {"spec": {"containers": [{"name": "c", "env": steps}]}})
    assert new["spec"]["containers"] == [{"name": "c", "image": "i", "env": [{"name": "A", "value": "3"}]}]


def test_taints_are_replaced_as_a_whole() -> None:
    """A node's taints are an atomic list: kubectl sends all that shall remain."""
    old = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}]}}
    patch = {"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}
    assert strategic_merge_patch(old, patch) == patch


def test_finalizers_are_a_set() -> None:
    """Patched ones are added; the directive takes them away."""
    added = strategic_merge_patch({"finalizers": ["a"]}, {"finalizers": ["b", "a"]})
    assert added == {"finalizers": ["a", "b"]}
    assert strategic_merge_patch(added, {"$deleteFromPrimitiveList/finalizers": ["a"]}) == {"finalizers": ["b"]}


@pytest.mark.parametrize(
    "step",
    [
        {"op": "test", "path": "/a", "value": "other"},
        {"op": "test", "path": "/b", "value": "x"},
        {"op": "remove", "path": "/b"},
        {"op": "replace", "path": "/b/c", "value": 1},
        {"op": "add", "path": "/l/7", "value": 1},
    ],
)
def test_a_json_patch_that_does_not_fit_is_unprocessable_as_a_whole(step: dict[str, Any]) -> None:
    """422, and the steps before it have not happened."""
    obj = {"a": "x", "l": []}
    with pytest.raises(ApiError) as refused:
        json_patch(obj, [{"op": "add", "path": "/n", "value": 1}, step])
    assert refused.value.code == 422
    assert obj == {"a": "x", "l": []}


def test_a_json_patch_may_test_for_nothing() -> None:
    """`test` with null holds where nothing is, as in the library of a real server."""
    steps = [{"op": "test", "path": "/a", "value": None}, {"op": "add", "path": "/a", "value": 1}]
    assert json_patch({}, steps) == {"a": 1}


@pytest.mark.parametrize("patch", [{}, [{"op": "fly", "path": "/a"}], [{"path": "/a"}], ["x"]])
def test_what_is_no_json_patch_is_a_bad_request(patch: Any) -> None:
    """400 before anything is tried."""
    with pytest.raises(ApiError) as refused:
        json_patch({"a": 1}, patch)
    assert refused.value.code == 400
