"""The webhook receiver: authenticate, parse, resolve nodes, queue, answer.

202 when at least one alert is usable (the others are listed and counted), 400 when none is, 413 over the
cap, 503 when the queue is full or nobody can say which node is meant. Alertmanager repeats 5xx and nothing
else, so 503 is only for what a repeat can mend. Nothing is remembered of a refused body.
"""

import json
import logging
from dataclasses import dataclass

from flask import Blueprint, Response, jsonify, request
from werkzeug.exceptions import RequestEntityTooLarge

from remediator import metrics
from remediator.core.alerts import MalformedWebhook, ParsedWebhook, parse_webhook
from remediator.core.model import Rejection, Signal
from remediator.dispatcher import QueueFullError
from remediator.web.resolving import CannotTellError, NodeResolver
from remediator.web.services import Services

MAX_BODY_BYTES = 5 * 1024**2
TOO_LARGE = f"the body is over {MAX_BODY_BYTES} bytes; lower max_alerts in Alertmanager's webhook_config"
log = logging.getLogger(__name__)
Answer = tuple[Response, int]


@dataclass(frozen=True, slots=True)
class Usable:
    """Signals whose node is known, and every alert that is not one."""

    signals: tuple[Signal, ...]
    rejections: tuple[Rejection, ...]
    unresolved: int
    """Alerts of which nobody could say now which node they mean."""


def blueprint(services: Services) -> Blueprint:
    """Route POST /api/v1/alerts."""
    pages = Blueprint("webhook", __name__, url_prefix="/api/v1")
    resolver = NodeResolver(services.node_for)

    @pages.post("/alerts")
    def receive() -> Answer:
        if not services.webhook_auth.admits(request.headers.get("Authorization")):
            response, code = _answered("unauthorized", 401, error="the webhook's token is missing or wrong")
            response.headers["WWW-Authenticate"] = 'Bearer realm="remediator"'
            return response, code
        try:
            parsed = parse_webhook(_json(_body()), services.alert_names())
        except RequestEntityTooLarge:
            return _answered("too_large", 413, error=TOO_LARGE)
        except MalformedWebhook as malformed:
            return _answered("malformed", 400, error=str(malformed), field=malformed.field, fix=malformed.fix)
        return _queue(services, resolver, parsed)

    return pages


def _body() -> bytes:
    """The body; RequestEntityTooLarge over the cap, also when it is streamed without a length."""
    body = request.get_data(cache=False)
    if len(body) >= MAX_BODY_BYTES:
        raise RequestEntityTooLarge
    return body


def _json(body: bytes) -> object:
    """The decoded body; deep nesting and bad encodings are malformed too."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedWebhook(
            "body", f"is not JSON ({type(error).__name__}); send Alertmanager's webhook JSON"
        ) from None


def _queue(services: Services, resolver: NodeResolver, parsed: ParsedWebhook) -> Answer:
    usable = _resolved(resolver, parsed)
    for rejection in usable.rejections:
        metrics.ALERTS_REJECTED.labels(rejection.reason).inc()
    if parsed.truncated:
        metrics.ALERTS_TRUNCATED.inc(parsed.truncated)
        log.warning("Alertmanager left out %d alerts (max_alerts); they are read from Prometheus", parsed.truncated)
        services.dispatcher.resync_soon()
    if usable.unresolved:
        return _answered("unresolved", 503, error="the cluster does not answer which nodes are meant; send again")
    if not usable.signals:
        return _answered("unusable", 400, error="no usable alert", **_told(usable))
    try:
        services.dispatcher.submit_all(usable.signals)
    except QueueFullError as full:
        return _answered("queue_full", 503, error=f"the queue is full ({full}); send again")
    return _answered("accepted", 202, accepted=len(usable.signals), truncated=parsed.truncated, **_told(usable))


def _resolved(resolver: NodeResolver, parsed: ParsedWebhook) -> Usable:
    signals: list[Signal] = []
    rejections = list(parsed.rejections)
    unresolved, deadline = 0, resolver.deadline()
    for alert in parsed.signals:
        try:
            node = resolver.node(alert.labels, deadline)
        except CannotTellError:
            unresolved += 1
            continue
        if isinstance(node, Rejection):
            rejections.append(Rejection(node.reason, node.detail, alert.fingerprint))
        else:
            signals.append(alert.to_signal(node))
    return Usable(tuple(signals), tuple(rejections), unresolved)


def _told(usable: Usable) -> dict[str, object]:
    listed = [{"reason": str(r.reason), "detail": r.detail, "fingerprint": r.fingerprint} for r in usable.rejections]
    return {"rejected": len(listed), "rejections": listed[:100]}


def _answered(outcome: str, code: int, **content: object) -> Answer:
    metrics.WEBHOOKS_RECEIVED.labels(outcome).inc()
    return jsonify(content), code
