"""Foreign errors, sorted: transient (may go better next time), refused (a clear no), broken (nobody can understand it).

Whoever calls an adapter never sees a client library's exception. Holds no logic beyond what an error says of itself.
"""

from collections.abc import Mapping
from typing import Any


class KubernetesError(Exception):
    """An answer that is not a success, or none. `status` 0: no answer came."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        sent: bool = True,
        retry_after_seconds: float = 0.0,
    ) -> None:
        super().__init__(f"{status} {reason}: {message}" if status else message)
        self.status, self.reason, self.message = status, reason, message
        self.details = dict(details or {})
        self.sent = sent
        """False: the request surely never reached the server, so it cannot have taken effect."""
        self.retry_after_seconds = retry_after_seconds

    @property
    def causes(self) -> frozenset[str]:
        """`details.causes[].reason`, by which a 429 or a 403 is told apart."""
        return frozenset(str(cause.get("reason", "")) for cause in self.details.get("causes") or [])


class TransientError(KubernetesError):
    """It may go better next time: no answer, 5xx, throttling."""


class RefusedError(KubernetesError):
    """A clear no: asking again is no use."""


class BrokenError(KubernetesError):
    """What came is not what the API gives, or we cannot even ask: no JSON, credentials that cannot be made."""
