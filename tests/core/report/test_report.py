"""The observe report: what each part counts, and what it says of periods that carry no decision."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from remediator.config.policy_file import load_policy
from remediator.core.reason import Reason
from remediator.core.report import Report, report
from remediator.core.report.advice import HELD_ADVICE, KEPT_ADVICE
from remediator.core.report.values import STRIP
from tests.core.report.audit_lines import (
    GIB,
    by_time,
    decision,
    kubelet_eviction,
    level,
    line,
    oom_kill,
    outcome,
    result,
    step,
    untouched,
    watched,
    watching,
)

HOUR, DAY = 3600.0, 86_400.0
STORM = [
    level(600, "n1", "YELLOW", "GREEN", 0.76),
    level(900, "n1", "ORANGE", "YELLOW", 0.86),
    level(1080, "n1", "RED", "ORANGE", 0.93),
    level(1380, "n1", "GREEN", "RED", 0.60),
]


def of(lines: list[dict[str, Any]], until: float = HOUR, since: float = 0.0) -> Report:
    """The report of these lines, whatever their order."""
    return report(by_time(lines), since, until)


# --- what was covered -----------------------------------------------------------------------------------------


def test_a_period_in_which_nothing_was_written_says_so() -> None:
    """Nothing is covered, the whole is a gap, and the advice is to wait."""
    found = of([], 14 * DAY)
    assert found.summary.startswith("Nothing was written")
    assert (found.coverage.covered_seconds, found.coverage.gaps_total) == (0, 1)
    assert [each.id for each in found.recommendations] == ["wait"]
    assert found.recommendations[0].figure == "covered 0 s of 14.0 days"


def test_quiet_days_are_told_from_unwatched_ones_by_roll_calls() -> None:
    """Three days with roll calls, a day without, then an hour: the day is the gap."""
    late = [watching(4 * DAY + at) for at in range(0, 3600, 300)]
    found = of([*watched(3 * DAY), *late], 4 * DAY + HOUR)
    assert found.coverage.covered_seconds == pytest.approx(3 * DAY + HOUR - 300)
    assert [(gap.since, gap.until) for gap in found.coverage.gaps] == [(3 * DAY - 300, 4 * DAY)]
    assert "nobody watched (1 gap" in found.caveats[0]


def test_one_replica_covers_for_another() -> None:
    """Coverage is that of all replicas together; each is listed with its own lines and starts."""
    first = [watching(at, replica="a") for at in range(0, 1800, 300)]
    second = [watching(at, replica="b", started_at=1500.0) for at in range(1500, 3600, 300)]
    second += [watching(3300, replica="b", started_at=3299.0)]
    found = of([*first, *second])
    assert found.coverage.covered_seconds == HOUR
    assert [(each.name, each.starts) for each in found.coverage.replicas] == [("a", 0), ("b", 2)]


def test_blindness_of_prometheus_is_time_that_was_not_seen() -> None:
    """Covered, for somebody watched; blind, for he saw nothing; and the advice says to mend it."""
    calls = watched(900) + [watching(at, unknown="gone", nodes=None, levels={}) for at in range(900, 3600, 300)]
    found = of(calls)
    assert (found.coverage.covered_seconds, found.coverage.blind_seconds) == (HOUR, 2700)
    assert "see" in [each.id for each in found.recommendations]


def test_lines_that_cannot_be_read_are_counted_and_do_no_harm() -> None:
    """Whatever stands in them, the others count."""
    broken: list[Any] = [
        {},
        {"kind": "level"},
        {"kind": 3, "at": 5},
        line("decision", 5, node="n1"),
        line("decision", float("nan")),
        line("level", 5, node="n1", level="PURPLE", level_before=None),
        line("oom_kill", 5, **{"class": "other"}),
        line("watching", 5, every_seconds="x"),
    ]
    found = report([*broken, *STORM], 0.0, HOUR)
    assert found.coverage.unreadable_lines == len(broken)
    assert found.nodes[0].times["RED"] == 1
    assert f"{len(broken)} lines could not be read" in " ".join(found.caveats)


def test_kinds_of_another_release_count_as_lines_and_say_nothing() -> None:
    """A newer replica may write what this one does not know."""
    found = of([line("dance", 5), *STORM])
    assert (found.coverage.unreadable_lines, found.coverage.lines) == (0, 5)


# --- levels ---------------------------------------------------------------------------------------------------


def test_a_spell_is_counted_once_and_each_level_by_its_times_and_seconds() -> None:
    """From YELLOW over RED to GREEN: one spell; a jump to RED counts for the levels below as well."""
    again = [level(2000, "n1", "RED", "GREEN", 0.97), level(2060, "n1", "GREEN", "RED", 0.5)]
    (node,) = of([*watched(HOUR, [*STORM, *again]), *STORM, *again]).nodes
    assert (node.spells, dict(node.times)) == (2, {"YELLOW": 2, "ORANGE": 2, "RED": 2})
    assert dict(node.seconds) == {"YELLOW": 300, "ORANGE": 180, "RED": 360}
    assert (node.worst_used_ratio, node.worst_at) == (0.97, 2000)


def test_what_lasts_is_counted_by_roll_calls_also_without_a_change() -> None:
    """A node that was RED before the period and is so after it: the whole period, with the peaks between the calls."""
    calls = [watching(at, {"n1": ("RED", 0.9 + at / 1e6)}) for at in range(0, 3600, 300)]
    (node,) = of(calls).nodes
    assert (node.seconds["RED"], dict(node.times)) == (HOUR, {"YELLOW": 0, "ORANGE": 0, "RED": 0})
    assert node.worst_used_ratio == pytest.approx(0.9033)
    assert set(node.strip) == {3} and len(node.strip) == STRIP


def test_a_roll_call_that_is_faster_than_the_pass_makes_nothing_longer() -> None:
    """It sees RED three seconds before the pass tells of it: the node was GREEN at the call before."""
    rise, fall = level(603, "n1", "RED", "GREEN"), level(900, "n1", "GREEN", "RED")
    (node,) = of([watching(0), watching(300), watching(600, {"n1": ("RED", 0.9)}), rise, fall]).nodes
    assert (node.spells, node.times["RED"], node.seconds["RED"]) == (1, 1, 297)


def test_a_level_does_not_last_while_nobody_looks() -> None:
    """A gap is no RED, though the node was RED before and after it."""
    calls = [watching(0, {"n1": ("RED", 0.9)}), watching(3300, {"n1": ("RED", 0.9)})]
    (node,) = of(calls).nodes
    assert node.seconds["RED"] == 300


# --- who stood in the way -------------------------------------------------------------------------------------


def spell(at: float, node: str, *rows: dict[str, Any], looks: int = 1) -> list[dict[str, Any]]:
    """A spell at RED in which decisions found these workloads in the way."""
    return [
        level(at, node, "RED", "GREEN"),
        *(decision(at + 1 + n, node, "RED", untouched=list(rows)) for n in range(looks)),
        level(at + 60, node, "GREEN", "RED"),
    ]


def test_undeclared_workloads_are_counted_by_spells_and_the_largest_comes_first() -> None:
    """However many decisions a spell has; top counts where it held more than all others that could not be touched."""
    api, cache = untouched("shop/Deployment/api", 3 * GIB), untouched("shop/StatefulSet/cache", 2 * GIB)
    kafka = untouched("data/StatefulSet/kafka", 8 * GIB, "tier_critical", tier="critical")
    found = of([*spell(100, "n1", kafka, api, cache, looks=5), *spell(1000, "n1", api), *spell(1000, "n2", cache)])
    first, second = found.undeclared
    assert (first.workload, first.spells, first.top_spells, first.mean_bytes) == (api["workload"], 2, 1, 3 * GIB)
    assert (second.workload, second.spells, second.top_spells, second.nodes) == (cache["workload"], 2, 1, ("n1", "n2"))
    assert {row.reason: (row.spells, row.most_bytes) for row in found.kept} == {
        "tier_critical": (1, 8 * GIB),
        "undeclared": (3, 5 * GIB),
    }
    assert "2 undeclared workloads (up to 3.0 GiB) stand in the way" in found.summary


@pytest.mark.parametrize(
    ("row", "tier"),
    [
        (untouched("db/StatefulSet/pg", 1), "important"),
        (untouched("x/Deployment/batchy", 1, priority=-5), "low"),
        (untouched("x/Deployment/besteffort", 1, qos="BestEffort"), "low"),
        (untouched("x/Deployment/web", 1), "standard"),
    ],
)
def test_a_suggested_tier_errs_on_the_side_of_the_workload(row: dict[str, Any], tier: str) -> None:
    """By kind, priority and QoS alone, and it says by which."""
    (found,) = of(spell(100, "n1", row)).undeclared
    assert found.suggested_tier == tier and found.suggested_because


def test_the_rows_for_the_policy_declare_just_these_workloads(tmp_path: Path) -> None:
    """Pasted as they are the policy is valid, whatever the names look like to YAML."""
    names = ["shop/Deployment/api", "on/Deployment/1e3", "x.y/Rollout/true", "n0/Deployment/0x1f", "no/StatefulSet/123"]
    found = of(spell(100, "n1", *(untouched(name, GIB) for name in names)))
    file = tmp_path / "policy.yaml"
    file.write_text(f"mode: observe\n{found.business}")
    rules = load_policy(file).business
    assert [f"{rule.namespace}/{rule.kind}/{rule.workload}" for rule in rules] == sorted(names)
    assert yaml.safe_load(found.business)["business"]


# --- what was done --------------------------------------------------------------------------------------------


def test_in_observe_mode_the_same_pod_counts_once_however_often_it_is_chosen() -> None:
    """Times tell how often, pods and bytes what it would have given."""
    act = step("spark-0", 9 * GIB)
    found = of([*STORM, *(result(at, "n1", act) for at in (1100, 1200, 1300)), result(1300, "n1", step("spark-1"))])
    (row,) = found.acts
    assert (row.workload, row.tier, row.observed) == ("batch/Job/spark", "offline", True)
    assert (row.times, row.pods, row.expected_bytes) == (4, 2, 10 * GIB)
    assert "2 pods of 1 workload (10.0 GiB) would have been evicted" in found.summary


def test_what_was_refused_is_told_by_reason_and_gives_no_bytes() -> None:
    """An eviction that a budget held is none."""
    done = result(1100, "n1", step("spark-0"), "done", "accepted", mode="enforce")
    held = result(1101, "n1", step("spark-1"), "retry_later", "disruption_budget", mode="enforce")
    (row,) = of([*STORM, done, held]).acts
    assert (row.times, row.done, dict(row.not_done)) == (2, 1, {"disruption_budget": 1})
    assert (row.observed, row.expected_bytes) == (False, GIB)


def test_harm_is_the_start_up_time_by_importance() -> None:
    """As docs/harm.md has it: the ranking's restart part tells the seconds, the tier the weight."""
    ranked = [{"uid": "uid-spark-0", "score": {"restart": 80.0}}]
    seen = decision(1099, "n1", "RED", ("acting",), [step("spark-0")], ranking=ranked)
    (row,) = of([*STORM, seen, result(1100, "n1", step("spark-0"))]).acts
    assert row.harm == pytest.approx(300 * 0.2 * 0.05)


def test_rounds_that_were_carried_out_are_measured_against_what_was_expected() -> None:
    """Freed against expected, by outcome; less than half is worth a word."""
    found = of([*STORM, outcome(1200, "n1", "rebounded", GIB, 4 * GIB), outcome(1300, "n1", "relieved", 0, GIB)])
    assert dict(found.rounds.outcomes) == {"rebounded": 1, "relieved": 1}
    assert (found.rounds.released_bytes, found.rounds.expected_bytes) == (GIB, 5 * GIB)
    assert "freed-little" in [each.id for each in found.recommendations]


# --- what held it back ----------------------------------------------------------------------------------------


def test_guards_are_counted_by_spells_where_the_level_acts() -> None:
    """At YELLOW nothing is held back, while a round settles neither; a node that nobody sees is."""
    lines = [
        decision(650, "n1", "YELLOW", ("level_allows_notify_only", "silenced")),
        *(decision(at, "n1", "RED", ("storm_brake", "no_candidate")) for at in (1090, 1100)),
        decision(1200, "n1", "RED", ("settling", "non_pod_memory")),
        decision(1500, "n2", None, ("data_unknown",)),
    ]
    found = of([*STORM, *lines])
    assert {row.reason: (row.spells, row.nodes) for row in found.held} == {
        "storm_brake": (1, ("n1",)),
        "no_candidate": (1, ("n1",)),
        "data_unknown": (1, ("n2",)),
    }
    assert all(row.advice for row in found.held)


ROUTINE = {
    "not_running terminating one_per_workload chosen target_covered round_full already_chosen",
    "recovered level_allows_notify_only level_too_fresh already_handled awaiting_approval resolved calm acting",
    "settling not_calm_yet oom_storm not_serving selector_in_the_way too_few_in_service accepted dry_run already_done",
    "already_gone replaced_since two_budgets throttled namespace_terminating forbidden conflict timed_out api_error",
    "unknown_alert alert_without_name alert_without_node alert_malformed",
}


def test_every_reason_has_its_advice_or_is_known_to_need_none() -> None:
    """A new reason makes this fail: say what to change, or that it holds nobody back."""
    routine = {word for words in ROUTINE for word in words.split()}
    assert {each.value for each in {*KEPT_ADVICE, *HELD_ADVICE}} ^ routine == {each.value for each in Reason}


# --- what died all the same -----------------------------------------------------------------------------------


def test_a_death_is_told_with_what_had_been_said_before() -> None:
    """How long before it the node had risen, and evictions had been planned; two replicas tell it, it counts once."""
    plan = decision(1081, "n1", "RED", ("acting",), [step("spark-0", 9 * GIB)])
    kill = oom_kill(1330, "n1", "api", 1320)
    found = of([*STORM, plan, kill, {**kill, "replica": "b", "at": 1340}])
    (death,) = found.deaths
    assert (death.cause, death.level, death.warned_seconds, death.planned_seconds) == ("node-oom", "RED", 720, 239)
    assert [(each.text, each.seconds_before) for each in death.said] == [
        ("YELLOW", 720),
        ("ORANGE", 420),
        ("RED", 240),
        ("would evict batch/Job/spark (9.0 GiB)", 239),
    ]
    counted = {row.cause: (row.deaths, row.warned, row.planned) for row in found.causes}
    assert counted["node-oom"] == (1, 1, 1)


def test_a_death_out_of_the_blue_was_not_warned_of() -> None:
    """The level rose after it: that is no warning."""
    found = of([*STORM, kubelet_eviction(620, "n1", "web", 590)])
    (death,) = found.deaths
    assert (death.cause, death.warned_seconds, death.planned_seconds, death.said) == (
        "kubelet-eviction",
        None,
        None,
        (),
    )
    assert "earlier" in [each.id for each in found.recommendations]


def test_what_held_it_back_is_among_what_was_said() -> None:
    """So that nobody has to look for the reason elsewhere."""
    found = of([*STORM, decision(1090, "n1", "RED", ("silenced",)), kubelet_eviction(1320, "n1", "web", 1300)])
    assert found.deaths[0].said[-1].text == "held back: a silence pauses remediation"


def test_a_kill_at_its_own_limit_is_no_failure_of_ours() -> None:
    """It is told with what to do about it, and asks for no earlier warning."""
    found = of([*STORM, oom_kill(200, "n1", "leaky", 190, "limit-oom")])
    ids = [each.id for each in found.recommendations]
    assert "limits" in ids and "earlier" not in ids


# --- what to do next ------------------------------------------------------------------------------------------

WOULD = [decision(1081, "n1", "RED", ("acting",), [step("spark-0")]), result(1082, "n1", step("spark-0"))]
FORTNIGHT = watched(14 * DAY, STORM)


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (watched(3 * DAY), ["wait"]),
        (watched(14 * DAY), ["calm"]),
        ([*FORTNIGHT, *STORM, *WOULD], ["approve"]),
        ([*FORTNIGHT, *STORM, *WOULD, oom_kill(1330, "n1", "api", 1320)], ["would-have-helped", "approve"]),
        ([*FORTNIGHT, *STORM, result(1082, "n1", step("api-0", tier="important"))], []),
        ([*FORTNIGHT, *STORM, decision(1090, "n1", "RED", ("non_pod_memory",))], ["outside-pods"]),
        ([*FORTNIGHT, *STORM, *spell(2401, "n1", untouched("shop/Deployment/api", GIB))], ["declare"]),
        ([*FORTNIGHT, *STORM, outcome(1200, "n1", "moved", GIB, GIB)], ["rounds"]),
    ],
)
def test_a_recommendation_stands_on_a_figure_or_is_not_given(lines: list[dict[str, Any]], wanted: list[str]) -> None:
    """Each rule with what brings it about; none of them speaks without."""
    found = of(lines, 14 * DAY).recommendations
    assert [each.id for each in found] == wanted
    assert all(any(c.isdigit() for c in each.figure) or each.figure.startswith("no node") for each in found)


def test_what_the_summary_says_is_plain() -> None:
    """One sentence, figures only."""
    found = of([*FORTNIGHT, *STORM, *WOULD, oom_kill(1330, "n1", "api", 1320)], 14 * DAY)
    assert found.summary == (
        "Watched 14.0 days of 14.0 days over 3 nodes: 1 node rose above GREEN 1 time (RED 1 time, 5 min in all); "
        "1 pod of 1 workload (1.0 GiB) would have been evicted; 1 OOM kill and 0 kubelet evictions came all the same."
    )


def test_a_report_is_plain_json() -> None:
    """No level, no tuple, no number that JSON does not know."""
    from remediator.config.plain import plain  # noqa: PLC0415

    found = of([*STORM, *WOULD, *spell(2000, "n2", untouched("shop/Deployment/api", GIB))])
    assert json.loads(json.dumps(plain(found), allow_nan=False)) == plain(found)
