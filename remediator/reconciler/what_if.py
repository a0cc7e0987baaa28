"""The same node decided under another policy, and what that changes. Nothing is observed or done."""

from dataclasses import replace

from remediator.core.policy import Policy
from remediator.core.question import Question
from remediator.reconciler.explanation import Json, explained


def what_if(question: Question, policy: Policy) -> Json:
    """The decision under `policy`, with `what_if` saying how it differs from the one under the policy in force."""
    now, then = explained(question), explained(replace(question, policy=policy))
    return {**then, "what_if": {"in_force": _summary(now), "changes": _changes(now, then)}}


def _summary(told: Json) -> Json:
    return {
        "verdict": told["verdict"],
        "mode": told["mode"],
        "reasons": [each["reason"] for each in told["reasons"]],
        "target_bytes": told["target_bytes"],
        "chosen": _chosen(told),
        "actions": _actions(told),
    }


def _chosen(told: Json) -> list[str]:
    return [f"{row['namespace']}/{row['pod']}" for row in told["ranking"] if row["chosen"]]


def _actions(told: Json) -> list[str]:
    actions = told["plan"]["actions"] if told["plan"] else []
    return [
        " ".join(filter(None, (each["kind"], "/".join(filter(None, (each["namespace"], each["pod"]))))))
        for each in actions
    ]


def _changes(now: Json, then: Json) -> Json:
    """Keys of the summary that differ: [in force, under the other policy]."""
    before, after = _summary(now), _summary(then)
    changed = {key: [before[key], after[key]] for key in before if before[key] != after[key]}
    return changed | _pods(now, then)


def _pods(now: Json, then: Json) -> Json:
    """Pods whose reason differs."""
    before = {row["uid"]: row["reason"] for row in now["ranking"]}
    changed = {
        f"{row['namespace']}/{row['pod']}": [before[row["uid"]], row["reason"]]
        for row in then["ranking"]
        if before.get(row["uid"], row["reason"]) != row["reason"]
    }
    return {"pods": changed} if changed else {}
