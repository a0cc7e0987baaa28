"""What the API server's answers to an eviction mean, as a table. Pure; source: captures of a real server.

| answer | meaning |
|---|---|
| 429, cause DisruptionBudget | a budget holds this pod: the next candidate |
| 429 without it | the server is throttling: nobody's fault, later |
| 500 "more than one PodDisruptionBudget" | terminal for this pod |
| 404 | gone, not ours |
| 409 | another pod has the name now |
| 403, cause NamespaceTerminating (or its message) | leave it |
| 403 otherwise | we have not the right |
| none | it may have taken effect |
"""

from remediator.adapters.kubernetes_api import KubernetesError
from remediator.core.actions import ActionStatus
from remediator.core.reason import Reason

Answer = tuple[ActionStatus, Reason]
_TWO_BUDGETS = "more than one PodDisruptionBudget"


def eviction_answer(error: KubernetesError) -> Answer:
    """Status and reason of an eviction that was not accepted."""
    if error.status == 429 and "DisruptionBudget" in error.causes:
        return ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET
    if error.status == 500 and _TWO_BUDGETS in error.message:
        return ActionStatus.REFUSED, Reason.TWO_BUDGETS
    if error.status == 404 and error.details.get("kind") == "pods":
        return ActionStatus.SKIPPED, Reason.ALREADY_GONE
    if error.status == 409:
        return ActionStatus.SKIPPED, Reason.REPLACED_SINCE
    return change_answer(error)


def change_answer(error: KubernetesError) -> Answer:
    """Status and reason of any other write that failed."""
    if error.status == 403:
        terminating = "NamespaceTerminating" in error.causes or "is being terminated" in error.message
        if terminating:
            return ActionStatus.SKIPPED, Reason.NAMESPACE_TERMINATING
        return ActionStatus.FAILED, Reason.FORBIDDEN
    simple: dict[int, Answer] = {
        0: (ActionStatus.UNKNOWN, Reason.TIMED_OUT),
        404: (ActionStatus.SKIPPED, Reason.ALREADY_GONE),
        409: (ActionStatus.RETRY_LATER, Reason.CONFLICT),
        422: (ActionStatus.RETRY_LATER, Reason.CONFLICT),
        429: (ActionStatus.RETRY_LATER, Reason.THROTTLED),
    }
    return simple.get(error.status, (ActionStatus.FAILED, Reason.API_ERROR))
