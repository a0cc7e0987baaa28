"""The product for a browser: real gunicorn, records in a simulated API server, memory and pods of the small world.

`python -m tests.pages.served PORT API_SERVER OPERATORS_FILE`
"""

import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from remediator.adapters.records import NodeRemediationRecords
from remediator.cli.composition import Composition
from remediator.cli.serving import Server
from remediator.config import Settings
from remediator.core.model import Level, Matcher, Mode, Silence, SilenceFacts
from remediator.core.policy import Policy
from remediator.core.trail import Trail
from remediator.dispatcher import Dispatcher
from remediator.reconciler.resyncing import Resync
from remediator.web.services import Services
from remediator.web.tokens import OperatorAuth, TokenFile
from tests.adapters.canned import api_of
from tests.reconciler.world import POLICY, Eyes, World

ASLEEP = Silence("s1", (Matcher("namespace", "payments"),), "release day", "bob", "2026-12-01T18:00:00Z")
LEVELS = {"n2": Level.ORANGE, "n3": Level.YELLOW, "n4": Level.GREEN, "n5": Level.GREEN, "n6": Level.GREEN}
FULL = {"n1": 0.94, "n2": 0.87, "n3": 0.78, "n4": 0.41, "n5": 0.55, "n6": 0.36}


def hour(node: str, now: float) -> list[tuple[float, float]]:
    """A node's last hour: it filled up, in waves."""
    end = FULL[node]
    return [(now - 60 * i, max(0.0, end - 0.004 * i + 0.03 * math.sin(i / 4) * (i > 0))) for i in range(60, -1, -1)]


def composition(api_server: str, operators: Path) -> Composition:
    """The product over these."""
    world = World()
    world.now, world.silences = time.time(), SilenceFacts((ASLEEP,))
    world.pods = {uid: (replace(each, created_at=world.now - 7200), size) for uid, (each, size) in world.pods.items()}
    records, eyes = NodeRemediationRecords(api_of(api_server)), Eyes(world)
    policy = replace(POLICY, mode=Mode.APPROVE)
    reconciler = world.replica("a", policy, records=records)
    resync = Resync(eyes, eyes, cast("Any", records), Policy().alert_names)
    dispatcher = Dispatcher(reconciler.reconcile, resync.wakes, resync_seconds=1.0)
    services = Services(
        dispatcher=dispatcher,
        alert_names=lambda: Policy().alert_names,
        node_for=lambda labels: labels["node"],
        records=records.all,
        levels=lambda: {"n1": world.level, **LEVELS},
        explain=reconciler.explain,
        clock=lambda: world.now,
        used_ratios=lambda: {node: hour(node, world.now) for node in FULL},
        silences=lambda: cast("SilenceFacts", world.silences),
        say=records.say,
        audit=lambda node, operator, word: None,
        trail=lambda asked: Trail((), ()),
        operator_auth=OperatorAuth(TokenFile(operators), local_operator=None),
        version="0.1.0",
    )
    outside = cast("Any", SimpleNamespace(close=lambda: None))
    return Composition(dispatcher, services, outside, ThreadPoolExecutor(1), reconciler.question)


def main(port: str, api_server: str, operators: str) -> None:
    """Serve until told to end."""
    settings = Settings.from_flags(
        prometheus="http://127.0.0.1:1", alertmanager="http://127.0.0.1:1", listen=f"127.0.0.1:{port}"
    )
    Server(settings, lambda: composition(api_server, Path(operators))).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
