"""JSON API of nodes, for people and scripts: list, explain, release, pause, resume, mode."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request

from remediator.core.model import Isolation, Mode, Signal, SignalKind, Unknown
from remediator.core.reason import Reason
from remediator.web.access import operator_or_refusal
from remediator.web.overview import node_rows, silence_rows
from remediator.web.services import Services
from remediator.web.speaking import Said, spoken

NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
Answer = tuple[Response, int]


def blueprint(services: Services) -> Blueprint:
    """Routes under /api/v1/nodes, and /api/v1/silences."""
    pages = Blueprint("api", __name__, url_prefix="/api/v1")

    @pages.get("/nodes")
    def nodes() -> Response:
        return jsonify(nodes=node_rows(services, services.records()), config=services.config())

    @pages.get("/silences")
    def silences() -> Response:
        return jsonify(silences=silence_rows(services))

    @pages.get("/nodes/<name>")
    def node(name: str) -> Answer:
        if not NODE_NAME.fullmatch(name):
            return _no_name(name)
        told = services.explain(name)
        return jsonify(told), 404 if _nobody_knows(told) else 200

    @pages.post("/nodes/<name>/release")
    def release(name: str) -> Answer:
        return _by_operator(services, name, _release)

    @pages.post("/nodes/<name>/pause")
    def pause(name: str) -> Answer:
        return _by_operator(services, name, _pause)

    @pages.post("/nodes/<name>/resume")
    def resume(name: str) -> Answer:
        return _by_operator(services, name, _resume)

    @pages.post("/nodes/<name>/mode")
    def mode(name: str) -> Answer:
        return _by_operator(services, name, _mode)

    return pages


def _by_operator(services: Services, name: str, act: Callable[[Services, str, str], Answer]) -> Answer:
    if not NODE_NAME.fullmatch(name):
        return _no_name(name)
    operator = operator_or_refusal(services)
    return act(services, name, operator) if isinstance(operator, str) else operator


def _pause(services: Services, name: str, operator: str) -> Answer:
    told = {"paused": True}
    return spoken(services, Said(name, operator, told), told) if _known(services, name) else _unknown(name)


def _resume(services: Services, name: str, operator: str) -> Answer:
    told = {"paused": False}
    return spoken(services, Said(name, operator, told), told) if _known(services, name) else _unknown(name)


def _mode(services: Services, name: str, operator: str) -> Answer:
    body = _body()
    wanted = body.get("mode", "") if isinstance(body, dict) else ""
    if wanted is not None and wanted not in [mode.value for mode in Mode]:
        choice = ", ".join(mode.value for mode in Mode)
        return jsonify(error=f"mode must be one of {choice}, or null for what label and policy say"), 400
    told = {"mode": wanted}
    return spoken(services, Said(name, operator, told), told) if _known(services, name) else _unknown(name)


def _body() -> object:
    try:
        return request.get_json()
    except RecursionError:
        abort(400, "the body is nested too deeply")


def _known(services: Services, name: str) -> bool:
    """A record or a level names the node; a typo must not become a record."""
    levels = services.levels()
    return name in (() if isinstance(levels, Unknown) else levels) or any(r.node == name for r in services.records())


def _unknown(name: str) -> Answer:
    return jsonify(
        error=f"no node {name} is known: neither a record nor the rules name it; see `remediator status`"
    ), 404


def _release(services: Services, name: str, operator: str) -> Answer:
    record = next((each for each in services.records() if each.node == name), None)
    if record is None or (record.state.isolation is Isolation.NONE and not record.state.drained):
        return jsonify(error=f"nothing of ours is on node {name}, so there is nothing to release"), 409
    episode = record.state.isolation_episode_id or record.state.episode_id
    signal = Signal(SignalKind.RELEASE, name, operator=operator, plan_id=episode)
    return spoken(services, Said(name, operator, {"release": episode}, signal), {"isolation": record.state.isolation})


def _nobody_knows(told: Mapping[str, Any]) -> bool:
    """Neither the cluster nor the rules have heard of the node."""
    cluster, memory = told.get("cluster", {}), told.get("memory", {})
    return cluster.get("reason") == Reason.NODE_UNKNOWN and "unknown" in memory


def _no_name(name: str) -> Answer:
    return jsonify(error=f"{name!r} is not a node name"), 400
