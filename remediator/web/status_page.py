"""The page at `/`: nodes, levels, phases, last outcomes. Server-rendered, autoescaped, no script."""

from typing import Any

from flask import Blueprint, render_template

from remediator.web.overview import node_rows
from remediator.web.services import Services


def blueprint(services: Services) -> Blueprint:
    """Route /."""
    pages = Blueprint("status_page", __name__)

    @pages.get("/")
    def status() -> str:
        rows: list[dict[str, Any]] = []
        problem = ""
        try:
            rows = node_rows(services)
        except Exception as error:
            # The page must still come up when the cluster does not answer: that is when people look at it.
            problem = f"The cluster's records cannot be read: {type(error).__name__}"
        config = services.config()
        return render_template("status.html", rows=rows, problem=problem, version=services.version, config=config)

    pages.add_app_template_filter(mebibytes, "mebibytes")
    return pages


def mebibytes(size: int | None) -> str:
    """`1,234 MiB`, or a dash."""
    return "–" if size is None else f"{size / 2**20:,.0f} MiB"
