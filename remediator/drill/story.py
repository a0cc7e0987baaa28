"""Follows a drill's story: looks, keeps what was seen, acts as the operator, until the scenario's time is over.

The operator does what a person would: sets silences in Alertmanager, answers a request for release. Everything seen
goes into a `Chronicle`; what it means is `report.py`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import requests

from remediator.drill.observation import Json, Moment, Watcher
from remediator.drill.scenario import Scenario, SilenceSpec

POLL_SECONDS = 0.3
_FAR_FUTURE = timedelta(hours=12)


@dataclass(slots=True)
class Chronicle:
    """Everything that was seen, in scenario time."""

    moments: list[Moment] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    kubelet_order: list[Json] = field(default_factory=list)
    release_asked_at: float | None = None
    records: list[Json] = field(default_factory=list)
    phases: list[tuple[float, str, str]] = field(default_factory=list)
    """(seconds, node, phase), whenever one changed."""
    messages: dict[str, str] = field(default_factory=dict)

    @property
    def now(self) -> float:
        """Scenario seconds of the last look."""
        return self.moments[-1].seconds if self.moments else 0.0


class Operator:
    """What the drill does as a person."""

    def __init__(self, scenario: Scenario, alertmanager_url: str, remediator_url: str) -> None:
        self._scenario, self._alertmanager_url, self._remediator_url = scenario, alertmanager_url, remediator_url
        self._silences: dict[SilenceSpec, str] = {}
        self._ended: set[SilenceSpec] = set()
        self._released: set[str] = set()

    def act(self, chronicle: Chronicle) -> None:
        """Whatever is due now."""
        for silence in self._scenario.silences:
            if silence not in self._silences and chronicle.now >= silence.at:
                self._silences[silence] = self._silence(silence)
            if silence in self._silences and silence not in self._ended and chronicle.now >= silence.until:
                self._end(self._silences[silence])
                self._ended.add(silence)
        self._release(chronicle)

    def _silence(self, silence: SilenceSpec) -> str:
        now = datetime.now(UTC)
        matchers = [text.partition("=") for text in silence.matchers]
        body = {
            "matchers": [{"name": n, "value": v, "isRegex": False, "isEqual": True} for n, _, v in matchers],
            "startsAt": now.isoformat(),
            "endsAt": (now + _FAR_FUTURE).isoformat(),
            "createdBy": "drill",
            "comment": "set by the scenario",
        }
        answer = requests.post(f"{self._alertmanager_url}/api/v2/silences", json=body, timeout=5)
        answer.raise_for_status()
        return str(answer.json()["silenceID"])

    def _end(self, silence_id: str) -> None:
        requests.delete(f"{self._alertmanager_url}/api/v2/silence/{silence_id}", timeout=5).raise_for_status()

    def _release(self, chronicle: Chronicle) -> None:
        after, node = self._scenario.operator.release_after, self._scenario.focus
        asked = chronicle.release_asked_at
        if after is None or asked is None or chronicle.now < asked + after or node in self._released:
            return
        answer = requests.post(f"{self._remediator_url}/api/v1/nodes/{node}/release", json={}, timeout=5)
        if answer.ok:
            self._released.add(node)


Show = Callable[[Chronicle], None]
Snapshot = Callable[[Chronicle], dict[str, Any]]


def follow(
    scenario: Scenario,
    watcher: Watcher,
    operator: Operator | None,
    show: Show,
    snapshot: Snapshot,
    check: Callable[[], None],
) -> tuple[Chronicle, list[tuple[float, dict[str, Any]]]]:
    """Watch until the scenario's duration is over -> what was seen, and the snapshots that wants ask for."""
    chronicle = Chronicle()
    due = sorted({want.at for want in scenario.wants if want.at is not None})
    snapshots: list[tuple[float, dict[str, Any]]] = []
    while chronicle.now < scenario.duration:
        began = time.monotonic()
        check()
        look(scenario, watcher, chronicle)
        if operator is not None:
            operator.act(chronicle)
        while due and chronicle.now >= due[0]:
            snapshots.append((due.pop(0), snapshot(chronicle)))
        show(chronicle)
        time.sleep(max(0.0, POLL_SECONDS - (time.monotonic() - began)))
    return chronicle, snapshots


def look(scenario: Scenario, watcher: Watcher, chronicle: Chronicle) -> None:
    """Take in what is new; a source that does not answer now is asked again at the next look."""
    try:
        chronicle.moments.append(watcher.moment())
        fresh = watcher.new_events()
        chronicle.events += fresh
        # The kubelet's choice before anything was done about it.
        if not any(event["what"] == "pod_terminating" for event in chronicle.events):
            chronicle.kubelet_order = watcher.kubelet_order(scenario.focus)
        _records(scenario, watcher, chronicle)
    except requests.RequestException:
        return


def _records(scenario: Scenario, watcher: Watcher, chronicle: Chronicle) -> None:
    chronicle.records = watcher.records()
    for record in chronicle.records:
        node, status = record["metadata"]["name"], record.get("status") or {}
        phase = status.get("phase", "WATCHING")
        before = next((p for _, n, p in reversed(chronicle.phases) if n == node), "WATCHING")
        if phase != before:
            chronicle.phases.append((chronicle.now, node, phase))
        chronicle.messages[node] = status.get("message", "")
        if node == scenario.focus and status.get("releaseAskedAt") and chronicle.release_asked_at is None:
            chronicle.release_asked_at = chronicle.now
