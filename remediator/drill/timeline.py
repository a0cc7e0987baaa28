"""What happened, as dated sentences: levels, what was done and why, what it came to. Pure."""

from collections.abc import Iterator
from typing import Any

from remediator.drill.live_view import describe
from remediator.drill.observation import LEVEL_NAMES, Json
from remediator.drill.story import Chronicle

_ACTIONS = {
    "cordoned": "cordon",
    "uncordoned": "uncordon",
    "tainted": "taint",
    "untainted": "untaint",
    "pod_terminating": "evict",
    "endpoints_drained": "drain_endpoints",
    "endpoints_restored": "restore_endpoints",
}
"""What is seen in the cluster, and what the audit calls it."""
Line = tuple[float, str]


def timeline(report: dict[str, Any], chronicle: Chronicle) -> list[Line]:
    """(scenario seconds, sentence), in order."""
    nodes = [node for node in chronicle.unschedulable if node != "this-machine"] or [report["focus"]]
    lines = [line for node in nodes for line in _levels(chronicle, node)]
    lines += _events(chronicle)
    lines += [(at, f"{node}: {phase}") for at, node, phase in chronicle.phases if node in nodes]
    lines += _outcomes(chronicle)
    if report["release_asked_at"] is not None:
        lines.append((report["release_asked_at"], f"release of {report['focus']} is asked for"))
    return sorted(lines, key=lambda line: line[0])


def _levels(chronicle: Chronicle, node: str) -> Iterator[Line]:
    before = 0
    for moment in chronicle.moments:
        level = moment.level.get(node, before)
        if level != before:
            yield moment.seconds, f"{node} is {LEVEL_NAMES[level]}, {moment.used_ratio.get(node, 0.0):.1%} used"
        before = level


def _events(chronicle: Chronicle) -> Iterator[Line]:
    """Sentences on what was seen, with the reason that the audit gave for it."""
    whys = {_key(line["action"]["kind"], line): _why(line["action"]) for line in chronicle.audit if _announces(line)}
    for event in chronicle.events:
        if (text := describe(event)) is not None:
            action = _ACTIONS.get(event["what"], "")
            why = whys.get((action, event.get("uid") or event.get("node", "")), "")
            yield float(event["at"]), f"{text} ({why})" if why else text


def _announces(line: Json) -> bool:
    return bool(line["kind"] == "intent" and line.get("mode") != "observe")


def _key(action: str, line: Json) -> tuple[str, str]:
    return action, line["action"].get("pod_uid") or line["node"]


def _why(action: Json) -> str:
    score = f", score {action['score']:.1f}" if action.get("score") is not None else ""
    return f"{action['why']}{score}"


def _outcomes(chronicle: Chronicle) -> Iterator[Line]:
    for line in chronicle.audit:
        if line["kind"] == "outcome":
            released, expected = line["released_bytes"] or 0, line["expected_bytes"] or 0
            text = f"{line['node']}: {line['outcome']}, {released / 2**30:.1f} GiB came free of {expected / 2**30:.1f}"
            yield float(line["at"]), text
