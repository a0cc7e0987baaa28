"""NodeRemediation objects: the durable state of each node. `status` is ours, `spec` is the operator's.

Every write goes under the resourceVersion that was read; a conflict means that another replica wrote, and is raised
as `RecordConflictError`: the fence before every act.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from remediator import metrics
from remediator.adapters.kubernetes_api import KubernetesApi, KubernetesError, RefusedError
from remediator.adapters.state_json import from_json, to_json
from remediator.core.actions import ActionStatus
from remediator.core.fences import RecordConflictError
from remediator.core.model import Isolation, Mode, Phase
from remediator.core.state import NodeState, OperatorSpec

log = logging.getLogger(__name__)
Json = dict[str, Any]
GROUP, VERSION, PLURAL, KIND = "remediator.io", "v1alpha1", "noderemediations", "NodeRemediation"
RBAC_RULES: tuple[Json, ...] = (
    {"apiGroups": [GROUP], "resources": [PLURAL], "verbs": ["get", "list", "create", "patch"]},
    {"apiGroups": [GROUP], "resources": [f"{PLURAL}/status"], "verbs": ["update"]},
)
KUBECTL = "kubectl, see the API server's audit log"
"""Who said it when nobody's name stands beside the word."""
_MIB = 1024**2


@dataclass(frozen=True, slots=True)
class LoadedRecord:
    """A node's record as it was read; `resource_version` empty: the object does not exist yet."""

    node: str
    state: NodeState = field(default_factory=NodeState)
    spec: OperatorSpec = field(default_factory=OperatorSpec)
    resource_version: str = ""
    body: Json = field(default_factory=dict, compare=False, repr=False)


class NodeRemediationRecords:
    """Reads and writes records."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    def load(self, node: str) -> LoadedRecord:
        """The node's record; an empty one when there is none. Raises KubernetesError."""
        try:
            call = self._api.custom.get_cluster_custom_object
            return loaded(self._api.read(call, GROUP, VERSION, PLURAL, node))
        except RefusedError as error:
            # 404 with a name is a missing record; without one the CRD itself is missing, and that must be told.
            if error.status == 404 and error.details.get("name") == node:
                return LoadedRecord(node)
            raise

    def all(self) -> Sequence[LoadedRecord]:
        """Every node's record that can be understood. Raises KubernetesError.

        One that a newer version wrote must not stop the other nodes; its own node's pass fails on it, loudly.
        """
        items = self._api.list_all(self._api.custom.list_cluster_custom_object, GROUP, VERSION, PLURAL)
        found = []
        for item in items:
            try:
                found.append(loaded(item))
            except ValueError as error:
                metrics.RECORDS_UNREADABLE.inc()
                log.error("the record of %s cannot be understood: %s", item["metadata"]["name"], error)
        _show(found)
        return found

    def save(self, record: LoadedRecord, state: NodeState) -> LoadedRecord:
        """Write the state under the version that was read. Raises RecordConflictError, KubernetesError."""
        body = record.body if record.resource_version else self._created(record.node)
        body = {**body, "apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "status": status_of(state)}
        try:
            call = self._api.custom.replace_cluster_custom_object_status
            return loaded(self._api.write(call, GROUP, VERSION, PLURAL, record.node, body))
        except RefusedError as error:
            if error.status in (404, 409):
                raise RecordConflictError(f"{record.node}: {error}") from error
            raise

    def say(self, node: str, words: Mapping[str, Any], operator: str) -> None:
        """Write an operator's words into `spec`, whatever version it has; a record that is missing is made.

        None takes a word back. Raises KubernetesError, RecordConflictError (somebody made the record just now).
        """
        spec = spec_of(words, operator)
        try:
            call = self._api.custom.patch_cluster_custom_object
            self._api.write(
                call, GROUP, VERSION, PLURAL, node, {"spec": spec}, _content_type="application/merge-patch+json"
            )
        except RefusedError as error:
            if error.status != 404 or error.details.get("name") != node:
                raise
            self._created(node, {name: word for name, word in spec.items() if word is not None})

    def _created(self, node: str, spec: Mapping[str, Any] | None = None) -> Json:
        body = {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "metadata": {"name": node}, "spec": dict(spec or {})}
        try:
            call = self._api.custom.create_cluster_custom_object
            return self._api.write(call, GROUP, VERSION, PLURAL, body)
        except RefusedError as error:
            if error.status == 409:
                raise RecordConflictError(f"{node}: {error}") from error
            raise

    def ready(self) -> str:
        """Empty when records can be read, else what is wrong."""
        try:
            self._api.read_once(self._api.custom.list_cluster_custom_object, GROUP, VERSION, PLURAL, limit=1)
        except KubernetesError as error:
            if error.status == 404:
                return "the NodeRemediation CRD is not installed: kubectl apply -f helm/remediator/crds/"
            return f"NodeRemediations cannot be read: {error}"
        return ""


def loaded(obj: Json) -> LoadedRecord:
    """An object of the API as a record. Raises ValueError when its status cannot be understood."""
    metadata = obj["metadata"]
    return LoadedRecord(
        node=metadata["name"],
        state=from_json(obj.get("status") or {}),
        spec=_spec(obj.get("spec") or {}),
        resource_version=metadata["resourceVersion"],
        body=obj,
    )


def _show(records: Sequence[LoadedRecord]) -> None:
    """Since when each node is in an episode, and cordoned by us; 0: it is not. And how many plans wait."""
    asked = (Phase.AWAITING_APPROVAL, Phase.ESCALATED)
    metrics.PLANS_WAITING.set(sum(1 for r in records if r.state.phase in asked and r.state.plan is not None))
    for record in records:
        state = record.state
        started = state.episode_started_at if state.episode_id else None
        cordoned = state.isolated_at if state.isolation is not Isolation.NONE and not state.isolation_observed else None
        metrics.EPISODE_STARTED.labels(record.node).set(started or 0)
        metrics.CORDONED.labels(record.node).set(cordoned or 0)


def _spec(spec: Json) -> OperatorSpec:
    mode = spec.get("mode")
    return OperatorSpec(
        mode=Mode(mode) if mode else None,
        paused=bool(spec.get("paused")),
        paused_by=_speaker(spec, "paused", "true"),
        approved_plan=spec.get("approvedPlan") or "",
        approved_by=_speaker(spec, "approved", spec.get("approvedPlan") or ""),
        rejected_plan=spec.get("rejectedPlan") or "",
        rejected_by=_speaker(spec, "rejected", spec.get("rejectedPlan") or ""),
        release=spec.get("release") or "",
    )


def _speaker(spec: Json, verb: str, of: str) -> str:
    """`approvedBy: ann (1f2e3d4c5b)` names ann for that plan alone: a later word by kubectl is not hers."""
    name, found, rest = str(spec.get(f"{verb}By") or "").rpartition(" (")
    return name if found and rest == f"{of})" else KUBECTL


def spec_of(words: Mapping[str, Any], operator: str) -> Json:
    """The operator's words as a merge patch of `spec`; who said it stands beside each answer."""
    spec = dict(words)
    if plan := words.get("approvedPlan"):
        spec["approvedBy"] = f"{operator} ({plan})"
    if plan := words.get("rejectedPlan"):
        spec["rejectedBy"] = f"{operator} ({plan})"
    if "paused" in words:
        spec["pausedBy"] = f"{operator} (true)" if words["paused"] else None
    return spec


def status_of(state: NodeState) -> Json:
    """The state and, beside it, what `kubectl get nrem` prints."""
    last = state.outcomes[-1] if state.outcomes else None
    episode = state.episode_id or (last.episode_id if last else "")
    evicted = sum(1 for e in state.evictions if e.episode_id == episode and not e.observed_only)
    done = sum(1 for _, status, _ in state.results if status is ActionStatus.DONE)
    cooling = state.cooldown_until if state.phase is Phase.COOLING_DOWN else None
    shown = {
        "evicted": evicted,
        "freed": f"{last.released_bytes // _MIB}Mi" if last is not None else "",
        "cooldown": f"until {datetime.fromtimestamp(cooling, UTC):%H:%M:%SZ}" if cooling is not None else "",
        "actionsDone": done,
    }
    return {**to_json(state), "phase": state.phase.value, "isolation": state.isolation.value, "summary": shown}
