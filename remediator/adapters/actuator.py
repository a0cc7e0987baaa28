"""Performs actions on the cluster: evict, drain endpoints, cordon, taint, scale, and their undoing.

Every change is fenced: evictions by the pod's UID, patches by tests inside them (`patches.py`), scaling by the version
that was read. Ownership and what was there before stand in annotations. Never deletes a pod: there is no such call
here. Decides nothing: what not to do was decided before, and its answers are only reported.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from remediator.adapters import patches, scaling
from remediator.adapters.answers import change_answer, eviction_answer, raced
from remediator.adapters.kubernetes_api import KubernetesApi, KubernetesError
from remediator.adapters.patches import Settled
from remediator.core.actions import Action, ActionKind, ActionResult, ActionStatus
from remediator.core.policy import TaintSpec
from remediator.core.reason import Reason
from remediator.core.tracking import CORDONED_BY

__all__ = [
    "CORDONED_BY",
    "FORCE_DELETE_RBAC_RULES",
    "RBAC_RULES",
    "SCALE_RBAC_RULES",
    "KubernetesActuator",
    "RecordingActuator",
]

Json = dict[str, Any]
_PatchFor = Callable[[Json], list[Json] | Settled]
RBAC_RULES: tuple[Json, ...] = (
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"]},
)
SCALE_RBAC_RULES = scaling.RBAC_RULES
FORCE_DELETE_RBAC_RULES: tuple[Json, ...] = ({"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},)
_JSON_PATCH = "application/json-patch+json"
_RACES = 4
_RETRIES = 2
_LONGEST_PAUSE_SECONDS = 2.0
DEADLINE_SECONDS = 30.0
"""Nothing is tried again later than this; one action ends within it and the time-out of its last request."""


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

    def __init__(
        self,
        api: KubernetesApi,
        taint: TaintSpec,
        clock: Callable[[], float] = time.time,
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api, self._taint, self._clock, self._pause = api, taint, clock, pause
        self._scaling = scaling.Scaling(api)
        self._steps: dict[ActionKind, Callable[[Action], ActionResult]] = {
            ActionKind.EVICT: self._evict,
            ActionKind.FORCE_DELETE: self._force_delete,
            ActionKind.CORDON: self._cordon,
            ActionKind.UNCORDON: lambda action: self._patch_node(action, patches.uncordon),
            ActionKind.TAINT: self._add_taint,
            ActionKind.UNTAINT: lambda action: self._patch_node(
                action, lambda node: patches.untaint(node, self._taint)
            ),
            ActionKind.DRAIN_ENDPOINTS: self._drain_endpoints,
            ActionKind.RESTORE_ENDPOINTS: self._restore_endpoints,
            ActionKind.SCALE: lambda action: self._scaled(action, self._scaling.down),
            ActionKind.RESTORE_SCALE: lambda action: self._scaled(action, self._scaling.back),
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

    def _settled(self, action: Action, settled: Settled) -> ActionResult:
        return self._result(action, settled.status, settled.reason, settled.detail)

    def _done(self, action: Action) -> ActionResult:
        return self._result(action, ActionStatus.DONE, Reason.ACCEPTED)

    # --- evict ------------------------------------------------------------------------------------------

    def _evict(self, action: Action) -> ActionResult:
        """policy/v1 Eviction with the UID as precondition; a plain 5xx or throttling is asked again at most twice."""
        if not action.pod_uid:
            return self._result(action, ActionStatus.REFUSED, Reason.NOT_OURS, "an eviction without a UID is not asked")
        error = self._asked_to_leave(action)
        if error is None:
            return self._done(action)
        status, reason = eviction_answer(error)
        if status is ActionStatus.UNKNOWN or (error.status >= 500 and reason is Reason.API_ERROR):
            return self._read_outcome(action, error)
        return self._result(action, status, reason, str(error))

    def _asked_to_leave(self, action: Action) -> KubernetesError | None:
        """None when it was accepted. A time-out is not asked again here: it may have taken effect."""
        for tried in range(_RETRIES + 1):
            try:
                body = eviction_body(action)
                self._api.write(self._api.core.create_namespaced_pod_eviction, action.pod, action.namespace, body)
                return None
            except KubernetesError as error:
                last = error
            again = (Reason.API_ERROR, Reason.THROTTLED)
            if eviction_answer(last)[1] not in again or not (last.status >= 500 or last.status == 429):
                return last
            if tried < _RETRIES:
                self._pause(_pause_seconds(last, tried))
        return last

    def _force_delete(self, action: Action) -> ActionResult:
        """The object goes at once, whatever its containers do; only the pod of this UID, asked once."""
        if not action.pod_uid:
            return self._result(action, ActionStatus.REFUSED, Reason.NOT_OURS, "a deletion without a UID is not asked")
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": action.pod_uid}}
        try:
            self._api.write(self._api.core.delete_namespaced_pod, action.pod, action.namespace, body=body)
        except KubernetesError as error:
            if error.status in (404, 409):
                return self._result(action, ActionStatus.SKIPPED, Reason.ALREADY_GONE, str(error))
            raise
        return self._done(action)

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

    # --- nodes and pods ---------------------------------------------------------------------------------

    def _cordon(self, action: Action) -> ActionResult:
        now = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")
        return self._patch_node(action, lambda node: patches.cordon(node, action.episode_id, now))

    def _add_taint(self, action: Action) -> ActionResult:
        return self._patch_node(action, lambda node: patches.taint(node, self._taint, action.episode_id))

    def _drain_endpoints(self, action: Action) -> ActionResult:
        given = action.pod_uid, action.label, action.label_value, action.episode_id
        return self._patch_pod(action, lambda pod: patches.drain(pod, *given))

    def _restore_endpoints(self, action: Action) -> ActionResult:
        given = action.pod_uid, action.label, action.label_value
        return self._patch_pod(action, lambda pod: patches.restore(pod, *given))

    def _patch_node(self, action: Action, patch_for: _PatchFor) -> ActionResult:
        core = self._api.core
        return self._patched(action, patch_for, (core.read_node, core.patch_node), action.node)

    def _patch_pod(self, action: Action, patch_for: _PatchFor) -> ActionResult:
        core = self._api.core
        calls = core.read_namespaced_pod, core.patch_namespaced_pod
        return self._patched(action, patch_for, calls, action.pod, action.namespace)

    def _patched(
        self,
        action: Action,
        patch_for: _PatchFor,
        calls: tuple[Callable[..., Any], Callable[..., Any]],
        *named: str,
    ) -> ActionResult:
        """Read, build a guarded patch, apply; again when somebody changed the object in between."""
        read, write = calls

        def once() -> Settled:
            found = patch_for(self._api.read(read, *named))
            if isinstance(found, Settled):
                return found
            self._api.write(write, *named, found, _content_type=_JSON_PATCH)
            return Settled(ActionStatus.DONE, Reason.ACCEPTED)

        return self._again(action, once)

    def _scaled(self, action: Action, step: Callable[[Action], Settled]) -> ActionResult:
        return self._again(action, lambda: step(action))

    def _again(self, action: Action, once: Callable[[], Settled]) -> ActionResult:
        """Try a step that looks before it writes, so that it may be repeated: after a race, after 5xx or silence."""
        end, failures = time.monotonic() + DEADLINE_SECONDS, 0
        for left in range(_RACES, -1, -1):
            try:
                return self._settled(action, once())
            except KubernetesError as error:
                failures += not raced(error)
                hopeless = not (raced(error) or error.status in (0, 429) or error.status >= 500)
                if hopeless or not left or failures > _RETRIES or time.monotonic() > end:
                    raise
                if not raced(error):
                    self._pause(_pause_seconds(error, failures))
        raise AssertionError("unreachable")


def _pause_seconds(error: KubernetesError, tried: int) -> float:
    """Longer each time, and as long as a throttling server asks for, within reason."""
    asked = error.retry_after_seconds or (1.0 if error.status == 429 else 0.0)
    return min(_LONGEST_PAUSE_SECONDS, max(asked, 0.1 * (1 << tried)))


def eviction_body(action: Action) -> Json:
    """The Eviction object of an action."""
    options: Json = {"preconditions": {"uid": action.pod_uid}}
    if action.grace_period_seconds is not None:
        # Zero would be a forced deletion: the object goes while the containers may still run.
        options["gracePeriodSeconds"] = max(1, action.grace_period_seconds)
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": action.pod, "namespace": action.namespace},
        "deleteOptions": options,
    }
