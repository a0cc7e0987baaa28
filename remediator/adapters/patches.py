"""JSON patches for nodes and pods: from the object as it was read to the guarded steps that change it. Pure.

Every patch tests what it was built from, so that a change made in between by somebody else fails it instead of being
lost. Where there is nothing to do, or nothing of ours to undo, the answer is `Settled` and no patch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from remediator.core.actions import ActionStatus
from remediator.core.policy import TaintSpec
from remediator.core.reason import Reason
from remediator.core.tracking import CORDONED_AT, CORDONED_BY

Json = dict[str, Any]
PRIOR_UNSCHEDULABLE = "remediator.io/prior-unschedulable"
TAINTED_BY = "remediator.io/tainted-by"
DRAINED_BY = "remediator.io/drained-by"
_CORDON_MARKS = (CORDONED_BY, CORDONED_AT, PRIOR_UNSCHEDULABLE)


@dataclass(frozen=True, slots=True)
class Settled:
    """Nothing is to be written, and why."""

    status: ActionStatus
    reason: Reason
    detail: str = ""


def cordon(node: Json, episode_id: str, now: str) -> list[Json] | Settled:
    """Close the node and write down by whom, when, and whether it was closed before."""
    unschedulable = bool((node.get("spec") or {}).get("unschedulable"))
    owner = _annotations(node).get(CORDONED_BY)
    if owner is not None and unschedulable:
        return Settled(ActionStatus.DONE, Reason.ALREADY_DONE, f"cordoned by {owner}")
    marks = {CORDONED_BY: episode_id, CORDONED_AT: now, PRIOR_UNSCHEDULABLE: str(unschedulable).lower()}
    return [*_unchanged(node), *_annotated(node, marks), _add("/spec/unschedulable", True)]


def uncordon(node: Json) -> list[Json] | Settled:
    """Only what carries our mark; a node that was closed before us stays closed."""
    annotations = _annotations(node)
    if CORDONED_BY not in annotations:
        return Settled(ActionStatus.SKIPPED, Reason.NOT_OURS, "the node carries no mark of ours")
    patch = _unchanged(node)
    closed_before = annotations.get(PRIOR_UNSCHEDULABLE) == "true"
    if (node.get("spec") or {}).get("unschedulable") and not closed_before:
        patch.append(_remove("/spec/unschedulable"))
    return patch + [_remove(_annotation(key)) for key in _CORDON_MARKS if key in annotations]


def taint(node: Json, ours: TaintSpec, episode_id: str) -> list[Json] | Settled:
    """Add our taint to whatever others are there; one that is there already and not ours stays somebody else's."""
    taints = (node.get("spec") or {}).get("taints")
    if any(_is(found, ours) for found in taints or []):
        return Settled(ActionStatus.DONE, Reason.ALREADY_DONE, "the taint is there")
    new = {"key": ours.key, "value": ours.value, "effect": ours.effect}
    step = _add("/spec/taints", [new]) if taints is None else _add("/spec/taints/-", new)
    return [*_unchanged(node), step, *_annotated(node, {TAINTED_BY: episode_id})]


def untaint(node: Json, ours: TaintSpec) -> list[Json] | Settled:
    """Remove our taint, and only if we set it; the others stay in their order."""
    annotations, taints = _annotations(node), (node.get("spec") or {}).get("taints") or []
    if TAINTED_BY not in annotations:
        return Settled(ActionStatus.SKIPPED, Reason.NOT_OURS, "the taint is not ours, or gone already")
    patch = [*_unchanged(node), _remove(_annotation(TAINTED_BY))]
    index = next((i for i, found in enumerate(taints) if _is(found, ours)), None)
    return patch if index is None else [*patch, _test("/spec/taints", taints), _remove(f"/spec/taints/{index}")]


def drain(pod: Json, uid: str, label: str, value: str, episode_id: str) -> list[Json] | Settled:
    """Take the label off: the EndpointSlice drops the pod, its controller keeps it."""
    if (other := _other(pod, uid)) is not None:
        return other
    labels = pod["metadata"].get("labels") or {}
    if label not in labels:
        if DRAINED_BY in _annotations(pod):
            return Settled(ActionStatus.DONE, Reason.ALREADY_DONE, "out of service already")
        return Settled(ActionStatus.SKIPPED, Reason.NOT_OURS, f"somebody else took {label} off")
    if labels[label] != value:
        return Settled(ActionStatus.RETRY_LATER, Reason.CONFLICT, f"{label} is {labels[label]!r} by now, not {value!r}")
    patch = [_test("/metadata/uid", uid), _test(_label(label), value), _remove(_label(label))]
    if not _annotations(pod):
        patch = [*_unchanged(pod), *patch]
    return [*patch, *_annotated(pod, {DRAINED_BY: episode_id})]


def restore(pod: Json, uid: str, label: str, value: str) -> list[Json] | Settled:
    """Put the label back; one that somebody has set meanwhile is left as it is."""
    if (other := _other(pod, uid)) is not None:
        return other
    marked = DRAINED_BY in _annotations(pod)
    if label in (pod["metadata"].get("labels") or {}) and not marked:
        return Settled(ActionStatus.DONE, Reason.ALREADY_DONE, "in service already")
    patch = [_test("/metadata/uid", uid), *_unchanged(pod)]
    if not pod["metadata"].get("labels"):
        patch.append(_add("/metadata/labels", {label: value}))
    elif label not in pod["metadata"]["labels"]:
        patch.append(_add(_label(label), value))
    return [*patch, *([_remove(_annotation(DRAINED_BY))] if marked else [])]


def _other(pod: Json, uid: str) -> Settled | None:
    if pod["metadata"]["uid"] == uid:
        return None
    return Settled(ActionStatus.SKIPPED, Reason.REPLACED_SINCE, "another pod has the name now")


def _annotations(obj: Json) -> Mapping[str, str]:
    return obj["metadata"].get("annotations") or {}


def _is(taint: Json, ours: TaintSpec) -> bool:
    """The API tells taints apart by key and effect."""
    return bool(taint["key"] == ours.key and taint["effect"] == ours.effect)


def _annotated(obj: Json, marks: Mapping[str, str]) -> list[Json]:
    if not _annotations(obj):
        return [_add("/metadata/annotations", dict(marks))]
    return [_add(_annotation(key), value) for key, value in marks.items()]


def _unchanged(obj: Json) -> list[Json]:
    """The object must be as it was read."""
    return [_test("/metadata/resourceVersion", obj["metadata"]["resourceVersion"])]


def _test(path: str, value: Any) -> Json:
    return {"op": "test", "path": path, "value": value}


def _add(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}


def _remove(path: str) -> Json:
    return {"op": "remove", "path": path}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _annotation(key: str) -> str:
    return f"/metadata/annotations/{_escaped(key)}"


def _label(key: str) -> str:
    return f"/metadata/labels/{_escaped(key)}"
