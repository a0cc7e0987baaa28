"""The official client, wrapped once: no retries of its own, a time-out on every call, plain JSON out, errors sorted.

Reads are retried by tenacity within a total budget; writes never are, for an answer that was lost may have taken
effect. Objects stay dicts: deserialising a thousand pods into the client's models costs more than reading them.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import kubernetes
import orjson
import urllib3
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from remediator import metrics
from remediator.adapters.errors import BrokenError, KubernetesError, RefusedError, TransientError

__all__ = ["BrokenError", "KubernetesApi", "KubernetesError", "RefusedError", "TransientError", "configuration"]

Json = dict[str, Any]
CONNECT_TIMEOUT_SECONDS = 3.0
READ_TIMEOUT_SECONDS = 5.0
READ_BUDGET_SECONDS = 10.0
WRITE_TIMEOUT_SECONDS = 15.0
PAGE_OBJECTS = 250
USER_AGENT = "remediator"
"""How the API server's audit log names us."""
_LONGEST_PAUSE_SECONDS = 2.0
_POOL_SIZE = 32
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
"""The kubelet sets it in every container."""
_KUBECTLS_FILE = "~/.kube/config"
_PIECE_BYTES = 1 << 18
_NEVER_SENT = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
_Call = Callable[..., Any]


def configuration(kubeconfig: Path | None) -> kubernetes.client.Configuration:
    """From a kubeconfig file, else the pod's service account, else where kubectl looks: $KUBECONFIG, ~/.kube/config.

    Raises ConfigException of the client.
    """
    found = kubernetes.client.Configuration()
    if kubeconfig is None and _IN_CLUSTER in os.environ:
        kubernetes.config.load_incluster_config(client_configuration=found)
    else:
        file = str(kubeconfig) if kubeconfig else os.environ.get("KUBECONFIG") or _KUBECTLS_FILE
        kubernetes.config.load_kube_config(file, client_configuration=found)
    return found


class KubernetesApi:
    """The typed APIs of the client, and the ways to call them."""

    def __init__(
        self,
        found: kubernetes.client.Configuration,
        *,
        read_timeout_seconds: float = READ_TIMEOUT_SECONDS,
        read_budget_seconds: float = READ_BUDGET_SECONDS,
        write_timeout_seconds: float = WRITE_TIMEOUT_SECONDS,
    ) -> None:
        found.retries = False
        found.connection_pool_maxsize = _POOL_SIZE
        client = kubernetes.client.ApiClient(found)
        client.user_agent = USER_AGENT
        self.core = kubernetes.client.CoreV1Api(client)
        self.apps = kubernetes.client.AppsV1Api(client)
        self.batch = kubernetes.client.BatchV1Api(client)
        self.policy = kubernetes.client.PolicyV1Api(client)
        self.discovery = kubernetes.client.DiscoveryV1Api(client)
        self.coordination = kubernetes.client.CoordinationV1Api(client)
        self.custom = kubernetes.client.CustomObjectsApi(client)
        self.authorization = kubernetes.client.AuthorizationV1Api(client)
        self._read_timeout_seconds, self._write_timeout_seconds = read_timeout_seconds, write_timeout_seconds
        self._retry = Retrying(
            retry=retry_if_exception_type(TransientError),
            stop=stop_after_delay(read_budget_seconds),
            wait=_pause,
            reraise=True,
        )

    def read(self, call: _Call, *arguments: Any, **options: Any) -> Json:
        """A read, retried while it fails transiently and the budget lasts. Raises KubernetesError."""
        answer: Json = self._retry(_once, call, arguments, options, self._read_timeout_seconds)
        return answer

    def read_once(self, call: _Call, *arguments: Any, **options: Any) -> Json:
        """A read that is not retried. Raises KubernetesError."""
        return _once(call, arguments, options, self._read_timeout_seconds)

    def write(self, call: _Call, *arguments: Any, **options: Any) -> Json:
        """A write, asked once. Raises KubernetesError."""
        return _once(call, arguments, options, self._write_timeout_seconds)

    def pages(self, call: _Call, *arguments: Any, **options: Any) -> Iterator[list[Json]]:
        """A list page by page, so that a big one is never whole in memory. Raises KubernetesError."""
        token: str | None = None
        while True:
            more = {"_continue": token} if token else {}
            page = self.read(call, *arguments, limit=PAGE_OBJECTS, **more, **options)
            yield page.get("items") or []
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return

    def list_all(self, call: _Call, *arguments: Any, **options: Any) -> list[Json]:
        """All items of a list. Raises KubernetesError."""
        return [item for page in self.pages(call, *arguments, **options) for item in page]


def _pause(state: RetryCallState) -> float:
    """What the server asks for (within reason), else a growing one with jitter."""
    error = state.outcome.exception() if state.outcome is not None else None
    asked = error.retry_after_seconds if isinstance(error, KubernetesError) else 0.0
    grown = wait_random_exponential(multiplier=0.1, max=_LONGEST_PAUSE_SECONDS)(state)
    return max(grown, min(asked, _LONGEST_PAUSE_SECONDS))


def _once(call: _Call, arguments: tuple[Any, ...], options: Mapping[str, Any], timeout_seconds: float) -> Json:
    end = time.monotonic() + timeout_seconds
    timeouts = (min(CONNECT_TIMEOUT_SECONDS, timeout_seconds), timeout_seconds)
    try:
        response = call(*arguments, _preload_content=False, _request_timeout=timeouts, **options)
        return _json(_body(response, end))
    except ApiException as error:
        metrics.KUBERNETES_ERRORS.labels(str(error.status or 0)).inc()
        raise sorted_error(error) from error
    except (urllib3.exceptions.HTTPError, OSError) as error:
        metrics.KUBERNETES_ERRORS.labels("0").inc()
        why = f"{type(error).__name__}: {error}"
        raise TransientError(0, "NoAnswer", why, sent=not isinstance(error, _NEVER_SENT)) from error
    except ConfigException as error:
        metrics.KUBERNETES_ERRORS.labels("0").inc()
        raise BrokenError(0, "NoCredentials", f"no credentials for the API server: {error}", sent=False) from error


def _body(response: Any, end: float) -> bytes:
    """The whole body, or a time-out: a read of the socket has one of its own, a dripping body needs its end here."""
    body = bytearray()
    while piece := response.read1(_PIECE_BYTES):
        body += piece
        if time.monotonic() > end:
            response.close()
            raise TimeoutError("the answer did not end in time")
    response.release_conn()
    return bytes(body)


def _json(body: bytes) -> Json:
    try:
        found = orjson.loads(body)
    except ValueError as error:
        raise BrokenError(0, "NotJson", f"the API server's answer is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise BrokenError(0, "NotAnObject", "the API server's answer is not an object")
    return found


def sorted_error(error: ApiException) -> KubernetesError:
    """The client's exception as transient or refused, with the Status' reason and causes."""
    status = int(error.status or 0)
    try:
        body = json.loads(error.body or "{}")
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    reason, message = body.get("reason") or error.reason or "", body.get("message") or str(error.body or "")
    transient = status in (0, 429) or status >= 500
    kind = TransientError if transient else RefusedError
    details = body.get("details")
    return kind(
        status,
        str(reason),
        str(message)[:500],
        details if isinstance(details, dict) else {},
        retry_after_seconds=_seconds((error.headers or {}).get("Retry-After")),
    )


def _seconds(header: str | None) -> float:
    return float(header) if header and header.strip().isdigit() else 0.0
