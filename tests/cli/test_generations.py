"""A new policy means a new generation; what comes of the file is told."""

from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from remediator.cli.generations import Generation, Generations
from remediator.config import load_policy
from remediator.config.watched import WatchedPolicy
from remediator.core.model import Level
from remediator.reconciler.gauging import StrategyGauges
from remediator.reconciler.resyncing import Resync
from remediator.reconciler.roll_call import RollCall
from remediator.reconciler.telling import Teller
from tests.reconciler.world import Eyes, Mouth, Shelf, World, alert


class Running:
    """Generations over the small world, with a policy file."""

    def __init__(self, directory: Path) -> None:
        self.world, self.file = World(), directory / "policy.yaml"
        self.file.write_text("mode: observe\n")
        eyes = Eyes(self.world)

        def build(watched: WatchedPolicy) -> Generation:
            resync = Resync(eyes, eyes, Shelf(self.world), watched.policy.alert_names)
            teller = Teller(mouth, mouth, mouth, watched.policy, identity="a", config_hash=watched.config_hash)
            return Generation(self.world.replica("a", watched.policy), resync, teller)

        mouth = Mouth(self.world)
        watched = WatchedPolicy(load_policy(self.file), self.file, lambda: 5.0)
        gauges, roll_call = StrategyGauges(eyes), RollCall(eyes, clock=lambda: 7.0, monotonic=lambda: self.world.now)
        self.generations = Generations(watched, build, mouth, mouth, "remediator", gauges, roll_call)

    def modes(self) -> list[str]:
        """Modes of the acts that were audited so far."""
        return [str(line["mode"]) for line in self.world.audit if line["kind"] == "intent"]


@pytest.fixture
def running(tmp_path: Path) -> Running:
    """Started in observe mode."""
    return Running(tmp_path)


GOOD = """
mode: enforce
safe_used_ratio: 0.62
safeguards: {min_pod_share_ratio: 0}
business: [{namespace: batch, tier: offline}]
"""


def test_the_next_pass_has_the_new_policy(running: Running) -> None:
    """Nothing is evicted in observe mode; after the change the same node is relieved."""
    running.generations.reconcile(alert(Level.RED))
    assert not running.world.evictions
    running.file.write_text(GOOD)
    running.generations.wakes()
    running.world.records.clear()
    running.generations.reconcile(alert(Level.RED))
    assert running.world.evictions
    assert set(running.modes()) >= {"enforce"}


def test_a_bad_file_is_told_in_every_way_and_changes_nothing(running: Running) -> None:
    """Metric, notice, Event and the API's words; once, however often the file is looked at."""
    before = running.generations.now
    running.file.write_text("mode: enforse\n")
    for _ in range(3):
        running.generations.wakes()
    assert running.generations.now is before
    assert REGISTRY.get_sample_value("remediator_config_valid") == 0
    told = running.generations.told()
    assert told["valid"] is False and "enforse" in str(told["problems"])
    assert [notice.severity for notice in running.world.notices] == ["critical"]
    assert [event for event in running.world.events if "PolicyRefused" in event]
    running.file.write_text("mode: observe\n")
    running.generations.wakes()
    assert REGISTRY.get_sample_value("remediator_config_valid") == 1


def test_the_audit_says_every_five_minutes_that_somebody_watches(running: Running) -> None:
    """At once, and again when the time is over; the nodes by level, those above GREEN by name with their peak."""
    for seconds in (0, 299, 1, 299):
        running.world.now += seconds
        running.generations.wakes()
    told = [line for line in running.world.audit if line["kind"] == "watching"]
    assert len(told) == 2
    assert (told[0]["nodes"], told[0]["levels"]["RED"], told[0]["mode"]) == (6, 1, "observe")
    assert told[0]["above"] == {"n1": {"level": "RED", "peak_used_ratio": 0.9375}}
