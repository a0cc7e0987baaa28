"""A server under real gunicorn over the fake world: `python -m tests.web.served PORT DIRECTORY`.

While DIRECTORY/hold exists every act waits; acts are appended to DIRECTORY/acts.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from remediator.cli.composition import Composition
from remediator.cli.serving import Server
from remediator.config import Settings
from remediator.core.model import SilenceFacts
from remediator.core.policy import Policy
from remediator.core.state import Action
from remediator.core.trail import Trail
from remediator.dispatcher import Dispatcher
from remediator.web.services import Services
from tests.reconciler.world import POLICY, World


def composition(directory: Path) -> Composition:
    """The product over a world in this process."""
    world = World()

    def act(action: Action) -> None:
        with (directory / "acts").open("a") as acts:
            acts.write(f"{action.key}\n")
        while (directory / "hold").exists():
            time.sleep(0.01)

    world.before_act = act
    dispatcher: Dispatcher
    reconciler = world.replica("a", POLICY, stopping=lambda: dispatcher.stopping)
    dispatcher = Dispatcher(reconciler.reconcile, tuple, on_stop=(directory / "stopped").touch)
    services = Services(
        dispatcher=dispatcher,
        alert_names=lambda: Policy().alert_names,
        node_for=lambda labels: labels["node"],
        records=lambda: list(world.records.values()),
        levels=lambda: {"n1": world.level},
        explain=reconciler.explain,
        clock=time.time,
        used_ratios=dict,
        silences=SilenceFacts,
        say=world.say,
        audit=lambda node, operator, word: None,
        trail=lambda asked: Trail((), ()),
    )
    outside = cast("Any", SimpleNamespace(close=lambda: None))
    return Composition(dispatcher, services, outside, ThreadPoolExecutor(1), reconciler.question)


def main(port: str, directory: str) -> None:
    """Serve until told to end."""
    settings = Settings.from_flags(
        prometheus="http://127.0.0.1:1", alertmanager="http://127.0.0.1:1", listen=f"127.0.0.1:{port}"
    )
    Server(settings, lambda: composition(Path(directory))).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
