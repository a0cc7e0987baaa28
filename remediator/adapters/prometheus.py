"""What Prometheus says: levels, node memory, pods' usage, firing alerts, its clock. Asks, and trusts little.

A partial answer (warnings) is no answer, non-finite values are dropped, and whatever fails makes the value
`Unknown`. Nothing is compared with a threshold here.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import MetricValueConversionError, PrometheusApiClientException
from urllib3.util.retry import Retry

from remediator import metrics
from remediator.adapters import promql
from remediator.core.model import Level, MemoryFacts, PodUsage, Signal, SignalKind, Unknown
from remediator.core.reason import Reason

Sample = tuple[Mapping[str, str], float]
_SOURCE = "prometheus"
_DEADLINE_SECONDS = 8.0
_CHUNK_BYTES = 65536
_LEVELS = {"yellow": Level.YELLOW, "orange": Level.ORANGE, "red": Level.RED}
_Facts = TypeVar("_Facts")


class PartialAnswerError(Exception):
    """Prometheus (or a proxy before it) said that its answer is not the whole."""


class DeadlineSession(requests.Session):
    """A session whose calls end within a total time, and whose partial answers are failures.

    The client hands back only `data.result`, so `warnings` must be read before it does.
    """

    def __init__(self, deadline_seconds: float) -> None:
        super().__init__()
        self._deadline_seconds = deadline_seconds

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        """As requests', bounded. Raises requests.Timeout, PartialAnswerError."""
        end = time.monotonic() + self._deadline_seconds
        options |= {"timeout": self._deadline_seconds, "stream": True}
        response = super().request(*arguments, **options)
        body = bytearray()
        for chunk in response.iter_content(_CHUNK_BYTES):
            body += chunk
            if time.monotonic() > end:
                response.close()
                raise requests.Timeout(f"no whole answer within {self._deadline_seconds:g} s")
        response._content = bytes(body)
        if response.status_code == 200 and (warnings := response.json().get("warnings")):
            raise PartialAnswerError("; ".join(warnings))
        return response


class PrometheusMetrics:
    """Questions to one Prometheus (or Thanos, Mimir: `headers` carries tenant and token)."""

    def __init__(
        self,
        url: str,
        *,
        speed: float = 1.0,
        headers: Mapping[str, str] | None = None,
        deadline_seconds: float = _DEADLINE_SECONDS,
    ) -> None:
        self._speed = speed
        self._client = PrometheusConnect(
            url=url, headers=dict(headers or {}), retry=Retry(0), session=DeadlineSession(deadline_seconds)
        )

    # --- questions --------------------------------------------------------------------------------------

    def memory(self, node: str) -> MemoryFacts | Unknown:
        """The node's memory as recorded by the rules."""
        return self._answer(lambda: memory_facts(node, self._query(promql.memory_query(node))))

    def usages(self, node: str) -> Mapping[str, PodUsage] | Unknown:
        """Pod UID -> usage; pods that only cAdvisor knows stand under `namespace/name`."""
        return self._answer(lambda: pod_usages(self._query(promql.pod_query(node, self._speed))))

    def levels(self) -> Mapping[str, Level] | Unknown:
        """Level of every node that the rules know."""

        def read() -> Mapping[str, Level]:
            return {labels["node"]: Level(int(value)) for labels, value in self._query(promql.LEVELS)}

        return self._answer(read)

    def firing(self, alertnames: Sequence[str]) -> Sequence[Signal] | Unknown:
        """Firing alerts of these names, as RESYNC signals; those without a node are left to their webhook."""

        def read() -> Sequence[Signal]:
            return [
                _signal(labels)
                for labels, _ in self._query(promql.firing_query(tuple(alertnames)))
                if labels.get("node")
            ]

        return self._answer(read)

    def now(self) -> float | Unknown:
        """Prometheus' own time."""

        def read() -> float:
            return float(self._client.custom_query(promql.NOW)[1])

        return self._answer(read)

    def ready(self) -> str:
        """Empty when Prometheus answers and has our rules, else what is wrong."""
        found = self.levels()
        if isinstance(found, Unknown):
            return f"Prometheus does not answer as it should: {found.why}"
        return "" if found else "Prometheus has no node:memory_level: are the rules loaded? (remediator rules)"

    # --- asking -----------------------------------------------------------------------------------------

    def _query(self, query: str) -> list[Sample]:
        return list(finite(self._client.custom_query(query)))

    def _answer(self, read: Callable[[], _Facts]) -> _Facts | Unknown:
        """What was read, or Unknown with the reason."""
        try:
            found = read()
        except PartialAnswerError as error:
            return _unknown(f"a partial answer: {error}", Reason.DATA_PARTIAL)
        except UnknownPodsError as error:
            return _unknown(str(error), Reason.DATA_PARTIAL)
        except (
            requests.RequestException,
            PrometheusApiClientException,
            MetricValueConversionError,
            ValueError,
            KeyError,
            TypeError,
        ) as error:
            return _unknown(f"{type(error).__name__}: {str(error)[:300]}")
        metrics.SOURCE_UP.labels(_SOURCE).set(1)
        return found


def _unknown(why: str, reason: Reason = Reason.DATA_UNKNOWN) -> Unknown:
    metrics.SOURCE_UP.labels(_SOURCE).set(0)
    return Unknown(_SOURCE, why, reason)


class UnknownPodsError(Exception):
    """Two scrapes do not agree on which pods there are, or nothing is known of the node."""


def finite(result: Iterable[Mapping[str, Any]]) -> Iterable[Sample]:
    """(labels, value) of an instant vector; NaN and infinities, which come as strings, are dropped."""
    for item in result:
        value = float(item["value"][1])
        if math.isfinite(value):
            yield item["metric"], value


def memory_facts(node: str, samples: Iterable[Sample]) -> MemoryFacts:
    """Facts of `memory_query`'s answer. Raises UnknownPodsError when what decisions need is not there."""
    recorded: dict[str, float] = {}
    thresholds: dict[str, float] = {}
    slices: dict[str, int] = {}
    for labels, value in samples:
        name = labels.get("__name__") or labels.get("what", "")
        if name == "node:memory_threshold:ratio":
            thresholds[f"{labels['level']}/{labels['edge']}"] = value
        elif name == "slice":
            slices[labels.get("path", "")] = int(value)
        else:
            recorded[name] = value
    needed = ("node:memory_level", "node:memory_total:bytes", "node:memory_available:bytes", "sampled_at")
    if missing := [name for name in needed if name not in recorded]:
        raise UnknownPodsError(f"{node} is blind: no {missing[0]}")
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


def pod_usages(samples: Iterable[Sample]) -> dict[str, PodUsage]:
    """Usages of `pod_query`'s answer, by UID, or by namespace/name for pods that only cAdvisor knows.

    Raises UnknownPodsError when a pod that was there one scrape ago is missing from a set that has not been renewed.
    """
    found: dict[str, dict[str, float]] = {}
    for labels, value in samples:
        key = labels.get("uid") or f"{labels.get('namespace', '')}/{labels.get('pod', '')}"
        found.setdefault(key, {})[labels["what"]] = value
    exported = {key for key, values in found.items() if "working_set" in values}
    _check_agreement(found, exported)
    usages = {key: _exporter_usage(found[key]) for key in exported}
    if exported:
        return usages
    return {key: _cadvisor_usage(values) for key, values in found.items() if "cadvisor" in values}


def _check_agreement(found: Mapping[str, Mapping[str, float]], exported: set[str]) -> None:
    previous = {key for key, values in found.items() if "previous" in values}
    if not previous or not exported:
        return
    vanished = previous - exported
    # Pods come and go; half of them vanishing between two scrapes is a scrape that failed, not a node that emptied.
    if len(vanished) * 2 > len(previous) and len(vanished) > 1:
        raise UnknownPodsError(
            f"two scrapes disagree on the pods of the node: {len(previous)} before, {len(exported)} now"
        )


def _exporter_usage(values: Mapping[str, float]) -> PodUsage:
    working_set = int(values["working_set"])
    releasable = int(values.get("anon", working_set) + values.get("shmem", 0))
    longest = values.get("max")
    return PodUsage(
        working_set_bytes=working_set,
        releasable_bytes=releasable,
        sampled_at=values.get("sampled_at", 0.0),
        source="exporter",
        growth_bytes_per_second=values.get("growth"),
        working_set_max_bytes=int(longest) if longest is not None else None,
    )


def _cadvisor_usage(values: Mapping[str, float]) -> PodUsage:
    working_set = int(values["cadvisor"])
    return PodUsage(working_set, working_set, values.get("cadvisor_at", 0.0), source="cadvisor")


def _signal(labels: Mapping[str, str]) -> Signal:
    return Signal(
        kind=SignalKind.RESYNC,
        node=labels["node"],
        alertname=labels.get("alertname", ""),
        level=_LEVELS.get(labels.get("level", "")),
        labels={key: value for key, value in labels.items() if key not in ("__name__", "alertstate")},
    )
