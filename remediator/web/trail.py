"""GET /api/v1/audit: what was decided, announced, done and said, newest first, a page at a time, of all replicas."""

from flask import Blueprint, Response, jsonify, request

from remediator.core.trail import Trail
from remediator.core.trail_parameters import TrailParameterError, cursor, from_parameters
from remediator.web.services import Services

Answer = tuple[Response, int]


def blueprint(services: Services) -> Blueprint:
    """The one route."""
    pages = Blueprint("trail", __name__, url_prefix="/api/v1")

    @pages.get("/audit")
    def audit() -> Answer:
        try:
            asked = from_parameters(request.args.items(multi=True))
        except TrailParameterError as refused:
            return jsonify(error=str(refused)), 400
        return jsonify(_told(services.trail(asked))), 200

    return pages


def _told(trail: Trail) -> dict[str, object]:
    return {
        "records": list(trail.records),
        "servers": list(trail.servers),
        "missing": [{"server": each.server, "why": each.why} for each in trail.missing],
        "next": None if trail.next is None else cursor(trail.next),
    }
