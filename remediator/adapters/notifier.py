"""Tells people: a log line always, and a JSON webhook where one is configured. Never blocks, never raises."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from queue import Full, Queue
from threading import Thread

import requests

from remediator import metrics
from remediator.adapters.calls import DeadlineSession
from remediator.core.state import Notice

log = logging.getLogger(__name__)
_QUEUE_LENGTH = 200
_TIMEOUT_SECONDS = 10.0
_LEVELS = {"critical": logging.ERROR, "warning": logging.WARNING}


class LogNotifier:
    """Every notice as one log line."""

    def notify(self, notice: Notice, context: Mapping[str, object]) -> None:
        """Log it."""
        log.log(_LEVELS.get(notice.severity, logging.INFO), "%s: %s", notice.title, notice.text)

    def close(self) -> None:
        """Nothing waits."""


class WebhookNotifier(LogNotifier):
    """Also POSTs each notice as JSON, from a thread of its own; what finds the queue full is counted."""

    def __init__(self, url: str) -> None:
        self._url, self._session = url, DeadlineSession(_TIMEOUT_SECONDS)
        self._queue: Queue[str | None] = Queue(_QUEUE_LENGTH)
        self._given_up = False
        self._thread = Thread(target=self._send_for_ever, name="notifier", daemon=True)
        self._thread.start()

    def notify(self, notice: Notice, context: Mapping[str, object]) -> None:
        """Log it and queue it."""
        super().notify(notice, context)
        try:
            self._queue.put_nowait(json.dumps({**asdict(notice), "context": dict(context)}, default=str))
        except Full:
            metrics.NOTICES_DROPPED.labels("webhook").inc()

    def _send_for_ever(self) -> None:
        while (body := self._queue.get()) is not None and not self._given_up:
            try:
                headers = {"Content-Type": "application/json"}
                answer = self._session.post(self._url, data=body, headers=headers)
                answer.raise_for_status()
                if answer.is_redirect:
                    raise requests.RequestException("redirected")
            except requests.RequestException as error:
                metrics.NOTICES_FAILED.labels("webhook").inc()
                log.warning("a notice was not taken by the webhook: %s", type(error).__name__)

    def close(self) -> None:
        """Send what waits, as far as the time reaches, then stop."""
        try:
            self._queue.put(None, timeout=_TIMEOUT_SECONDS)
        except Full:
            self._given_up = True
        self._thread.join(_TIMEOUT_SECONDS)
