"""Guards of routes that change something: a named operator, and no tricked browser."""

from urllib.parse import urlsplit

from flask import Response, jsonify, request

from remediator.config.settings import is_loopback
from remediator.web.services import Services

Refusal = tuple[Response, int]


def operator_or_refusal(services: Services) -> str | Refusal:
    """The operator's name, or the answer to give.

    A browser sends `application/json` across origins only after asking, which is never granted; and where no
    token is asked for (loopback), the Host must be loopback too, against DNS rebinding.
    """
    if not request.is_json:
        return jsonify(error="send Content-Type: application/json"), 415
    if services.operator_auth.open and not is_loopback(urlsplit(f"//{request.host}").hostname or ""):
        return jsonify(error="without --operator-tokens-file only http://127.0.0.1 may be used"), 403
    operator = services.operator_auth.operator(request.headers.get("Authorization"))
    if operator is None:
        return jsonify(error="a named operator's token is needed: Authorization: Bearer TOKEN"), 401
    return operator
