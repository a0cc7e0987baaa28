"""Patches of nodes and pods, for any object they may meet: undone they leave it as it was, others' marks survive."""

import copy

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediator.adapters import patches
from remediator.adapters.patches import Settled
from remediator.core.policy import TaintSpec

OURS = TaintSpec()
LABEL = "remediator.io/serving"
texts = st.text("abc/~.-", min_size=1, max_size=6)
foreign_taints = st.lists(
    st.fixed_dictionaries({"key": texts, "effect": st.sampled_from(["NoSchedule", "NoExecute"])}),
    max_size=3,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
marks = st.dictionaries(texts, texts, max_size=3)


@st.composite
def objects(draw, **spec):
    metadata = {"name": "x", "uid": "u", "resourceVersion": "7", "labels": {**draw(marks), LABEL: "true"}}
    if (annotations := draw(st.none() | marks)) is not None:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": {name: value for name, of in spec.items() if (value := draw(of)) is not None}}


nodes = objects(taints=st.none() | foreign_taints, unschedulable=st.none() | st.booleans())


def apply(obj, patch):
    return obj if isinstance(patch, Settled) else jsonpatch.apply_patch(copy.deepcopy(obj), patch)


def plain(obj):
    """Without the difference between nothing and empty."""
    spec = {key: value for key, value in obj["spec"].items() if value}
    return {**obj["metadata"], "annotations": obj["metadata"].get("annotations") or {}}, spec


@given(nodes, foreign_taints, marks)
def test_a_node_is_given_back_as_it_was_found(node, late_taints, late_marks):
    """Cordon, taint, whatever others do meanwhile, untaint, uncordon: only the others' changes are left."""
    closed = apply(node, patches.cordon(node, "e", "now"))
    closed = apply(closed, patches.taint(closed, OURS, "e"))
    assert closed["spec"]["unschedulable"] is True
    assert {"key": OURS.key, "value": OURS.value, "effect": OURS.effect} in closed["spec"]["taints"]
    known = {(taint["key"], taint["effect"]) for taint in closed["spec"]["taints"]}
    added = [taint for taint in late_taints if (taint["key"], taint["effect"]) not in known]
    for changed in (closed, node):
        changed["spec"]["taints"] = [*(changed["spec"].get("taints") or []), *added]
        changed["metadata"]["annotations"] = {**(changed["metadata"].get("annotations") or {}), **late_marks}
    opened = apply(closed, patches.untaint(closed, OURS))
    opened = apply(opened, patches.uncordon(opened))
    assert plain(opened) == plain(node)


@given(nodes)
def test_doing_it_twice_is_doing_it_once(node):
    """A node that is closed, tainted or opened already is left alone."""
    closed = apply(node, patches.cordon(node, "e", "now"))
    closed = apply(closed, patches.taint(closed, OURS, "e"))
    assert isinstance(patches.cordon(closed, "e2", "later"), Settled)
    assert isinstance(patches.taint(closed, OURS, "e2"), Settled)
    assert isinstance(patches.uncordon(node), Settled)
    assert isinstance(patches.untaint(node, OURS), Settled)


@given(nodes)
def test_every_patch_of_a_node_fails_once_the_node_has_changed(node):
    """What was read is tested: a change in between makes the patch fail instead of being lost."""
    closed = apply(node, patches.cordon(node, "e", "now"))
    closed = apply(closed, patches.taint(closed, OURS, "e"))
    built = [
        (node, patches.cordon(node, "e", "now")),
        (node, patches.taint(node, OURS, "e")),
        (closed, patches.untaint(closed, OURS)),
        (closed, patches.uncordon(closed)),
    ]
    for read, patch in built:
        changed = {**read, "metadata": {**read["metadata"], "resourceVersion": "8"}}
        with pytest.raises(jsonpatch.JsonPatchTestFailed):
            apply(changed, patch)


@given(objects())
def test_a_pod_is_given_back_as_it_was_found(pod):
    """Drained and restored, its labels and annotations are what they were."""
    drained = apply(pod, patches.drain(pod, "u", LABEL, "true", "e"))
    assert LABEL not in drained["metadata"]["labels"]
    assert plain(apply(drained, patches.restore(drained, "u", LABEL, "true"))) == plain(pod)


@given(objects())
def test_a_pod_with_another_uid_is_never_patched(pod):
    """Neither by looking before, nor when it is replaced between look and patch."""
    assert isinstance(patches.drain(pod, "other", LABEL, "true", "e"), Settled)
    patch = patches.drain(pod, "u", LABEL, "true", "e")
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        apply({**pod, "metadata": {**pod["metadata"], "uid": "other", "resourceVersion": "8"}}, patch)
