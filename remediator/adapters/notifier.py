"""Tells people: a log line always, and the policy's targets by Apprise or as signed JSON. Never blocks, never raises.

Each target has a queue and a thread of its own, so that a slow one delays neither acting nor the others; what finds a
queue full, and what a target does not take, is counted. Addresses are read from their file for each notice: a rotated
Secret needs no restart. They hold tokens, so neither they nor their errors are ever logged.
"""

import hashlib
import hmac
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from queue import Full, Queue

import apprise
import requests
from tenacity import retry, retry_if_result, stop_after_attempt, wait_exponential

from remediator import metrics
from remediator.adapters.calls import DeadlineSession
from remediator.core.routing import NotificationTarget, addressed
from remediator.core.state import Notice

log = logging.getLogger(__name__)
QUEUE_LENGTH = 200
SIGNATURE, TIMESTAMP = "X-Remediator-Signature", "X-Remediator-Timestamp"
_TIMEOUT_SECONDS = 10.0
_LEVELS = {"critical": logging.ERROR, "warning": logging.WARNING}
_TYPES = {"critical": apprise.NotifyType.FAILURE, "warning": apprise.NotifyType.WARNING}
Message = tuple[Notice, Mapping[str, object]]


class NotTakenError(Exception):
    """A target refused a notice, or did not answer, three times."""


class LogNotifier:
    """Every notice as one log line."""

    def notify(self, notice: Notice, context: Mapping[str, object]) -> None:
        """Log it."""
        log.log(_LEVELS.get(notice.severity, logging.INFO), "%s: %s", notice.title, notice.text)

    def close(self) -> None:
        """Nothing waits."""


class RoutedNotifier(LogNotifier):
    """Also tells the targets that a notice is for; `targets` are those of the policy in force."""

    def __init__(self, targets: Callable[[], Iterable[NotificationTarget]]) -> None:
        self._targets, self._lock = targets, threading.Lock()
        self._senders: dict[str, _Sender] = {}

    def notify(self, notice: Notice, context: Mapping[str, object]) -> None:
        """Log it and queue it for whom it concerns."""
        super().notify(notice, context)
        for target in addressed(notice, self._targets()):
            self._sender(target.name).put((target, (notice, dict(context))))

    def _sender(self, name: str) -> "_Sender":
        with self._lock:
            if name not in self._senders:
                self._senders[name] = _Sender(name)
            return self._senders[name]

    def close(self) -> None:
        """Send what waits, as far as the time reaches, then stop."""
        for sender in self._senders.values():
            sender.close()


class _Sender:
    """A queue and the thread that empties it."""

    def __init__(self, name: str) -> None:
        self._name, self._given_up = name, False
        self._queue: Queue[tuple[NotificationTarget, Message] | None] = Queue(QUEUE_LENGTH)
        self._thread = threading.Thread(target=self._send_for_ever, name=f"notifier-{name}", daemon=True)
        self._thread.start()

    def put(self, item: tuple[NotificationTarget, Message]) -> None:
        try:
            self._queue.put_nowait(item)
        except Full:
            metrics.NOTICES_DROPPED.labels(self._name).inc()

    def _send_for_ever(self) -> None:
        while (item := self._queue.get()) is not None and not self._given_up:
            target, (notice, context) = item
            try:
                _send(target, notice, context)
            except Exception as error:
                metrics.NOTICES_FAILED.labels(self._name).inc()
                log.warning("a notice was not taken by %s: %s", self._name, type(error).__name__)

    def close(self) -> None:
        try:
            self._queue.put(None, timeout=_TIMEOUT_SECONDS)
        except Full:
            self._given_up = True
        self._thread.join(_TIMEOUT_SECONDS)


def _send(target: NotificationTarget, notice: Notice, context: Mapping[str, object]) -> None:
    """Three tries; NotTakenError when none was taken, OSError when the address cannot be read."""
    urls = [line.strip() for line in Path(target.url_file).read_text(encoding="utf-8").splitlines()]
    urls = [url for url in urls if url and not url.startswith("#")]
    if not urls:
        raise ValueError("no address")
    tell = _post if target.kind == "webhook" else _apprise
    if not _tried(lambda: tell(target, urls, notice, context)):
        raise NotTakenError


@retry(
    stop=stop_after_attempt(3),
    wait=wait_exponential(multiplier=0.2, max=2),
    retry=retry_if_result(lambda taken: not taken),
    retry_error_callback=lambda state: False,
)
def _tried(send: Callable[[], bool]) -> bool:
    return send()


def _apprise(target: NotificationTarget, urls: list[str], notice: Notice, context: Mapping[str, object]) -> bool:
    people = apprise.Apprise()
    if not all(people.add(url) for url in urls):
        raise ValueError("no Apprise URL")
    kind = _TYPES.get(notice.severity, apprise.NotifyType.INFO)
    body, form = markdown(notice, context), apprise.NotifyFormat.MARKDOWN
    return bool(people.notify(body=body, title=notice.title, notify_type=kind, body_format=form))


def markdown(notice: Notice, context: Mapping[str, object]) -> str:
    """The body of a message: a line per step, then where it came from."""
    lines = [f"- {line}" if "\n" in notice.text else line for line in notice.text.splitlines()]
    told = {"node": context.get("node"), "mode": context.get("mode"), "episode": context.get("episode_id")}
    source = " · ".join(f"{key} `{value}`" for key, value in told.items() if value)
    return "\n".join([*lines, "", source]).strip()


def _post(target: NotificationTarget, urls: list[str], notice: Notice, context: Mapping[str, object]) -> bool:
    body = json.dumps({**asdict(notice), "context": dict(context)}, default=str).encode()
    headers = {"Content-Type": "application/json", **signed(body, target.secret_file, int(time.time()))}
    session = DeadlineSession(_TIMEOUT_SECONDS)
    try:
        answer = session.post(urls[0], data=body, headers=headers, allow_redirects=False)
    except requests.RequestException:
        return False
    return answer.status_code < 300


def signed(body: bytes, secret_file: str, at: int) -> dict[str, str]:
    """Headers: the time, and HMAC-SHA256 over `TIMESTAMP.BODY` with the secret; none without a secret."""
    if not secret_file:
        return {}
    secret = Path(secret_file).read_text(encoding="utf-8").strip().encode()
    digest = hmac.new(secret, f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return {TIMESTAMP: str(at), SIGNATURE: f"sha256={digest}"}
