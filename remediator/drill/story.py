"""Follows a drill's story: looks, keeps what was seen, lets the operator act, until the scenario's time is over.

Everything seen goes into a `Chronicle`; what it means is `report.py`. What it meant at an earlier moment is
answered by the same chronicle, cut off there.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import requests

from remediator.drill.observation import Json, Moment, Watcher
from remediator.drill.rights import calls
from remediator.drill.scenario import Scenario

POLL_SECONDS = 0.3


@dataclass(slots=True)
class Chronicle:
    """Everything that was seen, in scenario time."""

    now: float = 0.0
    """Scenario seconds of the last look."""
    moments: list[Moment] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    """Of the simulated cluster."""
    kubelet_order: list[Json] = field(default_factory=list)
    release_asked_at: float | None = None
    phases: list[tuple[float, str, str]] = field(default_factory=list)
    """(seconds, node, phase), whenever one changed."""
    messages: dict[str, str] = field(default_factory=dict)
    unschedulable: dict[str, bool] = field(default_factory=dict)
    audit: list[Json] = field(default_factory=list)
    """The remediator's own lines; `at` is scenario seconds."""
    notices: list[Json] = field(default_factory=list)
    """Kubernetes Events; `at` is scenario seconds, to a second of the clock."""
    removals: list[Json] = field(default_factory=list)
    """Requests that removed a pod, as the API server saw them."""
    api_calls: list[Json] = field(default_factory=list)
    """Each kind of call that the remediator made to the API server."""
    webhooks_received: int = 0

    def until(self, seconds: float) -> "Chronicle":
        """The same, as it was at a moment."""
        asked = self.release_asked_at
        return replace(
            self,
            now=min(self.now, seconds),
            moments=[moment for moment in self.moments if moment.seconds <= seconds],
            events=[event for event in self.events if event["at"] <= seconds],
            release_asked_at=asked if asked is not None and asked <= seconds else None,
            phases=[phase for phase in self.phases if phase[0] <= seconds],
            audit=[line for line in self.audit if line["at"] <= seconds],
            notices=[notice for notice in self.notices if notice["at"] <= seconds],
        )


Act = Callable[[float, float | None], None]


def follow(
    scenario: Scenario, watcher: Watcher, act: Act, show: Callable[[Chronicle], None], check: Callable[[], None]
) -> Chronicle:
    """Watch until the scenario's duration is over -> what was seen. `check` raises when a process has ended."""
    chronicle = Chronicle()
    while chronicle.now < scenario.duration:
        began = time.monotonic()
        check()
        look(scenario, watcher, chronicle)
        act(chronicle.now, chronicle.release_asked_at)
        show(chronicle)
        time.sleep(max(0.0, POLL_SECONDS - (time.monotonic() - began)))
    return chronicle


def look(scenario: Scenario, watcher: Watcher, chronicle: Chronicle) -> None:
    """Take in what is new; a source that does not answer now is asked again at the next look."""
    try:
        state = watcher.state()
        chronicle.now = float(state["seconds"])
        chronicle.unschedulable = {node: each["unschedulable"] for node, each in state["nodes"].items()}
        chronicle.moments += watcher.new_moments()
        order = watcher.kubelet_order(scenario.focus)
        chronicle.events += watcher.new_events()
        # The kubelet's choice before anything was done about it.
        if not any(event["what"] == "pod_terminating" for event in chronicle.events):
            chronicle.kubelet_order = order
        _records(scenario, watcher, chronicle)
    except requests.RequestException:
        return


def _records(scenario: Scenario, watcher: Watcher, chronicle: Chronicle) -> None:
    for record in watcher.records():
        node, status = record["metadata"]["name"], record.get("status") or {}
        phase = status.get("phase", "WATCHING")
        before = next((p for _, n, p in reversed(chronicle.phases) if n == node), "WATCHING")
        if phase != before:
            chronicle.phases.append((chronicle.now, node, phase))
        chronicle.messages[node] = status.get("message", "")
        asked = status.get("releaseAskedAt")
        if node == scenario.focus and asked and chronicle.release_asked_at is None:
            chronicle.release_asked_at = watcher.scenario_seconds(asked)


def conclude(watcher: Watcher, chronicle: Chronicle, *, with_remediator: bool) -> None:
    """What is read once, when the story is over. Raises requests.RequestException."""
    chronicle.moments += watcher.new_moments()
    chronicle.events += watcher.new_events()
    asked = watcher.api_requests()
    chronicle.removals = [each for each in asked if _removes(each)]
    chronicle.api_calls = calls(asked)
    chronicle.notices = [
        notice | {"at": watcher.clock_seconds(notice["firstTimestamp"])} for notice in watcher.kubernetes_events()
    ]
    if with_remediator:
        chronicle.audit = [line | {"at": watcher.scenario_seconds(line["at"])} for line in watcher.audit()]
        chronicle.webhooks_received = watcher.webhooks_received()


def _removes(asked: Json) -> bool:
    """A request that removed a pod, by eviction or by deletion."""
    return (
        asked.get("resource") == "pods"
        and (asked.get("verb") == "delete" or asked.get("subresource") == "eviction")
        and (asked.get("status") or 0) < 300
    )
