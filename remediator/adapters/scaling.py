"""Scales a workload down and gives its replicas back, through the `scale` subresource.

What was found and what was set stand in annotations of the workload, so that a restart remembers them, and a count
that somebody else has changed meanwhile is told from ours and left alone. Counts are set under the version read.
"""

from collections.abc import Callable
from typing import Any

from remediator.adapters.kubernetes_api import KubernetesApi
from remediator.adapters.patches import Settled
from remediator.core.actions import Action, ActionStatus
from remediator.core.model import WorkloadRef
from remediator.core.reason import Reason

Json = dict[str, Any]
REPLICAS_BEFORE = "remediator.io/replicas-before"
REPLICAS_SET = "remediator.io/replicas-set"
RBAC_RULES: tuple[Json, ...] = (
    {"apiGroups": ["apps"], "resources": ["deployments", "statefulsets"], "verbs": ["get", "patch"]},
    {"apiGroups": ["apps"], "resources": ["deployments/scale", "statefulsets/scale"], "verbs": ["get", "patch"]},
)
_MERGE_PATCH = "application/merge-patch+json"
_DONE = Settled(ActionStatus.DONE, Reason.ACCEPTED)
_ALREADY = Settled(ActionStatus.DONE, Reason.ALREADY_DONE)
_Calls = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], Callable[..., Any]]


class Scaling:
    """One try of each step; a conflict is raised as KubernetesError 409, and the whole step may be tried again."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        apps = api.apps
        self._kinds: dict[str, _Calls] = {
            "Deployment": (
                apps.read_namespaced_deployment,
                apps.patch_namespaced_deployment,
                apps.read_namespaced_deployment_scale,
                apps.patch_namespaced_deployment_scale,
            ),
            "StatefulSet": (
                apps.read_namespaced_stateful_set,
                apps.patch_namespaced_stateful_set,
                apps.read_namespaced_stateful_set_scale,
                apps.patch_namespaced_stateful_set_scale,
            ),
        }

    def down(self, action: Action) -> Settled:
        """To `action.replicas`, if the count is still `action.replicas_before`. Raises KubernetesError."""
        ref, replicas = action.workload, action.replicas
        if ref is None or replicas is None or ref.kind not in self._kinds:
            return Settled(ActionStatus.REFUSED, Reason.API_ERROR, f"{ref} cannot be scaled")
        marks, count = self._marks(ref), self._count(ref)
        if count == replicas:
            ours = marks.get(REPLICAS_SET) == str(replicas)
            return (
                _ALREADY if ours else Settled(ActionStatus.SKIPPED, Reason.NOT_OURS, f"it has {count} replicas already")
            )
        if action.replicas_before is not None and count != action.replicas_before:
            detail = f"it has {count} replicas by now, not {action.replicas_before}"
            return Settled(ActionStatus.RETRY_LATER, Reason.CONFLICT, detail)
        self._mark(ref, {REPLICAS_BEFORE: str(count), REPLICAS_SET: str(replicas)})
        return self._set(ref, count, replicas)

    def back(self, action: Action) -> Settled:
        """To `action.replicas`, unless somebody else has scaled it meanwhile. Raises KubernetesError."""
        ref, replicas = action.workload, action.replicas
        if ref is None or replicas is None or ref.kind not in self._kinds:
            return Settled(ActionStatus.REFUSED, Reason.API_ERROR, f"{ref} cannot be scaled")
        marks, count = self._marks(ref), self._count(ref)
        if marks.get(REPLICAS_SET) != str(count):
            self._mark(ref, dict.fromkeys(marks))
            given_back = marks.get(REPLICAS_BEFORE) == str(count)
            other = Settled(ActionStatus.SKIPPED, Reason.NOT_OURS, f"it has {count} replicas, which we did not set")
            return _ALREADY if given_back else other
        done = self._set(ref, count, replicas)
        self._mark(ref, dict.fromkeys(marks))
        return done

    def _marks(self, ref: WorkloadRef) -> dict[str, str]:
        found = self._api.read(self._kinds[ref.kind][0], ref.name, ref.namespace)
        annotations = found["metadata"].get("annotations") or {}
        return {key: annotations[key] for key in (REPLICAS_BEFORE, REPLICAS_SET) if key in annotations}

    def _mark(self, ref: WorkloadRef, marks: dict[str, str] | dict[str, None]) -> None:
        if marks:
            body = {"metadata": {"annotations": marks}}
            self._api.write(self._kinds[ref.kind][1], ref.name, ref.namespace, body, _content_type=_MERGE_PATCH)

    def _scale(self, ref: WorkloadRef) -> Json:
        return self._api.read(self._kinds[ref.kind][2], ref.name, ref.namespace)

    def _count(self, ref: WorkloadRef) -> int:
        return _replicas(self._scale(ref))

    def _set(self, ref: WorkloadRef, before: int, replicas: int) -> Settled:
        """Under the version in which the count was `before`; somebody else's change in between is a 409."""
        scale = self._scale(ref)
        if _replicas(scale) != before:
            return Settled(ActionStatus.RETRY_LATER, Reason.CONFLICT, f"it has {_replicas(scale)} replicas by now")
        version = scale["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version}, "spec": {"replicas": replicas}}
        self._api.write(self._kinds[ref.kind][3], ref.name, ref.namespace, body, _content_type=_MERGE_PATCH)
        return _DONE


def _replicas(scale: Json) -> int:
    """Zero is left out by the API."""
    return int((scale.get("spec") or {}).get("replicas") or 0)
