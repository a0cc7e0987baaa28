"""An audit line as a document in the names of the Elastic Common Schema, and the index it belongs into.

A fixed set of fields, those of template.json: whatever else a line holds is in `event.original`, word for word, and
can neither be lost nor make the mapping grow. The index follows from the line's own time, so that a line which is sent
again, even a month later, meets itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

Record = Mapping[str, Any]
ECS_VERSION = "8.11.0"
_OUTCOMES: Mapping[str, str] = {"done": "success", "relieved": "success", "partly": "success", "unknown": "unknown"}
_ANSWERED = ("result", "outcome")


@dataclass(frozen=True, slots=True)
class Document:
    """What is sent of a line."""

    id: str
    index: str
    line: str
    source: Mapping[str, Any]


def document(identity: str, line: bytes, index: str) -> Document:
    """The document of a line; ValueError when the line is none of ours."""
    record = orjson.loads(line)
    try:
        month = datetime.fromisoformat(record["@timestamp"]).strftime("%Y.%m")
        source = _source(record)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no audit record: {type(error).__name__}: {error}") from error
    text = line.decode().rstrip("\n")
    source["event"] |= {"id": identity, "original": text}
    return Document(identity, f"{index}-{month}", text, _without_nothing(source))


def _source(record: Record) -> dict[str, Any]:
    action = _of(record, "action")
    return {
        "@timestamp": record["@timestamp"],
        "ecs": {"version": ECS_VERSION},
        "message": _message(record, action),
        "event": {
            "kind": "event",
            "module": "remediator",
            "dataset": "remediator.audit",
            "action": action.get("kind") or record["kind"],
            "outcome": _outcome(record),
            "reason": _reason(record, action),
        },
        "host": {"name": record.get("node")},
        "service": {"name": "remediator", "node": {"name": record.get("replica")}},
        "user": {"name": record.get("operator") or record.get("approved_by")},
        "orchestrator": _orchestrator(record, action),
        "remediator": _ours(record, action),
    }


def _orchestrator(record: Record, action: Record) -> dict[str, Any]:
    """On what it is about: the pod, else the workload, else the node."""
    pod, workload = action.get("pod"), str(action.get("workload") or "")
    _, kind, name = ("//" + workload).rsplit("/", 2) if workload else ("", "", "")
    kind_and_name = ("pod", pod) if pod else (kind.lower(), name) if workload else ("node", record.get("node"))
    return {
        "type": "kubernetes",
        "namespace": action.get("namespace"),
        "resource": {
            "type": kind_and_name[0],
            "name": kind_and_name[1],
            "id": action.get("pod_uid"),
            "parent": {"type": kind if pod else None},
        },
    }


def _ours(record: Record, action: Record) -> dict[str, Any]:
    state, plan, signal, memory = (_of(record, name) for name in ("state", "plan", "signal", "memory"))
    ranking, workload = _rows(record, "ranking"), action.get("workload")
    return {
        "kind": record["kind"],
        "mode": record.get("mode"),
        "profile": record.get("profile"),
        "config_hash": record.get("config_hash"),
        "episode": {"id": record.get("episode_id") or state.get("episode_id")},
        "plan": {"id": record.get("plan_id") or plan.get("id") or record.get("plan")},
        "alert": {"name": signal.get("alertname")},
        "signal": {"kind": signal.get("kind")},
        "verdict": record.get("verdict"),
        "status": record.get("status") or record.get("outcome"),
        "reason": [each.get("reason") for each in _rows(record, "reasons")] or record.get("reason"),
        "phase": state.get("phase"),
        "isolation": state.get("isolation") or record.get("isolation"),
        "level": {
            "name": memory.get("level") or record.get("level_before"),
            "after": record.get("level_after"),
        },
        "memory": {
            "used_ratio": memory.get("used_ratio") or record.get("used_ratio_before"),
            "used_ratio_after": record.get("used_ratio_after"),
            "used_bytes": memory.get("used_bytes"),
            "total_bytes": memory.get("total_bytes"),
        },
        "target_bytes": record.get("target_bytes"),
        "expected_bytes": action.get("expected_bytes") or record.get("expected_bytes"),
        "released_bytes": record.get("released_bytes"),
        "workload": [workload] if workload else record.get("workloads"),
        "tier": action.get("tier"),
        "strategy": action.get("strategy"),
        "score": action.get("score"),
        "candidates": {
            "chosen": [_pod(row) for row in ranking if row.get("chosen")],
            "spared": [_pod(row) for row in ranking if not row.get("chosen")],
        },
    }


def _of(record: Record, name: str) -> Record:
    """The object of that name; operators' words have other things under it."""
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def _rows(record: Record, name: str) -> list[Record]:
    found = record.get(name)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _pod(row: Record) -> str:
    return f"{row.get('namespace')}/{row.get('pod')}"


def _outcome(record: Record) -> str | None:
    """ECS: of an attempt whose result is not in it, `unknown`; of what is no attempt, or was only recorded, nothing."""
    if record.get("reason") == "dry_run":
        return None
    if record["kind"] in ("intent", "abandoned"):
        return "unknown"
    if record["kind"] in _ANSWERED:
        return _OUTCOMES.get(str(record.get("status") or record.get("outcome")), "failure")
    return None


def _reason(record: Record, action: Record) -> str:
    """In words: why it is done, and why it came to that."""
    rows = _rows(record, "reasons") or [record]
    said = (" ".join(filter(None, (row.get("sentence"), row.get("detail")))) for row in rows)
    return "; ".join(filter(None, (action.get("why"), *said)))


def _message(record: Record, action: Record) -> str:
    name = "/".join(filter(None, (action.get("namespace"), action.get("pod")))) or action.get("workload")
    about = " ".join(filter(None, (action.get("kind"), name)))
    end = record.get("status") or record.get("outcome") or record.get("verdict") or ""
    return f"{record['kind']}: {about or record.get('node', '')} {end}".strip()


def _without_nothing(value: dict[str, Any]) -> dict[str, Any]:
    """Nulls, empty texts, lists and objects left out."""
    kept = {key: _without_nothing(each) if isinstance(each, dict) else each for key, each in value.items()}
    return {key: each for key, each in kept.items() if each not in (None, "", [], {})}
