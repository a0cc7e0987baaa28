"""What a drill looks at while it runs: the cluster, Prometheus, the remediator, all over HTTP. Reads only."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import requests

Json = dict[str, Any]
LEVEL_NAMES = ("GREEN", "YELLOW", "ORANGE", "RED")
_TIMEOUT_SECONDS = 3.0
_RECORDED = '{__name__=~"node:memory_level|node:memory_used:ratio|node:memory_pressure:score"}'
_OVERLAP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Moment:
    """One evaluation of the rules: its scenario seconds, and what it recorded per node."""

    seconds: float
    used_ratio: Mapping[str, float]
    level: Mapping[str, int]
    score: Mapping[str, float]


@dataclass(slots=True)
class Watcher:
    """Polls; remembers how far events were read."""

    cluster_url: str
    prometheus_url: str
    remediator_url: str
    audit_directory: Path
    speed: float
    _session: requests.Session = field(default_factory=requests.Session)
    _events_read: int = 0
    _started_at: float = 0.0
    _evaluated_at: float = 0.0

    def start(self) -> None:
        """Let the scenario's time begin."""
        self._session.post(f"{self.cluster_url}/drill/start", timeout=_TIMEOUT_SECONDS).raise_for_status()
        self._started_at = self._evaluated_at = time.time()

    def scenario_seconds(self, unix_seconds: float) -> float:
        """When in the story something happened by the clock."""
        return round((unix_seconds - self._started_at) * self.speed, 2)

    def clock_seconds(self, timestamp: str) -> float:
        """The same for a timestamp of the Kubernetes API."""
        return self.scenario_seconds(datetime.fromisoformat(timestamp).timestamp())

    def state(self) -> Json:
        """What the cluster says of itself now."""
        state: Json = self._get(f"{self.cluster_url}/drill/state")
        return state

    def new_moments(self) -> list[Moment]:
        """What Prometheus has recorded since the last call, each evaluation at its own time.

        The newest one is left for the next call: its rules may still be running.
        """
        window_ms = round((time.time() - self._evaluated_at + _OVERLAP_SECONDS) * 1000)
        answer = self._get(f"{self.prometheus_url}/api/v1/query", query=f"{_RECORDED}[{window_ms}ms]")
        found: dict[float, dict[str, dict[str, float]]] = {}
        for series in answer["data"]["result"]:
            name, node = series["metric"]["__name__"], series["metric"]["node"]
            for at, value in series["values"]:
                found.setdefault(float(at), {}).setdefault(name, {})[node] = float(value)
        times = [at for at in sorted(found)[:-1] if at > self._evaluated_at]
        if times:
            self._evaluated_at = times[-1]
        return [self._moment(at, found[at]) for at in times]

    def _moment(self, at: float, found: Mapping[str, Mapping[str, float]]) -> Moment:
        levels = found.get("node:memory_level", {})
        return Moment(
            seconds=self.scenario_seconds(at),
            used_ratio=found.get("node:memory_used:ratio", {}),
            level={node: int(value) for node, value in levels.items()},
            score=found.get("node:memory_pressure:score", {}),
        )

    def new_events(self) -> list[Json]:
        """What has happened in the cluster since the last call."""
        events: list[Json] = self._get(f"{self.cluster_url}/drill/events?since={self._events_read}")
        self._events_read += len(events)
        return events

    def kubelet_order(self, node: str) -> list[Json]:
        """Whom the kubelet would evict now."""
        order: list[Json] = self._get(f"{self.cluster_url}/drill/kubelet-order?node={node}")
        return order

    def records(self) -> list[Json]:
        """NodeRemediations."""
        found = self._get(f"{self.cluster_url}/apis/remediator.io/v1alpha1/noderemediations")
        items: list[Json] = found["items"]
        return items

    def api_requests(self) -> list[Json]:
        """Everything that the API server was asked, by whomever."""
        requests_seen: list[Json] = self._get(f"{self.cluster_url}/drill/requests")
        return requests_seen

    def kubernetes_events(self) -> list[Json]:
        """Event objects."""
        items: list[Json] = self._get(f"{self.cluster_url}/api/v1/events")["items"]
        return items

    def query(self, promql: str) -> list[tuple[Mapping[str, str], float]]:
        """An instant vector."""
        answer = self._get(f"{self.prometheus_url}/api/v1/query", query=promql)
        return [(item["metric"], float(item["value"][1])) for item in answer["data"]["result"]]

    def webhooks_received(self) -> int:
        """The remediator's own count."""
        text = self._session.get(f"{self.remediator_url}/metrics", timeout=_TIMEOUT_SECONDS).text
        lines = [line for line in text.splitlines() if line.startswith("remediator_webhooks_received_total")]
        return int(sum(float(line.rsplit(" ", 1)[1]) for line in lines))

    def audit(self) -> Iterator[Json]:
        """All audit lines so far, in order."""
        for path in sorted(self.audit_directory.glob("audit-*.jsonl*"), reverse=True):
            # The last line may be in the middle of being written.
            for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
                yield json.loads(line)

    def _get(self, url: str, **params: str) -> Any:
        answer = self._session.get(url, params=params, timeout=_TIMEOUT_SECONDS)
        answer.raise_for_status()
        return answer.json()
