"""The official client, wrapped once: no retries of its own, a time-out on every call, plain JSON out, errors sorted.

Reads are retried by tenacity within a total budget; writes never are, for an answer that was lost may have taken
effect. Objects stay dicts: deserialising a thousand pods into the client's models costs more than reading them.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import kubernetes
import urllib3
from kubernetes.client.exceptions import ApiException
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential_jitter

from remediator import metrics

Json = dict[str, Any]
READ_TIMEOUT_SECONDS = 5.0
READ_BUDGET_SECONDS = 10.0
WRITE_TIMEOUT_SECONDS = 15.0
_POOL_SIZE = 32


class KubernetesError(Exception):
    """An answer that is not a success, or none. `status` 0: no answer came."""

    def __init__(self, status: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if status else message)
        self.status, self.reason, self.message = status, reason, message
        self.details = dict(details or {})

    @property
    def causes(self) -> frozenset[str]:
        """`details.causes[].reason`, by which a 429 or a 403 is told apart."""
        return frozenset(str(cause.get("reason", "")) for cause in self.details.get("causes") or [])


class TransientError(KubernetesError):
    """It may go better next time: no answer, 5xx, throttling."""


class RefusedError(KubernetesError):
    """A clear no: asking again is no use."""


def configuration(kubeconfig: Path | None) -> kubernetes.client.Configuration:
    """From a kubeconfig file, else from the pod's service account. Raises ConfigException of the client."""
    found = kubernetes.client.Configuration()
    if kubeconfig is not None:
        kubernetes.config.load_kube_config(str(kubeconfig), client_configuration=found)
    else:
        kubernetes.config.load_incluster_config(client_configuration=found)
    found.retries = False
    found.connection_pool_maxsize = _POOL_SIZE
    return found


class KubernetesApi:
    """The typed APIs of the client, and two ways to call them."""

    def __init__(self, found: kubernetes.client.Configuration) -> None:
        client = kubernetes.client.ApiClient(found)
        self.core = kubernetes.client.CoreV1Api(client)
        self.apps = kubernetes.client.AppsV1Api(client)
        self.batch = kubernetes.client.BatchV1Api(client)
        self.policy = kubernetes.client.PolicyV1Api(client)
        self.discovery = kubernetes.client.DiscoveryV1Api(client)
        self.coordination = kubernetes.client.CoordinationV1Api(client)
        self.custom = kubernetes.client.CustomObjectsApi(client)
        self.authorization = kubernetes.client.AuthorizationV1Api(client)
        self._retry = Retrying(
            retry=retry_if_exception_type(TransientError),
            stop=stop_after_delay(READ_BUDGET_SECONDS),
            wait=wait_exponential_jitter(initial=0.1, max=2.0),
            reraise=True,
        )

    def read(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Json:
        """A read, retried while it fails transiently and the budget lasts. Raises KubernetesError."""
        answer: Json = self._retry(_once, call, arguments, {**options, "_request_timeout": READ_TIMEOUT_SECONDS})
        return answer

    def read_once(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Json:
        """A read that is not retried. Raises KubernetesError."""
        return _once(call, arguments, {**options, "_request_timeout": READ_TIMEOUT_SECONDS})

    def write(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Json:
        """A write, asked once. Raises KubernetesError."""
        return _once(call, arguments, {**options, "_request_timeout": WRITE_TIMEOUT_SECONDS})

    def list_all(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> list[Json]:
        """All items of a list, page by page."""
        items: list[Json] = []
        token: str | None = None
        while True:
            more = {"_continue": token} if token else {}
            page = self.read(call, *arguments, limit=500, **more, **options)
            items += page.get("items") or []
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return items


def _once(call: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Json:
    try:
        response = call(*arguments, _preload_content=False, **options)
        found = json.loads(response.data)
    except ApiException as error:
        metrics.KUBERNETES_ERRORS.labels(str(error.status or 0)).inc()
        raise sorted_error(error) from error
    except (urllib3.exceptions.HTTPError, OSError) as error:
        metrics.KUBERNETES_ERRORS.labels("0").inc()
        raise TransientError(0, "NoAnswer", f"{type(error).__name__}: {error}") from error
    except ValueError as error:
        raise TransientError(0, "NotJson", f"the API server's answer is not JSON: {error}") from error
    return found if isinstance(found, dict) else {}


def sorted_error(error: ApiException) -> KubernetesError:
    """The client's exception as transient or refused, with the Status' reason and causes."""
    status = int(error.status or 0)
    try:
        body = json.loads(error.body or "{}")
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    reason, message = body.get("reason", error.reason or ""), body.get("message", str(error.body or ""))
    transient = status in (0, 429) or status >= 500
    kind = TransientError if transient else RefusedError
    return kind(status, str(reason), str(message)[:500], body.get("details") or {})
