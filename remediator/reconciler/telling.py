"""Telling what a pass came to: audit lines, Kubernetes Events, notifications, metrics. Decides nothing.

Order matters in one place only: the intent line is flushed before the act it announces (`intends` raises
when it cannot be kept, and then nothing is done). Everything else may fail without stopping an episode.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from remediator import metrics as counters
from remediator.core.model import Mode, Phase, Signal, SignalKind, Strategy
from remediator.core.policy import Policy
from remediator.core.reason import Reason
from remediator.core.state import Action, ActionKind, ActionResult, ActionStatus, Decision, NodeState, Notice, Plan
from remediator.core.state import Observation as Seen
from remediator.reconciler.explanation import Json, action_as_json, explanation, reasoned
from remediator.reconciler.ports import Audit, Events, Notifier
from remediator.reconciler.witnessing import Witness, untouched

log = logging.getLogger(__name__)
TOP_CANDIDATES = 10
FAILURES_TOLD = 3
ABANDONED = "whoever announced it ended before an answer was kept; what became of it is read from the cluster"
_ASKED = (SignalKind.ALERT, SignalKind.APPROVAL, SignalKind.RELEASE)
_EVENTS = {
    ActionKind.CORDON: "MemoryPressureCordon",
    ActionKind.TAINT: "MemoryPressureTaint",
    ActionKind.DRAIN_ENDPOINTS: "MemoryPressureDrain",
    ActionKind.EVICT: "MemoryPressureEvict",
    ActionKind.FORCE_DELETE: "MemoryPressureForceDelete",
    ActionKind.SCALE: "MemoryPressureScale",
    ActionKind.RESTORE_ENDPOINTS: "MemoryPressureRestore",
    ActionKind.RESTORE_SCALE: "MemoryPressureRestore",
    ActionKind.UNTAINT: "MemoryPressureRelease",
    ActionKind.UNCORDON: "MemoryPressureRelease",
}


class Teller:
    """Audit, Events, notifier and metrics behind one set of verbs."""

    def __init__(
        self,
        audit: Audit,
        events: Events,
        notifier: Notifier,
        policy: Policy,
        *,
        identity: str,
        config_hash: str,
    ) -> None:
        self._audit, self._events, self._notifier, self._policy = audit, events, notifier, policy
        self._identity, self._config_hash = identity, config_hash
        self._last: dict[str, tuple[object, ...]] = {}
        self._unfinished: dict[str, str] = {}
        self._mute: set[str] = set()
        """Nodes of which people were told that the audit holds acts back."""
        self._witness = Witness(policy)
        self._failures: dict[str, int] = {}
        """Node -> passes in a row that failed."""

    def decided(self, signal: Signal, seen: Seen, decision: Decision, before: NodeState) -> None:
        """Count the decision.

        A full audit line when it differs from the node's last, a short one when it was asked for; beside it what the
        pass was the first to witness.
        """
        self._failures.pop(decision.node, None)
        reason = decision.reasons[0].reason if decision.reasons else ""
        counters.DECISIONS.labels(decision.verdict, reason).inc()
        key = _essence(decision)
        changed = self._last.get(decision.node) != key
        self._last[decision.node] = key
        for kind, content in self._witness.saw(seen, decision, before):
            self._write(kind, content, decision.at)
        if not changed and signal.kind not in _ASKED:
            return
        if changed:
            log.info("%s: %s, %s", decision.node, decision.verdict, _sentence(decision))
        told = explanation(seen, decision, decision.next_state, self._policy)
        told["ranking"] = told["ranking"][:TOP_CANDIDATES] if changed else []
        told["untouched"] = untouched(decision.ranking) if changed else []
        told["phase_before"] = str(before.phase)
        self._write("decision", {"signal": _signal(signal), **told}, decision.at)

    def notify(self, decision: Decision) -> None:
        """Send the decision's notices.

        Called once its state is written, for that is what makes each go out once.
        """
        for notice in decision.notices:
            self._notifier.notify(notice, _context(decision))
            warning = notice.severity != "info"
            self._events.emit(
                "Node", decision.node, "", "", "MemoryPressure", f"{notice.title}: {notice.text}", warning
            )
        if decision.outcome is not None:
            outcome = decision.outcome
            told = {
                "node": decision.node,
                "episode_id": outcome.episode_id,
                "outcome": str(outcome.kind),
                "released_bytes": outcome.released_bytes,
                "expected_bytes": outcome.expected_bytes,
                "used_ratio_before": outcome.used_ratio_before,
                "used_ratio_after": outcome.used_ratio_after,
                "level_before": outcome.level_before.name,
                "level_after": outcome.level_after.name,
                "workloads": list(outcome.workloads),
            }
            counters.OUTCOMES.labels(outcome.kind).inc()
            counters.RELEASED.inc(max(0, outcome.released_bytes))
            counters.RELEASE_EXPECTED.inc(outcome.expected_bytes)
            self._write("outcome", told, outcome.at)

    def intends(self, plan: Plan, actions: Sequence[Action], mode: Mode) -> None:
        """One flushed line per action that is about to be done; raises when they cannot be kept."""
        for action in actions:
            self._audit.write(self._line("intent", _act(plan, action, mode), plan.created_at))
        self._mute.discard(plan.node)

    def acted(self, result: ActionResult, plan: Plan, mode: Mode) -> None:
        """What became of an action."""
        action = result.action
        counters.ACTIONS.labels(action.kind, result.status, result.reason).inc()
        if action.kind is ActionKind.EVICT:
            counters.EVICTIONS.labels(result.status, action.strategy).inc()
        told = {
            **_act(plan, action, mode),
            "status": str(result.status),
            **reasoned(result.reason, result.detail),
        }
        self._write("result", told, result.at)
        log.info("%s %s: %s (%s) %s", action.kind, _object(action), result.status, result.reason, result.detail)
        if mode is not Mode.OBSERVE:
            self._event(result)

    def found_unfinished(self, node: str, before: NodeState, at: float) -> None:
        """A plan that somebody who died, or had to stop, left without an answer: each open intent gets its end.

        Told once per plan by whoever finds it; what is still to be done gets intents of its own.
        """
        plan = before.plan
        if before.phase is not Phase.ACTING or plan is None or self._unfinished.get(node) == plan.id:
            return
        self._unfinished[node] = plan.id
        answered = {key for key, _, _ in before.results}
        for action in plan.actions:
            if action.key not in answered:
                told = {**_act(plan, action, before.mode or Mode.OBSERVE), **reasoned(Reason.TIMED_OUT, ABANDONED)}
                self._write("abandoned", told, at)

    def failed(self, node: str, error: Exception) -> None:
        """A pass ended in an error nobody foresaw: when it does so again and again people are told, once."""
        self._failures[node] = self._failures.get(node, 0) + 1
        if self._failures[node] != FAILURES_TOLD:
            return
        told = f"{type(error).__name__}: {error}"
        title = f"Node {node} is not looked after: every pass over it fails"
        text = f"{told}; tried again at every resync. The log has the trace, `explain {node} --save` the input"
        self._notifier.notify(Notice(f"pass-failed:{node}", "critical", title, text), {"node": node})
        self._events.emit("Node", node, "", "", "RemediatorPassFailed", f"{title}: {told}", True)

    def refused_to_act(self, decision: Decision, error: Exception) -> None:
        """The intent could not be kept, so nothing was done."""
        counters.INTENTS_LOST.inc()
        acting = tuple(notice for notice in decision.notices if notice.key.startswith("plan:"))
        self.notify(replace(decision, notices=tuple(n for n in decision.notices if n not in acting)))
        if decision.node not in self._mute:
            self._mute.add(decision.node)
            title = f"Nothing is done about node {decision.node}: the audit cannot be written"
            notice = Notice(f"audit:{decision.node}", "critical", title, f"{error}; free its disk, or mend its volume")
            self._notifier.notify(notice, _context(decision))
            self._events.emit("Node", decision.node, "", "", "RemediatorAuditUnwritable", f"{title}: {error}", True)
        log.error("%s: nothing is done, for the audit cannot be written: %s", decision.node, error)

    def said(self, node: str, operator: str, word: Mapping[str, Any], at: float) -> None:
        """An operator's word, as it was accepted."""
        self._write("operator", {"node": node, "operator": operator, **word}, at)
        log.info("%s: %s says %s", node, operator, dict(word))

    def watching(self, told: Mapping[str, Any], at: float) -> None:
        """That we watch, and what the fleet looks like."""
        self._write("watching", {"mode": str(self._policy.mode), **told}, at)

    def _event(self, result: ActionResult) -> None:
        action, done = result.action, result.status is ActionStatus.DONE
        message = f"{action.kind} on {action.node}: {result.status} ({result.reason}). {action.why}"
        if action.strategy is not Strategy.PRESSURE and action.kind is ActionKind.EVICT:
            reason = "evictPodSuccess" if done else "evictPodFail"
            message = f"{action.strategy}: {message}"
        else:
            reason = _EVENTS[action.kind] + ("" if done else "Failed")
        warning = not done or not action.undo
        if action.pod:
            self._events.emit("Pod", action.pod, action.namespace, action.pod_uid, reason, message, warning)
        else:
            self._events.emit("Node", action.node, "", "", reason, message, warning)

    def _write(self, kind: str, told: Mapping[str, Any], at: float) -> None:
        try:
            self._audit.write(self._line(kind, told, at))
        except Exception as error:
            counters.AUDIT_LOST.inc()
            log.error("audit line lost (%s of %s): %s", kind, told.get("node"), error)

    def _line(self, kind: str, told: Mapping[str, Any], at: float) -> Json:
        return {"kind": kind, **told, "at": at, "replica": self._identity, "config_hash": self._config_hash}


def _essence(decision: Decision) -> tuple[object, ...]:
    """What makes a decision news: verdict, reasons, plan, phase, isolation. Figures alone do not."""
    state = decision.next_state
    plan = decision.plan.id if decision.plan else ""
    return decision.verdict, tuple(r.reason for r in decision.reasons), plan, state.phase, state.isolation


def _sentence(decision: Decision) -> str:
    return "; ".join(f"{each.reason} ({each.detail})" if each.detail else each.reason for each in decision.reasons)


def _signal(signal: Signal) -> Json:
    return {
        "kind": str(signal.kind),
        "alertname": signal.alertname,
        "level": signal.level.name if signal.level is not None else None,
        "firing": signal.firing,
        "fingerprint": signal.fingerprint,
        "operator": signal.operator or None,
    }


def _context(decision: Decision) -> Json:
    return {
        "node": decision.node,
        "mode": str(decision.mode),
        "verdict": str(decision.verdict),
        "target_bytes": decision.target_bytes,
        "episode_id": decision.next_state.episode_id,
        "actions": [action_as_json(action) for action in decision.plan.actions] if decision.plan else [],
    }


def _act(plan: Plan, action: Action, mode: Mode) -> Json:
    return {
        "node": action.node,
        "mode": str(mode),
        "plan_id": plan.id,
        "approved_by": plan.approved_by or None,
        "episode_id": action.episode_id,
        "action": action_as_json(action),
    }


def _object(action: Action) -> str:
    return f"{action.namespace}/{action.pod}" if action.pod else str(action.workload or action.node)
