"""Performs actions on the cluster: evict, drain endpoints, cordon, taint, scale, and their undoing.

Every change is fenced: evictions by the pod's UID, patches by tests inside the JSON patch, so that nobody else's
cordon, taint or label is lost to a race. Ownership and what was there before stand in annotations of the node.
Decides nothing: what not to do was decided before, and its answers are only reported.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from remediator.adapters.answers import change_answer, eviction_answer
from remediator.adapters.kubernetes_api import KubernetesApi, KubernetesError
from remediator.core.actions import Action, ActionKind, ActionResult, ActionStatus
from remediator.core.policy import TaintSpec
from remediator.core.reason import Reason

Json = dict[str, Any]
CORDONED_BY = "remediator.io/cordoned-by"
CORDONED_AT = "remediator.io/cordoned-at"
PRIOR_UNSCHEDULABLE = "remediator.io/prior-unschedulable"
REPLICAS_BEFORE = "remediator.io/replicas-before"
_RACES = 4
_SERVER_RETRIES = 2
_JSON_PATCH = "application/json-patch+json"
_MERGE_PATCH = "application/merge-patch+json"
RBAC_RULES: tuple[Json, ...] = (
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"]},
)
SCALE_RBAC_RULES: tuple[Json, ...] = (
    {"apiGroups": ["apps"], "resources": ["deployments", "statefulsets"], "verbs": ["get", "patch"]},
    {"apiGroups": ["apps"], "resources": ["deployments/scale", "statefulsets/scale"], "verbs": ["get", "patch"]},
)


class RecordingActuator:
    """Observe mode's actuator: has no client, so it cannot act."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock

    def perform(self, action: Action) -> ActionResult:
        """Says that it would."""
        detail = "observe mode: would have been done"
        return ActionResult(action, ActionStatus.DONE, Reason.DRY_RUN, self._clock(), detail)


class KubernetesActuator:
    """Acts."""

    def __init__(self, api: KubernetesApi, taint: TaintSpec, clock: Callable[[], float] = time.time) -> None:
        self._api, self._taint, self._clock = api, taint, clock
        self._steps: dict[ActionKind, Callable[[Action], ActionResult]] = {
            ActionKind.EVICT: self._evict,
            ActionKind.CORDON: self._cordon,
            ActionKind.UNCORDON: self._uncordon,
            ActionKind.TAINT: self._add_taint,
            ActionKind.UNTAINT: self._remove_taint,
            ActionKind.DRAIN_ENDPOINTS: self._drain_endpoints,
            ActionKind.RESTORE_ENDPOINTS: self._restore_endpoints,
            ActionKind.SCALE: self._scale,
            ActionKind.RESTORE_SCALE: self._restore_scale,
        }

    def perform(self, action: Action) -> ActionResult:
        """One action; never raises for an answer of the API."""
        try:
            return self._steps[action.kind](action)
        except KubernetesError as error:
            status, reason = change_answer(error)
            return self._result(action, status, reason, str(error))

    def _result(self, action: Action, status: ActionStatus, reason: Reason, detail: str = "") -> ActionResult:
        return ActionResult(action, status, reason, self._clock(), detail)

    def _done(self, action: Action) -> ActionResult:
        return self._result(action, ActionStatus.DONE, Reason.ACCEPTED)

    # --- evict ------------------------------------------------------------------------------------------

    def _evict(self, action: Action) -> ActionResult:
        """policy/v1 Eviction with the UID as precondition; a plain 5xx is asked again at most twice."""
        for left in range(_SERVER_RETRIES, -1, -1):
            try:
                body = eviction_body(action)
                self._api.write(self._api.core.create_namespaced_pod_eviction, action.pod, action.namespace, body)
                return self._done(action)
            except KubernetesError as error:
                status, reason = eviction_answer(error)
                if reason is Reason.API_ERROR and error.status >= 500 and left:
                    continue
                if status is ActionStatus.UNKNOWN or (reason is Reason.API_ERROR and error.status >= 500):
                    return self._read_outcome(action, error)
                return self._result(action, status, reason, str(error))
        raise AssertionError("unreachable")

    def _read_outcome(self, action: Action, error: KubernetesError) -> ActionResult:
        """No usable answer: whether it took effect is read off the pod, by UID."""
        try:
            pod = self._api.read(self._api.core.read_namespaced_pod, action.pod, action.namespace)
        except KubernetesError as second:
            if second.status == 404:
                return self._result(action, ActionStatus.DONE, Reason.ACCEPTED, f"gone after: {error}")
            return self._result(action, ActionStatus.UNKNOWN, Reason.TIMED_OUT, f"{error}; then {second}")
        gone = pod["metadata"]["uid"] != action.pod_uid
        if gone or "deletionTimestamp" in pod["metadata"]:
            return self._result(action, ActionStatus.DONE, Reason.ACCEPTED, f"took effect in spite of: {error}")
        status, reason = eviction_answer(error)
        return self._result(action, status, reason, str(error))

    # --- cordon and taint -------------------------------------------------------------------------------

    def _patch_node(self, action: Action, patch_for: Callable[[Json], list[Json] | ActionResult]) -> ActionResult:
        """Read, build a guarded patch, apply; again when somebody else changed the node in between."""
        for left in range(_RACES, -1, -1):
            node = self._api.read(self._api.core.read_node, action.node)
            patch = patch_for(node)
            if isinstance(patch, ActionResult):
                return patch
            try:
                self._api.write(self._api.core.patch_node, action.node, patch, _content_type=_JSON_PATCH)
                return self._done(action)
            except KubernetesError as error:
                if error.status not in (409, 422) or not left:
                    raise
        raise AssertionError("unreachable")

    def _cordon(self, action: Action) -> ActionResult:
        def patch_for(node: Json) -> list[Json] | ActionResult:
            annotations = node["metadata"].get("annotations")
            owner = (annotations or {}).get(CORDONED_BY)
            unschedulable = bool((node.get("spec") or {}).get("unschedulable"))
            if owner is not None and unschedulable:
                return self._result(action, ActionStatus.DONE, Reason.ALREADY_DONE, f"cordoned by {owner}")
            marks = {
                CORDONED_BY: action.episode_id,
                CORDONED_AT: datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds"),
                PRIOR_UNSCHEDULABLE: str(unschedulable).lower(),
            }
            patch = [*_unchanged(node), *([] if annotations else [_add("/metadata/annotations", {})])]
            patch += [_add(_annotation(key), value) for key, value in marks.items()]
            return [*patch, _add("/spec/unschedulable", True)]

        return self._patch_node(action, patch_for)

    def _uncordon(self, action: Action) -> ActionResult:
        """Only what carries our mark; a node that was closed before us stays closed."""

        def patch_for(node: Json) -> list[Json] | ActionResult:
            annotations = node["metadata"].get("annotations") or {}
            if CORDONED_BY not in annotations:
                return self._result(action, ActionStatus.SKIPPED, Reason.NOT_OURS, "the node carries no mark of ours")
            patch = _unchanged(node)
            closed_before = annotations.get(PRIOR_UNSCHEDULABLE) == "true"
            if (node.get("spec") or {}).get("unschedulable") and not closed_before:
                patch.append({"op": "remove", "path": "/spec/unschedulable"})
            marks = (CORDONED_BY, CORDONED_AT, PRIOR_UNSCHEDULABLE)
            return patch + [{"op": "remove", "path": _annotation(key)} for key in marks if key in annotations]

        return self._patch_node(action, patch_for)

    def _ours(self, taint: Json) -> bool:
        return bool(taint["key"] == self._taint.key and taint["effect"] == self._taint.effect)

    def _add_taint(self, action: Action) -> ActionResult:
        def patch_for(node: Json) -> list[Json] | ActionResult:
            taints = (node.get("spec") or {}).get("taints")
            if any(self._ours(taint) for taint in taints or []):
                return self._result(action, ActionStatus.DONE, Reason.ALREADY_DONE, "the taint is there")
            new = {"key": self._taint.key, "value": self._taint.value, "effect": self._taint.effect}
            if taints is None:
                return [*_unchanged(node), _add("/spec/taints", [new])]
            return [_test("/spec/taints", taints), _add("/spec/taints/-", new)]

        return self._patch_node(action, patch_for)

    def _remove_taint(self, action: Action) -> ActionResult:
        def patch_for(node: Json) -> list[Json] | ActionResult:
            taints = (node.get("spec") or {}).get("taints") or []
            index = next((i for i, taint in enumerate(taints) if self._ours(taint)), None)
            if index is None:
                return self._result(action, ActionStatus.SKIPPED, Reason.NOT_OURS, "the taint is gone already")
            return [_test("/spec/taints", taints), {"op": "remove", "path": f"/spec/taints/{index}"}]

        return self._patch_node(action, patch_for)

    # --- endpoints --------------------------------------------------------------------------------------

    def _drain_endpoints(self, action: Action) -> ActionResult:
        """Take the label off: the EndpointSlice drops the pod, its controller keeps it."""
        path = _label(action.label)
        patch = [
            _test("/metadata/uid", action.pod_uid),
            _test(path, action.label_value),
            {"op": "remove", "path": path},
        ]
        return self._patch_pod(action, patch, already=lambda labels: action.label not in labels)

    def _restore_endpoints(self, action: Action) -> ActionResult:
        patch = [_test("/metadata/uid", action.pod_uid), _add(_label(action.label), action.label_value)]
        return self._patch_pod(action, patch, already=lambda labels: action.label in labels)

    def _patch_pod(self, action: Action, patch: list[Json], already: Callable[[Json], bool]) -> ActionResult:
        try:
            call = self._api.core.patch_namespaced_pod
            self._api.write(call, action.pod, action.namespace, patch, _content_type=_JSON_PATCH)
            return self._done(action)
        except KubernetesError as error:
            if error.status not in (409, 422):
                raise
        # A failed test says nothing of which one; the pod itself does.
        pod = self._api.read(self._api.core.read_namespaced_pod, action.pod, action.namespace)
        if pod["metadata"]["uid"] != action.pod_uid:
            return self._result(action, ActionStatus.SKIPPED, Reason.REPLACED_SINCE, "another pod has the name now")
        if already(pod["metadata"].get("labels") or {}):
            return self._result(action, ActionStatus.DONE, Reason.ALREADY_DONE)
        return self._result(action, ActionStatus.RETRY_LATER, Reason.CONFLICT, f"label {action.label} was changed")

    # --- scale ------------------------------------------------------------------------------------------

    def _scale(self, action: Action) -> ActionResult:
        """The count found is written down on the workload before it is changed."""
        self._annotate_workload(action, str(action.replicas_before))
        return self._set_replicas(action)

    def _restore_scale(self, action: Action) -> ActionResult:
        result = self._set_replicas(action)
        self._annotate_workload(action, None)
        return result

    def _set_replicas(self, action: Action) -> ActionResult:
        workload = action.workload
        calls = {
            "Deployment": self._api.apps.patch_namespaced_deployment_scale,
            "StatefulSet": self._api.apps.patch_namespaced_stateful_set_scale,
        }
        if workload is None or workload.kind not in calls:
            return self._result(action, ActionStatus.REFUSED, Reason.API_ERROR, f"{workload} cannot be scaled")
        body = {"spec": {"replicas": action.replicas}}
        self._api.write(calls[workload.kind], workload.name, workload.namespace, body, _content_type=_MERGE_PATCH)
        return self._done(action)

    def _annotate_workload(self, action: Action, replicas: str | None) -> None:
        workload = action.workload
        calls = {
            "Deployment": self._api.apps.patch_namespaced_deployment,
            "StatefulSet": self._api.apps.patch_namespaced_stateful_set,
        }
        if workload is not None and workload.kind in calls:
            body = {"metadata": {"annotations": {REPLICAS_BEFORE: replicas}}}
            call = calls[workload.kind]
            self._api.write(call, workload.name, workload.namespace, body, _content_type=_MERGE_PATCH)


def eviction_body(action: Action) -> Json:
    """The Eviction object of an action."""
    options: Json = {"preconditions": {"uid": action.pod_uid}}
    if action.grace_period_seconds is not None:
        options["gracePeriodSeconds"] = action.grace_period_seconds
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": action.pod, "namespace": action.namespace},
        "deleteOptions": options,
    }


def _test(path: str, value: Any) -> Json:
    return {"op": "test", "path": path, "value": value}


def _add(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}


def _unchanged(node: Json) -> list[Json]:
    """The node must be as it was read."""
    return [_test("/metadata/resourceVersion", node["metadata"]["resourceVersion"])]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _annotation(key: str) -> str:
    return f"/metadata/annotations/{_escaped(key)}"


def _label(key: str) -> str:
    return f"/metadata/labels/{_escaped(key)}"
