"""Who is told what: by severity, by audience, and for developers by namespace. Pure; sending is an adapter's."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from remediator.core.state import Notice

SEVERITIES = ("info", "warning", "critical")


@dataclass(frozen=True, slots=True)
class NotificationTarget:
    """Somebody who is told. Addresses and secrets stand in files, never here."""

    name: str
    kind: str = "apprise"
    """`apprise`: `url_file` holds Apprise URLs, one a line; `webhook`: one URL that gets signed JSON."""
    url_file: str = ""
    secret_file: str = ""
    """webhook: key of the HMAC-SHA256 signature; empty: unsigned."""
    severities: tuple[str, ...] = SEVERITIES
    audience: str = "operators"
    """`operators` get everything but what only developers can mend, `developers` just that, `all` both."""
    namespaces: tuple[str, ...] = ("*",)
    """Globs: only notices about workloads of these; notices about nodes concern everybody."""


def addressed(notice: Notice, targets: Iterable[NotificationTarget]) -> list[NotificationTarget]:
    """The targets that this notice is for, in their order."""
    return [target for target in targets if _wants(target, notice)]


def _wants(target: NotificationTarget, notice: Notice) -> bool:
    if notice.severity not in target.severities or target.audience not in ("all", notice.audience):
        return False
    return not notice.namespace or any(fnmatchcase(notice.namespace, glob) for glob in target.namespaces)
