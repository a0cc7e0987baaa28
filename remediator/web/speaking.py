"""An operator's word on its way: into the node's record, into the audit, and a pass woken to act on it.

The record comes first: it is what every replica reads and what a restart does not lose.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, jsonify

from remediator import metrics
from remediator.core.fences import RecordConflictError
from remediator.core.model import Signal
from remediator.dispatcher import QueueFullError
from remediator.web.services import Services


@dataclass(frozen=True, slots=True)
class Said:
    """Who says what of which node."""

    node: str
    operator: str
    words: Mapping[str, Any]
    """Fields of the record's `spec`; None takes one back."""
    signal: Signal | None = None
    """What calls the pass, so that it knows by whom; None: any pass will do."""


def spoken(services: Services, said: Said, told: Mapping[str, Any]) -> tuple[Response, int]:
    """202 with `told`, once the word stands in the record."""
    try:
        services.say(said.node, said.words, said.operator)
    except RecordConflictError:
        return jsonify(error=f"somebody else wrote the record of {said.node} just now; try again"), 503
    for word in said.words:
        metrics.OPERATOR_WORDS.labels(word).inc()
    services.audit(said.node, said.operator, told)
    _wake(services, said)
    return jsonify(node=said.node, operator=said.operator, accepted=True, **told), 202


def _wake(services: Services, said: Said) -> None:
    """Best effort: a resync finds the word in the record anyway."""
    if said.signal is None:
        services.dispatcher.wake(said.node, 0.0)
        return
    try:
        services.dispatcher.submit(said.signal)
    except QueueFullError:
        services.dispatcher.resync_soon()
