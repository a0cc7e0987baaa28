"""The shipped stories, end to end: real Prometheus, real Alertmanager, the product under gunicorn."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from remediator.drill.scenario import shipped
from tests.acceptance.conftest import DRILL_SECONDS, Drilled
from tests.acceptance.remembered import remembered
from tests.acceptance.rights import Right, forbidden, granted, unused
from tests.dashboards.queries import questions

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(DRILL_SECONDS + 20)]
Run = Callable[[str], Drilled]

REPORTED = {
    "scenario",
    "passed",
    "speed",
    "wants",
    "levels",
    "evicted",
    "drained",
    "cordoned_at",
    "uncordoned_at",
    "protected_evicted",
    "peak_used_ratio",
    "after_used_ratio",
    "seconds_red_to_safe",
    "webhooks_received",
    "api_calls",
    "kubelet_order",
    "this_machine",
}

# Questions of the dashboards to which this story has no answer, and why that is right.
NOT_IN_THE_STORM = {
    "remediator.json: Caps and brakes: {{reason}}": "one node is in danger: no cap is reached",
    "remediator.json: Silenced: {{reason}}": "nobody silences",
    "remediator.json: Notifications that did not arrive: {{target}} dropped": "the queue is never full",
    "remediator.json: Notifications that did not arrive: {{target}} failed": "every target takes what it is told",
    "node.json: Koordinator's ledgers: {{resource}} requested": "Koordinator is not here",
    "node.json: Koordinator's ledgers: {{resource}} allocatable": "Koordinator is not here",
    "remediator.json: Webhooks and alerts: alert rejected: {{reason}}": "every alert is usable",
}

# Rights that this story has no use for, and who has.
UNUSED_IN_THE_STORM = {
    Right("patch", "", "events"): "nothing is told twice; a repeated Event raises its count, see tests/adapters",
}


@pytest.fixture(scope="module")
def storm(drilled: Run) -> Drilled:
    """One run of the founding story, for all that is asked of it."""
    return drilled("storm")


def as_wanted(drill: Drilled) -> None:
    """Every want holds, and the exit status says so."""
    assert not drill.failed_wants, f"logs in {drill.directory}/logs\n{drill.output}"
    assert drill.report["passed"] is True
    assert drill.status == 0
    assert not forbidden(drill.report["api_calls"]), "the chart grants too little"


@pytest.mark.xdist_group("storm")
def test_storm_ends_as_wanted(storm: Drilled) -> None:
    """A node driven to RED is relieved by moving batch work, and no service dies."""
    as_wanted(storm)


@pytest.mark.xdist_group("storm")
def test_storm_reports_what_others_read(storm: Drilled) -> None:
    """report.json has every documented key, and evictions carry what they were decided by."""
    assert set(storm.report) >= REPORTED
    assert set(storm.report["levels"]) == {"yellow_at", "orange_at", "red_at"}
    for want in storm.report["wants"]:
        assert set(want) >= {"what", "expected", "seen", "ok"}
    assert storm.report["evicted"]
    for pod in storm.report["evicted"]:
        assert set(pod) >= {"namespace", "name", "workload", "tier", "score", "bytes", "at"}
    assert storm.report["webhooks_received"] > 0


@pytest.mark.xdist_group("storm")
def test_storm_shows_whom_the_kubelet_would_have_taken(storm: Drilled) -> None:
    """The kubelet's own order would have reached the broker, which ours never does."""
    names = [pod["workload"] for pod in storm.report["kubelet_order"]]
    assert "middleware/StatefulSet/kafka" in names[:4]
    assert "middleware/StatefulSet/kafka" not in [pod["workload"] for pod in storm.report["evicted"]]


@pytest.mark.xdist_group("storm")
def test_storm_watches_this_machine(storm: Drilled) -> None:
    """Real cgroups and /proc pass through the same rules: level, score, biggest cgroups, and nothing is done."""
    machine = storm.report["this_machine"]
    assert machine["level"] in ("GREEN", "YELLOW", "ORANGE", "RED")
    assert 0 <= machine["score"] <= 100
    assert machine["biggest_cgroups"]
    assert all(event["node"] != "this-machine" for event in storm.report["evicted"] if "node" in event)


@pytest.mark.xdist_group("storm")
def test_storm_page_stands_alone(storm: Drilled) -> None:
    """report.html needs no network: no script, style, image or font from elsewhere, and it draws the node."""
    page = (storm.directory / "report.html").read_text()
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)[^"']+""", page)
    assert "@import" not in page
    assert "<svg" in page
    assert "node-1" in page
    for pod in storm.report["evicted"]:
        assert pod["name"] in page


@pytest.mark.xdist_group("storm")
def test_storm_fills_the_dashboards(storm: Drilled) -> None:
    """Every question of every dashboard has an answer in the drill's Prometheus, but for those named with a reason."""
    with remembered(storm.directory, storm.report["speed"]) as prometheus:
        empty = {q.place for q in questions(rate_interval="10s") if not prometheus.points(q.expression)}
    assert empty - set(NOT_IN_THE_STORM) == set()


@pytest.mark.xdist_group("storm")
def test_storm_uses_every_right_it_has(storm: Drilled) -> None:
    """What the chart grants for a policy that enforces is what the story calls, but for those named with a reason."""
    rights = granted(storm.directory / "chart.yaml")
    assert Right("create", "", "pods/eviction") in rights
    assert unused(rights, storm.report["api_calls"]) == set(UNUSED_IN_THE_STORM)


@pytest.mark.xdist_group("spike")
def test_spike_is_told_and_nothing_else(drilled: Run) -> None:
    """Ninety seconds at 90 % reach YELLOW, one notification, and nothing is touched."""
    as_wanted(drilled("spike"))


@pytest.mark.xdist_group("pdb")
def test_budget_is_respected(drilled: Run) -> None:
    """A candidate held by a budget stays and the next one is taken."""
    as_wanted(drilled("pdb"))


@pytest.mark.xdist_group("silenced")
def test_silences_pause_remediation(drilled: Run) -> None:
    """A silence on the node stops everything until it ends, one on a namespace keeps its pods."""
    as_wanted(drilled("silenced"))


@pytest.mark.xdist_group("approve")
def test_nothing_is_done_before_a_human_approves(drilled: Run) -> None:
    """A plan waits at RED, is approved over the API, and runs as it was approved."""
    as_wanted(drilled("approve"))


@pytest.mark.xdist_group("two-nodes")
def test_two_nodes_are_relieved_at_once(drilled: Run) -> None:
    """Two of ten nodes RED at once: both are relieved, the storm brake stays off."""
    as_wanted(drilled("two-nodes"))


@pytest.mark.xdist_group("storm-brake")
def test_many_red_nodes_stop_all_evictions(drilled: Run) -> None:
    """Four of ten nodes RED at once: nothing is evicted anywhere."""
    as_wanted(drilled("storm-brake"))


@pytest.mark.xdist_group("koordinator-usage")
def test_koordinators_strategies_act_on_use(drilled: Run) -> None:
    """Thresholds of Koordinator's own ConfigMap, its order, its Events."""
    drill = drilled("koordinator-usage")
    as_wanted(drill)
    to_read = {right for right in granted(drill.directory / "chart.yaml") if right.resource == "configmaps"}
    assert to_read == {Right("get", "", "configmaps", "koordinator-system")}
    assert unused(to_read, drill.report["api_calls"]) == set()


@pytest.mark.xdist_group("koordinator-ledger")
def test_a_ledger_at_zero_is_acted_on_after_a_while(drilled: Run) -> None:
    """The story of Koordinator's documentation; a moment at zero is not believed."""
    as_wanted(drilled("koordinator-ledger"))


@pytest.mark.xdist_group("scaling")
def test_scaling_down_gives_memory_and_the_replicas_come_back(drilled: Run) -> None:
    """Nobody is evicted; the rights to scale are granted for such a policy, and all of them are used."""
    drill = drilled("scaling")
    as_wanted(drill)
    rights = granted(drill.directory / "chart.yaml")
    to_scale = {right for right in rights if right.group == "apps" and right.verb in ("get", "patch")}
    assert len(to_scale) == 8
    assert unused(to_scale, drill.report["api_calls"]) == set()


@pytest.mark.xdist_group("unfulfilled")
def test_unfulfilled_want_fails_the_drill(drilled: Run, tmp_path: Path) -> None:
    """A want that does not hold makes `passed` false and the exit status 1."""
    story = tmp_path / "calm.yaml"
    story.write_text(
        "name: calm\ntitle: Nothing happens\nduration: 1m\nfocus: node-1\n"
        "nodes:\n  - {name: node-1, memory: 8Gi, system: 1Gi}\n"
        "workloads: []\n"
        "wants:\n  - {what: evicted.count, equals: 1}\n  - {what: levels.red_at, equals: null}\n"
    )
    drill = drilled(str(story))
    assert drill.status == 1
    assert drill.report["passed"] is False
    assert [want["ok"] for want in drill.report["wants"]] == [False, True]


def test_every_shipped_story_is_rehearsed_here() -> None:
    """A new shipped scenario needs its test in this file."""
    text = Path(__file__).read_text()
    assert [name for name in shipped() if f'drilled("{name}")' not in text] == []
