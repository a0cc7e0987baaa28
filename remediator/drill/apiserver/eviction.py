"""The eviction subresource, in the order of a real server: body, pod, terminating, budgets, preconditions.

Source: pkg/registry/core/pod/storage/eviction.go, and captures 11 to 21.
"""

from remediator.drill.apiserver.deletion import check_preconditions, delete_pod
from remediator.drill.apiserver.errors import ApiError, bad_request, success
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.selectors import selector_matches
from remediator.drill.apiserver.store import Store, timestamp

__all__ = ["delete_pod", "evict", "is_ready"]

TWO_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
NOT_DISRUPTED = "Cannot evict pod as it would violate the pod's disruption budget."
# A real server asks for this pause only while the budget's controller has not caught up.
_UNPROCESSED_RETRY_SECONDS = 10


def evict(store: Store, namespace: str, name: str, body: Json, *, dry_run: bool) -> Json:
    """Answer POST pods/NAME/eviction; marks the pod deleted when accepted. Raises ApiError."""
    if (body.get("metadata") or {}).get("name") != name:
        raise bad_request("name in URL does not match name in Eviction object")
    pod = store.get("Pod", namespace, name)
    options: Json = body.get("deleteOptions") or {}
    dry_run = dry_run or bool(options.get("dryRun"))
    without_budget = _can_go_without_budget(pod)
    if not without_budget:
        _spend_budget(store, pod, dry_run=dry_run)
    check_preconditions(store, pod, options)
    if not dry_run:
        gone = pod if without_budget else _say_disrupted(store, pod)
        delete_pod(store, gone, options.get("gracePeriodSeconds"))
    return success(201)


def _can_go_without_budget(pod: Json) -> bool:
    phase = pod.get("status", {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def is_ready(pod: Json) -> bool:
    """The Ready condition is True."""
    conditions: list[Json] = pod.get("status", {}).get("conditions") or []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _say_disrupted(store: Store, pod: Json) -> Json:
    """The condition by which a Job's failure policy, and people, tell an eviction from a failure."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(store.clock()),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    status: Json = pod.get("status") or {}
    others = [each for each in status.get("conditions") or [] if each["type"] != condition["type"]]
    return store.update("Pod", {**pod, "status": {**status, "conditions": [*others, condition]}}, subresource="status")


# --- budgets ------------------------------------------------------------------------------------------------


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
    _check_budget(budgets[0])
    if not dry_run:
        _count_disruption(store, budgets[0], metadata["name"])


def _unhealthy_may_go(pod: Json, budget: Json) -> bool:
    """An unready pod may go under AlwaysAllow, or under the default while the budget is healthy."""
    if is_ready(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= desired > 0)


def _check_budget(budget: Json) -> None:
    status, name = budget.get("status") or {}, budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        cause = f"The disruption budget {name} is still being processed by the server."
        raise _blocked(cause, _UNPROCESSED_RETRY_SECONDS)
    if status.get("disruptionsAllowed", 0) < 1:
        raise _blocked(_why_not(status, name))


def _why_not(status: Json, name: str) -> str:
    failed = [c for c in status.get("conditions") or [] if c.get("reason") == "SyncFailed" and c["status"] == "False"]
    if failed:
        why = f"because it failed sync: {failed[0].get('message', '')}"
        return f"The disruption budget {name} does not allow evicting pods currently {why}"
    needs, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if has <= needs:
        return f"The disruption budget {name} needs {needs} healthy pods and has {has} currently"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _blocked(cause: str, retry_seconds: int = 0) -> ApiError:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    headers = {}
    if retry_seconds:
        details["retryAfterSeconds"] = retry_seconds
        headers["Retry-After"] = str(retry_seconds)
    return ApiError(429, NOT_DISRUPTED, "TooManyRequests", details, headers)


def _count_disruption(store: Store, budget: Json, pod: str) -> None:
    """As the real server does: one less allowed at once, and the pod remembered until it is seen to go."""
    status = dict(budget.get("status") or {})
    moment = timestamp(store.clock())
    status["disruptionsAllowed"] -= 1
    if status["disruptionsAllowed"] == 0:
        status["conditions"] = _exhausted(status.get("conditions") or [], budget, moment)
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: moment}
    store.update("PodDisruptionBudget", {**budget, "status": status}, subresource="status")


def _exhausted(conditions: list[Json], budget: Json, moment: str) -> list[Json]:
    told = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": budget["metadata"].get("generation", 0),
        "lastTransitionTime": moment,
        "reason": "InsufficientPods",
        "message": "",
    }
    return [*(each for each in conditions if each["type"] != told["type"]), told]
