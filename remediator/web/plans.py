"""JSON API for plans: what waits, approve, reject."""

import re

from flask import Blueprint, Response, jsonify

from remediator.core.model import Signal, SignalKind
from remediator.web.access import operator_or_refusal
from remediator.web.services import Services
from remediator.web.speaking import Said, spoken
from remediator.web.verdicts import WORDS, Refused, Verdict, past, plan_rows, taken

PLAN_ID = re.compile(r"[0-9a-f]{10}")
Answer = tuple[Response, int]


def blueprint(services: Services) -> Blueprint:
    """Routes under /api/v1/plans."""
    pages = Blueprint("plans", __name__, url_prefix="/api/v1/plans")

    @pages.get("")
    def plans() -> Response:
        return jsonify(plans=plan_rows(services.records(), services.clock()))

    @pages.post("/<plan_id>/approve")
    def approve(plan_id: str) -> Answer:
        return _answered(services, plan_id, Verdict.APPROVE)

    @pages.post("/<plan_id>/reject")
    def reject(plan_id: str) -> Answer:
        return _answered(services, plan_id, Verdict.REJECT)

    return pages


def _answered(services: Services, plan_id: str, verdict: Verdict) -> Answer:
    operator = operator_or_refusal(services)
    if not isinstance(operator, str):
        return operator
    if not PLAN_ID.fullmatch(plan_id):
        return jsonify(error=f"{plan_id!r} is no plan id: ten digits of 0-9a-f, as `remediator plans` shows them"), 400
    found = taken(services.records(), plan_id, verdict, services.clock())
    if isinstance(found, Refused):
        return jsonify(error=found.why), found.code
    approval = Signal(SignalKind.APPROVAL, found.node, operator=operator, plan_id=plan_id)
    said = Said(found.node, operator, {WORDS[verdict]: plan_id}, approval if verdict is Verdict.APPROVE else None)
    return spoken(services, said, {"plan": plan_id, "verdict": past(verdict)})
