"""What answers of a real API server to an eviction are taken for."""

import json

import pytest
from kubernetes.client.exceptions import ApiException

from remediator.adapters.answers import change_answer, eviction_answer, raced
from remediator.adapters.errors import KubernetesError, RefusedError, TransientError
from remediator.adapters.kubernetes_api import sorted_error
from remediator.core.actions import ActionStatus
from remediator.core.reason import Reason
from tests.adapters.canned import captured


def error_of(capture: str) -> KubernetesError:
    """A capture as the wrapped client raises it."""
    answer = captured(capture)
    error = ApiException(status=answer["status"], reason="")
    error.body = json.dumps(answer["body"])
    return sorted_error(error)


@pytest.mark.parametrize(
    ("capture", "status", "reason"),
    [
        ("11", ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET),
        ("12", ActionStatus.RETRY_LATER, Reason.DISRUPTION_BUDGET),
        ("13", ActionStatus.REFUSED, Reason.TWO_BUDGETS),
        ("15", ActionStatus.SKIPPED, Reason.REPLACED_SINCE),
        ("16", ActionStatus.FAILED, Reason.API_ERROR),
        ("21", ActionStatus.SKIPPED, Reason.ALREADY_GONE),
        ("51", ActionStatus.FAILED, Reason.FORBIDDEN),
        ("52", ActionStatus.FAILED, Reason.FORBIDDEN),
        ("53", ActionStatus.SKIPPED, Reason.NAMESPACE_TERMINATING),
    ],
)
def test_real_answers_to_an_eviction_are_told_apart(capture, status, reason):
    """Each refusal of a real server leads to its own status and reason."""
    assert eviction_answer(error_of(capture)) == (status, reason)


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (TransientError(429, "TooManyRequests", "slow down"), ActionStatus.RETRY_LATER, Reason.THROTTLED),
        (TransientError(500, "InternalError", "etcdserver: timed out"), ActionStatus.FAILED, Reason.API_ERROR),
        (TransientError(0, "NoAnswer", "read timed out"), ActionStatus.UNKNOWN, Reason.TIMED_OUT),
        (TransientError(0, "NoAnswer", "refused", sent=False), ActionStatus.FAILED, Reason.API_ERROR),
        (RefusedError(404, "NotFound", "page not found"), ActionStatus.FAILED, Reason.API_ERROR),
        (RefusedError(409, "Conflict", "the object has been modified"), ActionStatus.RETRY_LATER, Reason.CONFLICT),
        (RefusedError(422, "Invalid", "grace period"), ActionStatus.FAILED, Reason.API_ERROR),
    ],
)
def test_answers_that_blame_no_pod(error, status, reason):
    """E01: throttling, failures and silence are nobody's fault; a connection that never came took no effect."""
    assert eviction_answer(error) == (status, reason)


def test_a_stale_patch_is_a_race_and_an_invalid_one_is_not():
    """A failed test of a JSON patch (422 without causes) is tried again, a duplicate taint (with causes) is not."""
    stale, duplicate = error_of("25"), error_of("27")
    assert raced(stale)
    assert not raced(duplicate)
    assert change_answer(stale) == (ActionStatus.RETRY_LATER, Reason.CONFLICT)
    assert change_answer(duplicate) == (ActionStatus.FAILED, Reason.API_ERROR)


def test_a_write_that_lost_to_another_is_a_race():
    """409 of a real server on a Lease and on a record means: read it again."""
    assert raced(error_of("32"))
    assert raced(error_of("47"))
