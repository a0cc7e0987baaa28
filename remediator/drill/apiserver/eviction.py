"""The eviction subresource, in the order of a real server: body, pod, terminating, budgets, preconditions.

Source: pkg/registry/core/pod/storage/eviction.go, and captures 11 to 21.
"""

from datetime import UTC, datetime
from typing import Any

from remediator.drill.apiserver.errors import ApiError, bad_request, success, uid_mismatch, version_mismatch
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.selectors import selector_matches
from remediator.drill.apiserver.store import Store, timestamp

TWO_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
NOT_DISRUPTED = "Cannot evict pod as it would violate the pod's disruption budget."


def evict(store: Store, namespace: str, name: str, body: Json, *, dry_run: bool) -> Json:
    """Answer POST pods/NAME/eviction; marks the pod deleted when accepted. Raises ApiError."""
    if (body.get("metadata") or {}).get("name", name) != name:
        raise bad_request("name in URL does not match name in Eviction object")
    pod = store.get("Pod", namespace, name)
    options: Json = body.get("deleteOptions") or {}
    dry_run = dry_run or bool(options.get("dryRun"))
    if not _can_go_without_budget(pod):
        _spend_budget(store, pod, dry_run=dry_run)
    check_preconditions(store, pod, options)
    if not dry_run:
        delete_pod(store, pod, options.get("gracePeriodSeconds"))
    return success(201)


def _can_go_without_budget(pod: Json) -> bool:
    status = pod.get("status", {})
    pending = status.get("phase") == "Pending" or not pod["spec"].get("nodeName")
    return bool(status.get("phase") in ("Succeeded", "Failed") or pending or "deletionTimestamp" in pod["metadata"])


def is_ready(pod: Json) -> bool:
    """The Ready condition is True."""
    conditions: list[Json] = pod.get("status", {}).get("conditions") or []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _spend_budget(store: Store, pod: Json, *, dry_run: bool) -> None:
    metadata = pod["metadata"]
    budgets = [
        budget
        for budget in store.list("PodDisruptionBudget", metadata["namespace"])
        if selector_matches(budget["spec"].get("selector"), metadata.get("labels") or {})
    ]
    if len(budgets) > 1:
        raise ApiError(500, TWO_BUDGETS)
    if not budgets or _unhealthy_may_go(pod, budgets[0]):
        return
    status = budgets[0].get("status") or {}
    if status.get("observedGeneration", 0) < budgets[0]["metadata"].get("generation", 0):
        raise _blocked(
            f"The disruption budget {budgets[0]['metadata']['name']} is still being processed by the server."
        )
    if status.get("disruptionsAllowed", 0) < 1:
        raise _blocked(_needs(budgets[0]))
    if not dry_run:
        _count_disruption(store, budgets[0], metadata["name"])


def _unhealthy_may_go(pod: Json, budget: Json) -> bool:
    """An unready pod may go under AlwaysAllow, or under the default while the budget is healthy."""
    if is_ready(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    return bool(
        status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) and status.get("desiredHealthy", 0) > 0
    )


def _needs(budget: Json) -> str:
    status = budget.get("status") or {}
    needs, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    return f"The disruption budget {budget['metadata']['name']} needs {needs} healthy pods and has {has} currently"


def _blocked(cause: str) -> ApiError:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    return ApiError(429, NOT_DISRUPTED, "TooManyRequests", details)


def _count_disruption(store: Store, budget: Json, pod: str) -> None:
    """As the real server does: one less allowed at once, and the pod remembered until it is seen to go."""
    status = dict(budget.get("status") or {})
    status["disruptionsAllowed"] = status["disruptionsAllowed"] - 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: timestamp(datetime.now(UTC))}
    store.update("PodDisruptionBudget", {**budget, "status": status}, subresource="status")


def check_preconditions(store: Store, obj: Json, options: Json) -> None:
    """Raise a 409 when the object is not the one that was meant."""
    wanted: Json = options.get("preconditions") or {}
    metadata, resource = obj["metadata"], store.resources.of_kind(obj["kind"])
    if (uid := wanted.get("uid")) and uid != metadata["uid"]:
        raise uid_mismatch(resource, metadata["name"], uid, metadata["uid"])
    if (version := wanted.get("resourceVersion")) and version != metadata["resourceVersion"]:
        raise version_mismatch(resource, metadata["name"], version, metadata["resourceVersion"])


def delete_pod(store: Store, pod: Json, grace_seconds: Any) -> Json:
    """Delete gracefully: the kubelet removes a pod that runs; one that is nowhere goes at once."""
    metadata, spec = pod["metadata"], pod["spec"]
    grace = spec.get("terminationGracePeriodSeconds", 30) if grace_seconds is None else int(grace_seconds)
    waits = bool(spec.get("nodeName")) and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    if metadata.get("finalizers"):
        return store.mark_deleted("Pod", metadata["namespace"], metadata["name"], grace if waits else 0)
    if not waits or grace == 0:
        return store.delete("Pod", metadata["namespace"], metadata["name"])
    return store.mark_deleted("Pod", metadata["namespace"], metadata["name"], grace)
