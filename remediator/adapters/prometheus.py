"""What Prometheus says: levels, node memory, pods' usage, firing alerts, its clock. Asks, and trusts little.

A partial answer (warnings) is no answer, non-finite values are dropped, and whatever fails makes the value
`Unknown`. Nothing is compared with a threshold here.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import MetricValueConversionError, PrometheusApiClientException
from urllib3.util.retry import Retry

from remediator import metrics
from remediator.adapters import promql
from remediator.adapters.calls import DeadlineSession
from remediator.adapters.pod_usage import PodsDisagreeError, PodsUnknownError, pod_usages
from remediator.adapters.promql import pod_query
from remediator.core.model import Level, MemoryFacts, PodUsage, Signal, SignalKind, Unknown
from remediator.core.reason import Reason

__all__ = ["PrometheusMetrics", "pod_query"]

Sample = tuple[Mapping[str, str], float]
_SOURCE = "prometheus"
_DEADLINE_SECONDS = 8.0
_TREND_POINTS = 60
_LEVELS = {"yellow": Level.YELLOW, "orange": Level.ORANGE, "red": Level.RED}
_Facts = TypeVar("_Facts")


class PartialAnswerError(Exception):
    """Prometheus (or a proxy before it) said that its answer is not the whole."""


class NodeBlindError(Exception):
    """The rules know too little of the node, or two different things."""


class _WholeAnswers(DeadlineSession):
    """Partial answers are failures: the client hands back only `data.result`, so `warnings` is read before it does."""

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        response = super().request(*arguments, **options)
        if response.status_code == 200 and b'"warnings"' in response.content:
            answer = response.json()
            if isinstance(answer, dict) and (warnings := answer.get("warnings")):
                raise PartialAnswerError("; ".join(map(str, warnings)))
        return response


class PrometheusMetrics:
    """Questions to one Prometheus (or Thanos, Mimir: `headers` carries tenant and token).

    `scrape_seconds` and `cadvisor_scrape_seconds` are how often our exporter and the kubelet are scraped: one scrape
    ago is what the newest set of pods is compared with. `at` (unix seconds) puts every question to that moment.
    """

    def __init__(
        self,
        url: str,
        *,
        speed: float = 1.0,
        headers: Mapping[str, str] | None = None,
        deadline_seconds: float = _DEADLINE_SECONDS,
        scrape_seconds: float = promql.SCRAPE_SECONDS,
        cadvisor_scrape_seconds: float = promql.CADVISOR_SCRAPE_SECONDS,
        at: float | None = None,
    ) -> None:
        self._speed = speed
        self._moment = {} if at is None else {"time": f"{at:.3f}"}
        self._scrapes = {"scrape_seconds": scrape_seconds, "cadvisor_scrape_seconds": cadvisor_scrape_seconds}
        self._client = PrometheusConnect(
            url=url.rstrip("/"), headers=dict(headers or {}), retry=Retry(0), session=_WholeAnswers(deadline_seconds)
        )

    # --- questions --------------------------------------------------------------------------------------

    def memory(self, node: str) -> MemoryFacts | Unknown:
        """The node's memory as recorded by the rules."""
        return self._answer(lambda: memory_facts(node, self._query(promql.memory_query(node, self._speed))))

    def usages(self, node: str) -> Mapping[str, PodUsage] | Unknown:
        """Pod UID -> usage; Unknown(DATA_PARTIAL) when two scrapes do not agree on the pods: wait for the next."""
        query = pod_query(node, self._speed, **self._scrapes)
        return self._answer(lambda: pod_usages(node, self._query(query)))

    def levels(self) -> Mapping[str, Level] | Unknown:
        """Level of every node that the rules know; the higher one where a node has two."""

        def read() -> Mapping[str, Level]:
            found: dict[str, Level] = {}
            for labels, value in self._query(promql.LEVELS):
                found[labels["node"]] = max(Level(int(value)), found.get(labels["node"], Level.GREEN))
            return found

        return self._answer(read)

    def used_ratios(self, seconds: float) -> Mapping[str, Sequence[tuple[float, float]]] | Unknown:
        """Node -> (unix seconds, used ratio) over the last so many seconds, about sixty points, oldest first.

        For people's eyes only, so our own clock is good enough; nothing is decided by it.
        """

        def read() -> Mapping[str, Sequence[tuple[float, float]]]:
            end = datetime.now(UTC)
            step = f"{max(1, round(seconds / _TREND_POINTS))}s"
            begin = end - timedelta(seconds=seconds)
            found = self._client.custom_query_range(promql.USED, begin, end, step)
            return {row["metric"]["node"]: _points(row["values"]) for row in found if row["metric"].get("node")}

        return self._answer(read)

    def levels_at(self, node: str, times: Sequence[float]) -> Mapping[float, Level] | Unknown:
        """The node's highest level in the minute before each moment; moments nobody knows of are left out."""

        def read() -> Mapping[float, Level]:
            found = self._query(promql.levels_at_query(node, times, self._speed)) if times else []
            return {float(labels["at"]): Level(int(value)) for labels, value in found}

        return self._answer(read)

    def firing(self, alertnames: Sequence[str]) -> Sequence[Signal] | Unknown:
        """Firing alerts of these names, as RESYNC signals; those without a node are left to their webhook."""

        def read() -> Sequence[Signal]:
            found = self._query(promql.firing_query(alertnames)) if alertnames else []
            return [_signal(labels) for labels, _ in found if labels.get("node")]

        return self._answer(read)

    def pod_names(self, node: str) -> Mapping[str, tuple[str, str]] | Unknown:
        """Pod UID -> (namespace, name), as far as kube-state-metrics told."""

        def read() -> Mapping[str, tuple[str, str]]:
            rows = [labels for labels, _ in self._query(promql.names_query(node))]
            return {row["uid"]: (row["namespace"], row["pod"]) for row in rows if "uid" in row}

        return self._answer(read)

    def last_below(self, node: str, level: Level, window_seconds: float) -> float | Unknown | None:
        """When the node was last below a level, within the window; None: all the while at it or above."""

        def read() -> float | None:
            found = self._query(promql.below_query(node, level, window_seconds, self._speed))
            return found[0][1] if found else None

        return self._answer(read)

    def now(self) -> float | Unknown:
        """Prometheus' own time."""

        def read() -> float:
            return float(self._client.custom_query(promql.NOW, self._moment)[1])

        return self._answer(read)

    def ready(self) -> str:
        """Empty when Prometheus answers and has our rules, else what is wrong."""
        found = self.levels()
        if isinstance(found, Unknown):
            return f"Prometheus does not answer as it should: {found.why}"
        return "" if found else "Prometheus has no node:memory_level: are the rules loaded? (remediator rules)"

    # --- asking -----------------------------------------------------------------------------------------

    def _query(self, query: str) -> list[Sample]:
        return list(finite(self._client.custom_query(query, self._moment)))

    def _answer(self, read: Callable[[], _Facts]) -> _Facts | Unknown:
        """What was read, or Unknown with the reason."""
        try:
            found = read()
        except PartialAnswerError as error:
            return _unknown(f"a partial answer: {error}", Reason.DATA_PARTIAL)
        except PodsDisagreeError as error:
            return _unknown(str(error), Reason.DATA_PARTIAL, up=True)
        except (PodsUnknownError, NodeBlindError) as error:
            return _unknown(str(error), up=True)
        except (
            requests.RequestException,
            PrometheusApiClientException,
            MetricValueConversionError,
            ValueError,
            LookupError,
            TypeError,
        ) as error:
            return _unknown(f"{type(error).__name__}: {str(error)[:300]}")
        metrics.SOURCE_UP.labels(_SOURCE).set(1)
        return found


def _unknown(why: str, reason: Reason = Reason.DATA_UNKNOWN, *, up: bool = False) -> Unknown:
    metrics.SOURCE_UP.labels(_SOURCE).set(int(up))
    return Unknown(_SOURCE, why, reason)


def _points(values: Iterable[tuple[float, str]]) -> list[tuple[float, float]]:
    return [(float(at), float(value)) for at, value in values if math.isfinite(float(value))]


def finite(result: Iterable[Mapping[str, Any]]) -> Iterable[Sample]:
    """(labels, value) of an instant vector; NaN and infinities, which come as strings, are dropped."""
    for item in result:
        value = float(item["value"][1])
        if math.isfinite(value):
            yield item["metric"], value


def memory_facts(node: str, samples: Iterable[Sample]) -> MemoryFacts:
    """Facts of `memory_query`'s answer.

    Raises NodeBlindError when what decisions need is missing, or there twice: that is two clusters, or replicas that
    nobody deduplicates, behind one URL, and neither may be taken for the other.
    """
    recorded: dict[str, float] = {}
    thresholds: dict[str, float] = {}
    slices: dict[str, int] = {}
    for labels, value in samples:
        name = labels.get("__name__") or labels.get("what", "")
        if name == "node:memory_threshold:ratio":
            thresholds[f"{labels['level']}/{labels['edge']}"] = value
        elif name == "slice":
            slices[labels.get("path", "")] = int(value)
        elif recorded.setdefault(name, value) != value:
            raise NodeBlindError(f"{name} of {node} is there twice: several clusters or replicas behind one URL?")
    needed = ("node:memory_level", "node:memory_total:bytes", "node:memory_available:bytes", "sampled_at")
    if missing := [name for name in needed if name not in recorded]:
        raise NodeBlindError(f"{node} is blind: no {missing[0]}")
    available, beyond = int(recorded["node:memory_available:bytes"]), recorded.get("free_beyond_available")
    return MemoryFacts(
        level=Level(int(recorded["node:memory_level"])),
        total_bytes=int(recorded["node:memory_total:bytes"]),
        available_bytes=available,
        sampled_at=recorded["sampled_at"],
        score=recorded.get("node:memory_pressure:score"),
        growth_bytes_per_second=recorded.get("node:memory_used:deriv5m"),
        free_bytes=max(0, available + int(beyond)) if beyond is not None else None,
        stall_full_ratio=recorded.get("node:memory_stall_full:ratio"),
        thresholds=thresholds,
        system_slices=slices,
    )


def _signal(labels: Mapping[str, str]) -> Signal:
    return Signal(
        kind=SignalKind.RESYNC,
        node=labels["node"],
        alertname=labels.get("alertname", ""),
        level=_LEVELS.get(labels.get("level", "")),
        labels={key: value for key, value in labels.items() if key not in ("__name__", "alertstate")},
    )
