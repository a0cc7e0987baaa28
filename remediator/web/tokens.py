"""Who may call: tokens kept in files, read again when the file changes, compared in constant time.

Two kinds that never stand for one another: the webhook's (one secret a line, so that a rotation can
overlap) and the operators' (`name: token` a line; the name goes into the audit). A file that cannot be read
admits nobody.
"""

import base64
import binascii
import hmac
import logging
import time
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)


class TokenFile:
    """Lines of a secret file, at most `reread_seconds` old; blank lines and # comments are left out."""

    def __init__(
        self, path: Path, *, reread_seconds: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path, self._reread_seconds, self._clock = path, reread_seconds, clock
        self._read_at: float | None = None
        self._lines: tuple[str, ...] = ()

    def lines(self) -> tuple[str, ...]:
        """Current lines; empty when the file cannot be read (which is logged, without its content)."""
        now = self._clock()
        if self._read_at is None or now - self._read_at >= self._reread_seconds:
            self._read_at, self._lines = now, self._read()
        return self._lines

    def _read(self) -> tuple[str, ...]:
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            log.error("token file %s cannot be read, nobody is admitted by it: %s", self._path, type(error).__name__)
            return ()
        stripped = (line.strip() for line in text.splitlines())
        return tuple(line for line in stripped if line and not line.startswith("#"))


class WebhookAuth:
    """Admits the webhook's bearer token, or basic auth whose `user:password` is a line of the file."""

    def __init__(self, file: TokenFile | None) -> None:
        self._file = file

    def admits(self, authorization: str | None) -> bool:
        """True without a token file (loopback, --insecure), or when the header holds one of its secrets."""
        return self._file is None or _any_equal(_secret(authorization), self._file.lines())


class OperatorAuth:
    """Names the operator behind a bearer token."""

    def __init__(self, file: TokenFile | None, *, local_operator: str | None) -> None:
        """`local_operator`: name given to everybody when there is no file (loopback only).

        None admits nobody.
        """
        self._file, self._local_operator = file, local_operator

    @property
    def open(self) -> bool:
        """No token is asked for."""
        return self._file is None and self._local_operator is not None

    def operator(self, authorization: str | None) -> str | None:
        """Name of the operator, or None."""
        if self._file is None:
            return self._local_operator
        secret = _secret(authorization)
        found: str | None = None
        for line in self._file.lines():
            name, _, token = (part.strip() for part in line.partition(":"))
            if name and token and _equal(secret, token):
                found = name
        return found


def _secret(authorization: str | None) -> str:
    scheme, _, rest = (authorization or "").partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(rest, validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _any_equal(given: str, secrets: tuple[str, ...]) -> bool:
    """Looks at all of them, so that time tells nothing about which was near."""
    found = [_equal(given, secret) for secret in secrets]
    return any(found)


def _equal(given: str, secret: str) -> bool:
    return bool(given) and hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode("utf-8"))
