"""Liveness, readiness and metrics.

`/healthz` asks whether the engine moves; `/readyz` whether the outside is there (Prometheus, cluster,
rights, rules). Checks run side by side with one deadline and are remembered for a few seconds, so that
probes cost nothing.
"""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait

from flask import Blueprint, Response, jsonify
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from remediator.web.services import Check, Services


class Readiness:
    """Answers of the checks, at most `remember_seconds` old."""

    def __init__(
        self, checks: Mapping[str, Check], *, remember_seconds: float = 5.0, deadline_seconds: float = 3.0
    ) -> None:
        self._checks, self._remember_seconds, self._deadline_seconds = (
            checks,
            remember_seconds,
            deadline_seconds,
        )
        self._pool = ThreadPoolExecutor(max(1, len(checks)), thread_name_prefix="readiness")
        self._lock = threading.Lock()
        self._asked_at: float | None = None
        self._answers: dict[str, str] = {}

    def answers(self) -> dict[str, str]:
        """Check -> problem (empty: fine)."""
        with self._lock:
            now = time.monotonic()
            if self._asked_at is None or now - self._asked_at >= self._remember_seconds:
                self._answers, self._asked_at = self._ask(), time.monotonic()
            return self._answers

    def _ask(self) -> dict[str, str]:
        asked = {name: self._pool.submit(check) for name, check in self._checks.items()}
        wait(asked.values(), timeout=self._deadline_seconds)
        answers: dict[str, str] = {}
        for name, future in asked.items():
            if not future.done():
                answers[name] = f"no answer within {self._deadline_seconds:g} s"
            elif (error := future.exception()) is not None:
                answers[name] = f"{type(error).__name__}: {error}"
            else:
                answers[name] = future.result()
        return answers


def blueprint(services: Services) -> Blueprint:
    """Routes /healthz, /readyz, /metrics."""
    pages = Blueprint("health", __name__)
    readiness = Readiness(services.ready_checks)

    @pages.get("/healthz")
    def healthz() -> tuple[Response, int]:
        stuck = services.dispatcher.seconds_without_progress()
        alive = stuck < services.stuck_after_seconds
        return jsonify(alive=alive, seconds_without_progress=round(stuck, 1)), 200 if alive else 503

    @pages.get("/readyz")
    def readyz() -> tuple[Response, int]:
        answers = dict(readiness.answers())
        answers["dispatcher"] = "stopping" if services.dispatcher.stopping else ""
        ready = not any(answers.values())
        return jsonify(ready=ready, checks={name: why or "ok" for name, why in answers.items()}), 200 if ready else 503

    @pages.get("/metrics")
    def exposition() -> Response:
        return Response(generate_latest(), content_type=CONTENT_TYPE_LATEST)

    return pages
