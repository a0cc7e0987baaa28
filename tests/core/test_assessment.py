"""Before against after: the five outcomes."""

from dataclasses import replace

import pytest
from core_world import GI, T0, World, memory, situation, storm_policy

from remediator.core.assessment import assess
from remediator.core.model import Level, PodPlacement, Unknown, WorkloadFacts, WorkloadRef
from remediator.core.state import EvictionRecord, NodeState, Outcome, OutcomeKind

SPARK = WorkloadRef("batch", "Job", "spark")


def outcome(
    after_gib: float, *, growth: float | None = None, successor: PodPlacement | None = None, raised: bool = False
) -> Outcome:
    """21 GiB were expected from 59.5 of 64 used; this much is used 60 s later."""
    record = EvictionRecord("batch", "s", "u", str(SPARK), "n1", "p", T0 - 60, 21 * GI, gone_at=T0 - 50, episode_id="e")
    state = NodeState(
        episode_id="e",
        evictions=(record,),
        round_started_at=T0 - 61,
        available_bytes_before=round(4.5 * GI),
        used_ratio_before=0.93,
        level_before=Level.RED,
    )
    world = World.storm(10, state=state)
    if raised:
        world.fleet_levels = {"n2": Level.ORANGE, "n3": Level.GREEN}
    obs = world.observe()
    assert not isinstance(obs.cluster, Unknown)
    facts = WorkloadFacts(SPARK, 2, 2, pods=(successor,) if successor else ())
    cluster = replace(obs.cluster, workloads={**obs.cluster.workloads, SPARK: facts})
    mem = memory(Level.YELLOW, 64 * GI, (64 - after_gib) * GI, growth_bytes_per_second=growth)
    s = situation(replace(obs, cluster=cluster, memory=mem), storm_policy(), state)
    return assess(s, mem)


@pytest.mark.parametrize(
    ("after_gib", "growth", "successor", "raised", "kind"),
    [
        (38.5, None, None, False, OutcomeKind.RELIEVED),
        (45.0, None, None, False, OutcomeKind.PARTLY),
        (58.0, None, None, False, OutcomeKind.NO_EFFECT),
        (59.5, None, None, False, OutcomeKind.NO_EFFECT),
        (58.0, 0.3 * GI, None, False, OutcomeKind.REBOUNDED),
        (58.0, 0.01 * GI, None, False, OutcomeKind.NO_EFFECT),
        (58.0, None, PodPlacement("v", "n1", True, T0 - 40), False, OutcomeKind.REBOUNDED),
        (58.0, None, PodPlacement("v", "n1", True, T0 - 400), False, OutcomeKind.NO_EFFECT),
        (38.5, None, PodPlacement("v", "n2", True, T0 - 40), True, OutcomeKind.MOVED),
        (38.5, None, PodPlacement("v", "n2", True, T0 - 40), False, OutcomeKind.RELIEVED),
        (38.5, None, PodPlacement("v", "n3", True, T0 - 40), True, OutcomeKind.RELIEVED),
        (38.5, None, PodPlacement("v", "n2", True, T0 - 400), True, OutcomeKind.RELIEVED),
    ],
)
def test_five_outcomes(
    after_gib: float, growth: float | None, successor: PodPlacement | None, raised: bool, kind: OutcomeKind
) -> None:
    """Relieved, partly, no effect, rebounded, moved."""
    assert outcome(after_gib, growth=growth, successor=successor, raised=raised).kind is kind


def test_an_outcome_has_its_figures() -> None:
    """Released against expected, before and after."""
    found = outcome(38.5)
    assert found.released_bytes == pytest.approx(21 * GI, abs=2)
    assert found.expected_bytes == 21 * GI
    assert (found.level_before, found.level_after) == (Level.RED, Level.YELLOW)
    assert found.used_ratio_after == pytest.approx(38.5 / 64)
    assert found.workloads == (str(SPARK),)
