"""Nodes at a glance: records and levels as rows, for the JSON API and the page alike."""

from typing import Any

from remediator.core.model import Level, Unknown
from remediator.core.state import NodeState
from remediator.web.services import Services


def node_rows(services: Services) -> list[dict[str, Any]]:
    """One row per node that has a record or a level, worst first.

    Level None when the rules do not know it.
    """
    levels = services.levels()
    known = {} if isinstance(levels, Unknown) else levels
    states = {record.node: record.state for record in services.records()}
    now = services.clock()
    rows = [_row(node, known.get(node), states.get(node, NodeState()), now) for node in {*known, *states}]
    return sorted(rows, key=lambda row: (-(row["level_number"] or 0), row["node"]))


def _row(node: str, level: Level | None, state: NodeState, now: float) -> dict[str, Any]:
    cooldown = max(0.0, (state.cooldown_until or 0.0) - now)
    return {
        "node": node,
        "level": level.name if level is not None else None,
        "level_number": int(level) if level is not None else None,
        "phase": str(state.phase),
        "isolation": str(state.isolation),
        "isolation_observed": state.isolation_observed,
        "mode": str(state.mode) if state.mode else None,
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
