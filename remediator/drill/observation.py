"""What a drill looks at while it runs: the cluster, Prometheus, the remediator, all over HTTP. Reads only."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

Json = dict[str, Any]
LEVEL_NAMES = ("GREEN", "YELLOW", "ORANGE", "RED")
_TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Moment:
    """One look: scenario seconds, and per node what Prometheus and the cluster say."""

    seconds: float
    used_ratio: Mapping[str, float]
    level: Mapping[str, int]
    score: Mapping[str, float]
    unschedulable: Mapping[str, bool]


@dataclass(slots=True)
class Watcher:
    """Polls; remembers how far events were read."""

    cluster_url: str
    prometheus_url: str
    remediator_url: str
    audit_directory: Path
    _session: requests.Session = field(default_factory=requests.Session)
    _events_read: int = 0

    def start(self) -> None:
        """Let the scenario's time begin."""
        self._session.post(f"{self.cluster_url}/drill/start", timeout=_TIMEOUT_SECONDS).raise_for_status()

    def moment(self) -> Moment:
        """Look once."""
        state = self._get(f"{self.cluster_url}/drill/state")
        recorded = '{__name__=~"node:memory_level|node:memory_used:ratio|node:memory_pressure:score"}'
        found: dict[str, dict[str, float]] = {}
        for labels, value in self.query(recorded):
            found.setdefault(labels["__name__"], {})[labels["node"]] = value
        levels = found.get("node:memory_level", {})
        return Moment(
            seconds=float(state["seconds"]),
            used_ratio=found.get("node:memory_used:ratio", {}),
            level={node: int(value) for node, value in levels.items()},
            score=found.get("node:memory_pressure:score", {}),
            unschedulable={node: each["unschedulable"] for node, each in state["nodes"].items()},
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
