"""Active silences of all Alertmanager peers, and whether they hold the triggering alert. Reads only.

A pair of peers may be out of step, so the union counts; none reachable means that silences are unknown, and then
nothing is done.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import requests

from remediator import metrics
from remediator.adapters.calls import DeadlineSession
from remediator.core.model import Level, Matcher, Silence, SilenceFacts, Unknown
from remediator.core.reason import Reason

Json = dict[str, Any]
_SOURCE = "alertmanager"
_TIMEOUT_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """What one peer said."""

    silences: tuple[Silence, ...]
    alerts: list[Json] = field(default_factory=list)


class AlertmanagerSilences:
    """Questions to all peers of one Alertmanager.

    `timeout_seconds` is the end of each question, however slowly its answer drips. `keep_for_red_seconds()` (0: never;
    the policy's `safeguards.silence_cache_for_red_seconds`): so long the last answer still serves at RED when no peer
    can be reached.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float = _TIMEOUT_SECONDS,
        keep_for_red_seconds: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._urls = tuple(url.rstrip("/") for url in urls)
        self._session = DeadlineSession(timeout_seconds)
        self._session.headers.update(headers or {})
        self._pool = ThreadPoolExecutor(max(2, 4 * len(self._urls)), thread_name_prefix="alertmanager")
        self._keep_seconds, self._lock = keep_for_red_seconds, threading.Lock()
        self._last: tuple[float, tuple[Silence, ...]] | None = None

    def read(self, node: str, alertname: str, level: Level | None) -> SilenceFacts | Unknown:
        """Active silences, and those that hold this alert of this node."""
        asked = [self._pool.submit(self._peer, url, node, alertname) for url in self._urls]
        answers, failures = [], []
        for future in asked:
            try:
                answers.append(future.result())
            except (requests.RequestException, ValueError, KeyError, TypeError) as error:
                failures.append(f"{type(error).__name__}: {str(error)[:200]}")
        metrics.SOURCE_UP.labels(_SOURCE).set(bool(answers))
        if not answers:
            unknown = Unknown(_SOURCE, "no peer answers: " + "; ".join(failures), Reason.SILENCES_UNKNOWN)
            return self._remembered(level) or unknown
        found = merged(answers, node, alertname, level)
        metrics.SILENCES_ACTIVE.set(len(found.silences))
        with self._lock:
            self._last = time.monotonic(), found.silences
        return found

    def _remembered(self, level: Level | None) -> SilenceFacts | None:
        with self._lock:
            last = self._last
        if last is None or level is not Level.RED or time.monotonic() - last[0] > self._keep_seconds():
            return None
        return SilenceFacts(last[1])

    def _peer(self, url: str, node: str, alertname: str) -> PeerAnswer:
        silences = self._get(f"{url}/api/v2/silences", {})
        wanted = {"filter": [f'alertname="{_escaped(alertname)}"', f'node="{_escaped(node)}"']}
        return PeerAnswer(active_silences(silences), self._get(f"{url}/api/v2/alerts", wanted))

    def _get(self, url: str, params: Json) -> list[Json]:
        answer = self._session.get(url, params=params)
        answer.raise_for_status()
        found = answer.json()
        if answer.status_code != 200 or not isinstance(found, list):
            raise ValueError(f"{url} answered {answer.status_code} with no list")
        return found

    def ready(self) -> str:
        """Empty when at least one peer answers, else what is wrong."""
        found = self.read("", "", None)
        return f"Alertmanager does not answer: {found.why}" if isinstance(found, Unknown) else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def active_silences(found: Sequence[Json]) -> tuple[Silence, ...]:
    """Silences of `/api/v2/silences` that are active now."""
    return tuple(
        Silence(
            id=silence["id"],
            matchers=tuple(
                Matcher(m["name"], m["value"], bool(m.get("isRegex")), bool(m.get("isEqual", True)))
                for m in silence["matchers"]
            ),
            comment=silence.get("comment", ""),
            created_by=silence.get("createdBy", ""),
            ends_at=silence.get("endsAt", ""),
        )
        for silence in found
        if silence["status"]["state"] == "active"
    )


def merged(answers: Sequence[PeerAnswer], node: str, alertname: str, level: Level | None) -> SilenceFacts:
    """The union of all peers' silences, and the alert's own as any of them has it."""
    silences = {silence.id: silence for answer in answers for silence in answer.silences}
    alerts = [alert for answer in answers for alert in answer.alerts if _is_it(alert, node, alertname, level)]
    held = {held_by for alert in alerts for held_by in (alert.get("status") or {}).get("silencedBy") or []}
    labels = alerts[0]["labels"] if alerts else {}
    # A silence that has just been expired may still stand in silencedBy: only active ones count.
    return SilenceFacts(tuple(silences.values()), tuple(sorted(held & set(silences))), labels)


def _is_it(alert: Json, node: str, alertname: str, level: Level | None) -> bool:
    labels = alert.get("labels") or {}
    same = labels.get("node") == node and labels.get("alertname") == alertname
    return same and (level is None or labels.get("level", level.name.lower()) == level.name.lower())
