"""JSON API for people and scripts: nodes, explain, release."""

import re
from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, jsonify

from remediator.core.model import Isolation, Signal, SignalKind
from remediator.core.reason import Reason
from remediator.dispatcher import QueueFullError
from remediator.web.access import operator_or_refusal
from remediator.web.overview import node_rows
from remediator.web.services import Services

NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
Answer = tuple[Response, int]


def blueprint(services: Services) -> Blueprint:
    """Routes under /api/v1/nodes."""
    pages = Blueprint("api", __name__, url_prefix="/api/v1")

    @pages.get("/nodes")
    def nodes() -> Response:
        return jsonify(nodes=node_rows(services), config=services.config())

    @pages.get("/nodes/<name>")
    def node(name: str) -> Answer:
        if not NODE_NAME.fullmatch(name):
            return _no_name(name)
        told = services.explain(name)
        return jsonify(told), 404 if _nobody_knows(told) else 200

    @pages.post("/nodes/<name>/release")
    def release(name: str) -> Answer:
        if not NODE_NAME.fullmatch(name):
            return _no_name(name)
        operator = operator_or_refusal(services)
        return _release(services, name, operator) if isinstance(operator, str) else operator

    return pages


def _release(services: Services, name: str, operator: str) -> Answer:
    record = next((each for each in services.records() if each.node == name), None)
    if record is None or (record.state.isolation is Isolation.NONE and not record.state.drained):
        return jsonify(error=f"nothing of ours is on node {name}, so there is nothing to release"), 409
    episode = record.state.isolation_episode_id or record.state.episode_id
    try:
        services.dispatcher.submit(Signal(SignalKind.RELEASE, name, operator=operator, plan_id=episode))
    except QueueFullError as full:
        return jsonify(error=f"{full}; try again"), 503
    return jsonify(node=name, operator=operator, isolation=record.state.isolation, accepted=True), 202


def _nobody_knows(told: Mapping[str, Any]) -> bool:
    """Neither the cluster nor the rules have heard of the node."""
    cluster, memory = told.get("cluster", {}), told.get("memory", {})
    return cluster.get("reason") == Reason.NODE_UNKNOWN and "unknown" in memory


def _no_name(name: str) -> Answer:
    return jsonify(error=f"{name!r} is not a node name"), 400
