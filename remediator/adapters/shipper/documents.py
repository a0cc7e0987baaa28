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
_ENDS = ("status", "outcome", "verdict", "level", "class")
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
    about = action or record
    return {
        "@timestamp": record["@timestamp"],
        "ecs": {"version": ECS_VERSION},
        "message": _message(record, about),
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
        "container": {"name": record.get("container")},
        "orchestrator": _orchestrator(record, about),
        "remediator": _ours(record, about),
    }


def _orchestrator(record: Record, about: Record) -> dict[str, Any]:
    """On what it is about: the pod, else the workload, else the node."""
    pod, workload = about.get("pod"), str(about.get("workload") or "")
    _, kind, name = ("//" + workload).rsplit("/", 2) if workload else ("", "", "")
    kind_and_name = ("pod", pod) if pod else (kind.lower(), name) if workload else ("node", record.get("node"))
    return {
        "type": "kubernetes",
        "namespace": about.get("namespace"),
        "resource": {
            "type": kind_and_name[0],
            "name": kind_and_name[1],
            "id": about.get("pod_uid"),
            "parent": {"type": kind if pod else None},
        },
    }


def _ours(record: Record, about: Record) -> dict[str, Any]:
    state, plan, signal, memory = (_of(record, name) for name in ("state", "plan", "signal", "memory"))
    ranking, workload = _rows(record, "ranking"), about.get("workload")
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
            "name": memory.get("level") or record.get("level"),
            "before": record.get("level_before"),
            "after": record.get("level_after"),
        },
        "memory": {
            "used_ratio": memory.get("used_ratio") or record.get("used_ratio"),
            "used_ratio_before": record.get("used_ratio_before"),
            "used_ratio_after": record.get("used_ratio_after"),
            "used_bytes": memory.get("used_bytes"),
            "total_bytes": memory.get("total_bytes") or record.get("total_bytes"),
        },
        "target_bytes": record.get("target_bytes"),
        "expected_bytes": about.get("expected_bytes") or record.get("expected_bytes"),
        "released_bytes": record.get("released_bytes"),
        "workload": [workload] if workload else record.get("workloads"),
        "oom_class": record.get("class"),
        "tier": about.get("tier"),
        "strategy": about.get("strategy"),
        "score": about.get("score"),
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


def _message(record: Record, about: Record) -> str:
    """`result: evict shop/web-1 done`."""
    name = "/".join(filter(None, (about.get("namespace"), about.get("pod")))) or about.get("workload")
    act = about.get("kind") if about is not record else ""
    end = next((record[key] for key in _ENDS if isinstance(record.get(key), str)), "")
    return " ".join(filter(None, (f"{record['kind']}:", act, name or record.get("node"), end)))


def _without_nothing(value: dict[str, Any]) -> dict[str, Any]:
    """Nulls, empty texts, lists and objects left out."""
    kept = {key: _without_nothing(each) if isinstance(each, dict) else each for key, each in value.items()}
    return {key: each for key, each in kept.items() if each not in (None, "", [], {})}
