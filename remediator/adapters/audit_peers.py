"""What another replica has in its audit files, asked over its API. One question, one answer, bounded in time and size.

Whoever merges the answers is told of failures by exceptions of the families OSError and ValueError.
"""

from collections.abc import Iterator
from dataclasses import replace

from remediator.adapters.calls import DeadlineSession
from remediator.core.trail import Part, Record, TrailQuestion, written_at
from remediator.core.trail_parameters import as_parameters, position

_TIMEOUT_SECONDS = 3.0


class PeerAudit:
    """One peer."""

    def __init__(self, url: str, *, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        self._url = f"{url.rstrip('/')}/api/v1/audit"
        self._session = DeadlineSession(timeout_seconds)

    def __call__(self, asked: TrailQuestion) -> Part:
        """What it has itself. Raises requests.RequestException (an OSError), or ValueError for what is no page."""
        answer = self._session.get(self._url, params=list(as_parameters(replace(asked, local=True))))
        if answer.status_code != 200:
            raise ValueError(f"it answered {answer.status_code}")
        told = answer.json()
        try:
            records = list(_timed(told["records"]))[: asked.limit]
            end = told["next"]
            return Part(self._url, records, None if end is None else position(end).at)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it answered with something else than a page ({error!r})") from error


def _timed(records: list[Record]) -> Iterator[tuple[float, Record]]:
    """With the time to order them by, which never rises."""
    at = float("inf")
    for record in records:
        written = written_at(record)
        if written is None:
            raise ValueError("a record of its page has no time")
        at = min(at, written)
        yield at, record
