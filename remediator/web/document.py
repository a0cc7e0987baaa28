"""GET /api/v1/openapi.json: the API's own description, a file of this package that a test compares with the routes."""

from importlib import resources

from flask import Blueprint, Response


def blueprint() -> Blueprint:
    """The one route."""
    pages = Blueprint("document", __name__, url_prefix="/api/v1")
    text = resources.files("remediator.web").joinpath("openapi.json").read_bytes()

    @pages.get("/openapi.json")
    def openapi() -> Response:
        return Response(text, content_type="application/json")

    return pages
