"""Audit lines as the report reads them: a typed value for each that matters, None for the others.

The only place that knows how lines are written (reconciler/telling.py). A line that is not as it should be raises
UnreadableError: it is counted, and never guessed at.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from remediator.core.model import Level, Mode
from remediator.core.reason import Reason

Record = Mapping[str, Any]
STARTUP_MOST_SECONDS = 300.0
"""The score's restart part is 100 at no start-up time, and 0 from here on."""


class UnreadableError(Exception):
    """A line that is not what its kind promises."""


@dataclass(frozen=True, slots=True)
class Untouched:
    """Pods of one workload that could not be touched, for one reason."""

    workload: str
    reason: Reason
    pods: int
    releasable_bytes: int
    tier: str | None = None
    qos: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision."""

    node: str
    level: Level | None
    used_ratio: float | None
    mode: str
    reasons: tuple[Reason, ...]
    evictions: tuple[tuple[str, int], ...] = ()
    """(workload, expected bytes) of the plan."""
    untouched: tuple[Untouched, ...] = ()
    startup_seconds: Mapping[str, float] = field(default_factory=dict)
    """Pod UID -> how long it takes to start, as its score knew it."""


@dataclass(frozen=True, slots=True)
class Acted:
    """What became of a step; `observed`: it was only recorded."""

    node: str
    kind: str
    observed: bool
    done: bool
    reason: Reason
    workload: str | None = None
    tier: str | None = None
    pod_uid: str = ""
    expected_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LevelChanged:
    """A node's level, and the one before (None: it was not known)."""

    node: str
    level: Level
    before: Level | None
    used_ratio: float | None


@dataclass(frozen=True, slots=True)
class Watching:
    """A roll call."""

    every_seconds: float
    started_at: float
    mode: str
    blind: bool
    nodes: int
    above: Mapping[str, tuple[Level, float | None]]
    """Node above GREEN -> (level, highest used ratio since the last call)."""
    complete: bool
    """Every node above GREEN is named."""


@dataclass(frozen=True, slots=True)
class Died:
    """An OOM kill (`cause` is its class) or an eviction by the kubelet."""

    node: str
    cause: str
    died_at: float
    namespace: str
    pod: str
    key: tuple[str, ...]
    workload: str | None = None
    tier: str | None = None
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What a round came to."""

    node: str
    outcome: str
    released_bytes: int
    expected_bytes: int


Event = Decided | Acted | LevelChanged | Watching | Died | Measured
KUBELET = "kubelet-eviction"
CAUSES = ("node-oom", "limit-oom", "unknown", KUBELET)


@dataclass(frozen=True, slots=True)
class Line:
    """What every line has, and its event where the report wants it."""

    at: float
    replica: str
    config_hash: str
    event: Event | None


def read(record: Record) -> Line:
    """A line of the audit; UnreadableError when it is none."""
    try:
        kind = _text(record["kind"])
        reader = _READERS.get(kind)
        return Line(
            at=_number(record["at"]),
            replica=_text(record.get("replica") or "unknown"),
            config_hash=_text(record.get("config_hash") or ""),
            event=reader(record) if reader is not None else None,
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableError(f"{type(error).__name__}: {error}") from error


# --- by kind ------------------------------------------------------------------------------------------------


def _decided(record: Record) -> Decided:
    memory, plan = record["memory"], record.get("plan") or {}
    actions = [each for each in plan.get("actions", ()) if each["kind"] == "evict"]
    return Decided(
        node=_text(record["node"]),
        level=_level(memory.get("level")),
        used_ratio=_ratio(memory.get("used_ratio")),
        mode=_text(record["mode"]),
        reasons=tuple(found for each in record["reasons"] if (found := _reason(each["reason"])) is not None),
        evictions=tuple((_workload(each) or "", int(_number(each["expected_bytes"]))) for each in actions),
        untouched=tuple(_untouched(each) for each in record.get("untouched", ()) if _reason(each["reason"])),
        startup_seconds=_startups(record.get("ranking", ())),
    )


def _untouched(row: Record) -> Untouched:
    return Untouched(
        workload=_text(row["workload"]),
        reason=Reason(row["reason"]),
        pods=int(_number(row["pods"])),
        releasable_bytes=int(_number(row["releasable_bytes"])),
        tier=_maybe(row.get("tier")),
        qos=_text(row.get("qos") or ""),
        priority=int(_number(row.get("priority") or 0)),
    )


def _startups(ranking: Sequence[Record]) -> Mapping[str, float]:
    scored = {_text(row["uid"]): row.get("score") for row in ranking}
    return {
        uid: STARTUP_MOST_SECONDS * (1 - _number(score["restart"]) / 100)
        for uid, score in scored.items()
        if score is not None
    }


def _acted(record: Record) -> Acted:
    action = record["action"]
    return Acted(
        node=_text(record["node"]),
        kind=_text(action["kind"]),
        observed=record["mode"] in (Mode.OBSERVE, Mode.OFF),
        done=record.get("status") == "done",
        reason=_reason(record["reason"]) or Reason.API_ERROR,
        workload=_workload(action),
        tier=_maybe(action.get("tier")),
        pod_uid=_text(action.get("pod_uid") or ""),
        expected_bytes=int(_number(action.get("expected_bytes") or 0)),
    )


def _changed(record: Record) -> LevelChanged:
    return LevelChanged(
        node=_text(record["node"]),
        level=Level[record["level"]],
        before=_level(record["level_before"]),
        used_ratio=_ratio(record.get("used_ratio")),
    )


def _watching(record: Record) -> Watching:
    above = {
        _text(node): (Level[each["level"]], _ratio(each.get("peak_used_ratio")))
        for node, each in record["above"].items()
    }
    counted = sum(int(_number(n)) for name, n in record["levels"].items() if name != Level.GREEN.name)
    return Watching(
        every_seconds=max(1e-3, _number(record["every_seconds"])),
        started_at=_number(record["started_at"]),
        mode=_text(record["mode"]),
        blind=record["unknown"] is not None,
        nodes=int(_number(record["nodes"] or 0)),
        above=above,
        complete=counted <= len(above),
    )


def _killed(record: Record) -> Died:
    return _died(record, _one_of(CAUSES, record["class"]), _text(record["container"]))


def _kubelet_evicted(record: Record) -> Died:
    return _died(record, KUBELET, KUBELET)


def _died(record: Record, cause: str, what: str) -> Died:
    died_at = _number(record["died_at"])
    once = () if cause == KUBELET else (f"{died_at:.0f}",)
    return Died(
        node=_text(record["node"]),
        cause=cause,
        died_at=died_at,
        namespace=_text(record["namespace"]),
        pod=_text(record["pod"]),
        key=(_text(record["pod_uid"]), what, *once),
        workload=_maybe(record.get("workload")),
        tier=_maybe(record.get("tier")),
        level=_level(record.get("level")),
    )


def _measured(record: Record) -> Measured:
    return Measured(
        node=_text(record["node"]),
        outcome=_text(record["outcome"]),
        released_bytes=int(_number(record["released_bytes"])),
        expected_bytes=int(_number(record["expected_bytes"])),
    )


_READERS: Mapping[str, Callable[[Record], Event]] = {
    "decision": _decided,
    "result": _acted,
    "abandoned": _acted,
    "level": _changed,
    "watching": _watching,
    "oom_kill": _killed,
    "kubelet_eviction": _kubelet_evicted,
    "outcome": _measured,
}


# --- values -------------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _maybe(value: Any) -> str | None:
    return None if value is None else _text(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{value!r} is no number")
    return value


def _ratio(value: Any) -> float | None:
    return None if value is None else _number(value)


def _level(name: Any) -> Level | None:
    return None if name is None else Level[name]


def _reason(name: Any) -> Reason | None:
    """None for a reason of another release."""
    return Reason(name) if name in _REASONS else None


_REASONS = frozenset(each.value for each in Reason)


def _workload(action: Record) -> str | None:
    named = action.get("workload")
    if named is not None:
        return _text(named)
    return f"{action['namespace']}/Pod/{action['pod']}" if action.get("pod") else None


def _one_of(allowed: Sequence[str], value: Any) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return str(value)
