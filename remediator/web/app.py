"""The Flask application: routes put together, limits, headers, errors as JSON.

No decision is taken in this layer.
"""

import logging

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException

from remediator.web import api, document, health, plans, status_page, trail, webhook
from remediator.web.services import Services

log = logging.getLogger(__name__)
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def create_app(services: Services) -> Flask:
    """WSGI application over running services."""
    app = Flask("remediator.web")
    app.config["MAX_CONTENT_LENGTH"] = webhook.MAX_BODY_BYTES
    for part in (webhook, api, plans, trail, health, status_page):
        app.register_blueprint(part.blueprint(services))
    app.register_blueprint(document.blueprint())
    app.after_request(_guarded)
    app.register_error_handler(HTTPException, _told)
    app.register_error_handler(Exception, _failed)
    return app


def _guarded(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _told(error: HTTPException) -> tuple[Response, int]:
    """Errors of the framework (404, 405, 413, ...) in the API's own shape."""
    code = error.code or 500
    sentence = error.description or error.name
    return jsonify(error=sentence, path=request.path), code


def _failed(error: Exception) -> tuple[Response, int]:
    """What is behind us did not answer (or we have a bug): not the caller's fault, and worth a repeat."""
    log.error("%s %s failed", request.method, request.path, exc_info=error)
    return jsonify(error=f"cannot be answered now: {type(error).__name__}: {error}", path=request.path), 503
