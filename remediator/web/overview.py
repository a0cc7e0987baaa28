"""Nodes and silences at a glance: records, levels and water marks as rows, for the JSON API and the page alike."""

from collections.abc import Mapping, Sequence
from typing import Any

from remediator.core.model import Level, Matcher, Silence, Unknown
from remediator.core.state import NodeState, OperatorSpec
from remediator.reconciler.ports import Record, Trend
from remediator.web.services import Services

Json = dict[str, Any]
_OPERATORS = {(True, False): "=", (False, False): "!=", (True, True): "=~", (False, True): "!~"}


def node_rows(services: Services, found: Sequence[Record]) -> list[Json]:
    """One row per node that has one of these records or a level, worst first: by level, then by water mark.

    Level None when the rules do not know it, `used_ratio` None when Prometheus does not.
    """
    levels, trends = services.levels(), services.used_ratios()
    known = {} if isinstance(levels, Unknown) else levels
    marks = {} if isinstance(trends, Unknown) else trends
    records = {record.node: (record.state, record.spec) for record in found}
    blank = (NodeState(), OperatorSpec())
    now = services.clock()
    rows = [
        {**_row(node, known.get(node), *records.get(node, blank), now), **_water(marks.get(node, ()))}
        for node in {*known, *records}
    ]
    return sorted(rows, key=lambda row: (-(row["level_number"] or 0), -(row["used_ratio"] or 0.0), row["node"]))


def _water(trend: Trend) -> Json:
    return {"used_ratio": trend[-1][1] if trend else None}


def _row(node: str, level: Level | None, state: NodeState, spec: OperatorSpec, now: float) -> Json:
    cooldown = max(0.0, (state.cooldown_until or 0.0) - now)
    return {
        "node": node,
        "level": level.name if level is not None else None,
        "level_number": int(level) if level is not None else None,
        "phase": str(state.phase),
        "isolation": str(state.isolation),
        "isolation_observed": state.isolation_observed,
        "mode": str(state.mode) if state.mode else None,
        "paused": spec.paused,
        "paused_by": spec.paused_by if spec.paused else None,
        "episode_id": state.episode_id or None,
        "evicted": sum(1 for eviction in state.evictions if not eviction.observed_only),
        "drained": sum(1 for drained in state.drained if not drained.observed_only),
        "freed_bytes": state.outcomes[-1].released_bytes if state.outcomes else None,
        "cooldown_seconds": round(cooldown) or None,
        "release_asked": state.release_asked_at is not None,
        "message": state.message,
        "outcomes": [
            {
                "kind": str(outcome.kind),
                "at": outcome.at,
                "released_bytes": outcome.released_bytes,
                "expected_bytes": outcome.expected_bytes,
                "used_ratio_before": outcome.used_ratio_before,
                "used_ratio_after": outcome.used_ratio_after,
                "workloads": list(outcome.workloads),
            }
            for outcome in reversed(state.outcomes)
        ],
    }


def silence_rows(services: Services) -> Json:
    """`active`: silences in force with their matchers as amtool writes them; `unknown`: why nobody could tell."""
    found = services.silences()
    if isinstance(found, Unknown):
        return {"active": [], "unknown": found.why}
    return {"active": [_silence(silence) for silence in found.silences], "unknown": None}


def _silence(silence: Silence) -> Json:
    return {
        "id": silence.id,
        "created_by": silence.created_by,
        "comment": silence.comment,
        "ends_at": silence.ends_at,
        "matchers": [_matcher(matcher) for matcher in silence.matchers],
    }


def _matcher(matcher: Matcher) -> str:
    return f'{matcher.name}{_OPERATORS[matcher.is_equal, matcher.is_regex]}"{matcher.value}"'


def sparkline(trend: Trend, *, width: int = 120, height: int = 24) -> str:
    """Points of an SVG polyline: the last hour from left to right, 0..100 % of memory from bottom to top."""
    if len(trend) < 2:
        return ""
    first, last = trend[0][0], trend[-1][0]
    return " ".join(_point(at, ratio, first, last - first, (width, height)) for at, ratio in trend)


def _point(at: float, ratio: float, first: float, seconds: float, size: Sequence[int]) -> str:
    x = (at - first) / (seconds or 1.0) * size[0]
    y = (1 - min(1.0, max(0.0, ratio))) * size[1]
    return f"{x:.1f},{y:.1f}"


def trends_of(services: Services) -> Mapping[str, Trend]:
    """Node -> its last hour; empty when Prometheus does not tell."""
    found = services.used_ratios()
    return {} if isinstance(found, Unknown) else found
