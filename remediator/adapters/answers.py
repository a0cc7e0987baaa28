"""What the API server's answers to an eviction mean, as a table. Pure; source: captures of a real server.

| answer | meaning |
|---|---|
| 429, cause DisruptionBudget | a budget holds this pod: the next candidate |
| 429 without it | the server is throttling: nobody's fault, later |
| 500 "more than one PodDisruptionBudget" | terminal for this pod |
| 404 of the pod | gone, not ours |
| 404 otherwise | there is no such API here |
| 409 about the UID | another pod has the name now |
| 409 otherwise | the pod was changed meanwhile: later |
| 403, cause NamespaceTerminating (or its message) | leave it |
| 403 otherwise, 401 | we have not the right |
| none | it may have taken effect, unless it was never sent |
"""

from remediator.adapters.errors import KubernetesError
from remediator.core.actions import ActionStatus
from remediator.core.reason import Reason

Answer = tuple[ActionStatus, Reason]
_TWO_BUDGETS = "more than one PodDisruptionBudget"
_PODS = ("pods", "Pod")


def eviction_answer(error: KubernetesError) -> Answer:
    """Status and reason of an eviction that was not accepted."""
    about_the_pod = error.details.get("kind") in _PODS
    if error.status == 429 and "DisruptionBudget" in error.causes:
        return ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET
    if error.status == 500 and _TWO_BUDGETS in error.message:
        return ActionStatus.REFUSED, Reason.TWO_BUDGETS
    if error.status == 404 and not about_the_pod:
        return ActionStatus.FAILED, Reason.API_ERROR
    if error.status == 409 and "UID" in error.message:
        return ActionStatus.SKIPPED, Reason.REPLACED_SINCE
    if error.status == 422:
        return ActionStatus.FAILED, Reason.API_ERROR
    return change_answer(error)


def change_answer(error: KubernetesError) -> Answer:
    """Status and reason of any other write that failed."""
    if error.status == 403 and _terminating(error):
        return ActionStatus.SKIPPED, Reason.NAMESPACE_TERMINATING
    if error.status == 0 and not error.sent:
        return ActionStatus.FAILED, Reason.API_ERROR
    if error.status == 422 and error.causes:
        # A patch whose test failed has no causes; this one is invalid, and stays so.
        return ActionStatus.FAILED, Reason.API_ERROR
    simple: dict[int, Answer] = {
        0: (ActionStatus.UNKNOWN, Reason.TIMED_OUT),
        401: (ActionStatus.FAILED, Reason.FORBIDDEN),
        403: (ActionStatus.FAILED, Reason.FORBIDDEN),
        404: (ActionStatus.SKIPPED, Reason.ALREADY_GONE),
        409: (ActionStatus.RETRY_LATER, Reason.CONFLICT),
        422: (ActionStatus.RETRY_LATER, Reason.CONFLICT),
        429: (ActionStatus.RETRY_LATER, Reason.THROTTLED),
    }
    return simple.get(error.status, (ActionStatus.FAILED, Reason.API_ERROR))


def raced(error: KubernetesError) -> bool:
    """Somebody else changed the object between reading and patching it: read and try again."""
    return error.status == 409 or (error.status == 422 and not error.causes)


def _terminating(error: KubernetesError) -> bool:
    return "NamespaceTerminating" in error.causes or "is being terminated" in error.message
