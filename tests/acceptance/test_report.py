"""What a drill concludes from what it saw: evictions nobody owned up to, moments, the kubelet's choice, wants."""

from typing import Any

import pytest

from remediator.drill import scenario as scenarios
from remediator.drill.declared import declared_tier
from remediator.drill.observation import Moment
from remediator.drill.report import compile_report
from remediator.drill.scenario import WantSpec
from remediator.drill.story import Chronicle
from remediator.drill.timeline import timeline
from remediator.drill.wants import evaluate, seen_text

STORM = scenarios.load("storm")
GIB = 2**30


def moment(seconds: float, used_ratio: float, level: int) -> Moment:
    """One evaluation of the focus node."""
    return Moment(seconds, {"node-1": used_ratio}, {"node-1": level}, {"node-1": 0.0})


def event(what: str, at: float, workload: str = "analytics/Job/spark-sessions", **more: Any) -> dict[str, Any]:
    """Something that happened to a pod of node-1."""
    namespace, _, name = workload.split("/")
    pod = {"namespace": namespace, "name": f"{name}-1", "uid": f"uid-{name}", "node": "node-1", "workload": workload}
    return {"what": what, "at": at, **pod, **more}


def intent(at: float, name: str, score: float) -> dict[str, Any]:
    """The audit's line before an eviction."""
    action = {"kind": "evict", "pod_uid": f"uid-{name}", "score": score}
    return {"kind": "intent", "at": at, "node": "node-1", "action": action}


@pytest.fixture
def story() -> Chronicle:
    """RED at 780 s, one Spark pod evicted at 785 s, safe at 800 s."""
    return Chronicle(
        now=900.0,
        moments=[
            moment(0, 0.6, 0),
            moment(780, 0.93, 3),
            moment(790, 0.8, 3),
            moment(800, 0.6, 3),
            moment(840, 0.6, 0),
        ],
        events=[event("pod_terminating", 785, bytes=9 * GIB), event("pod_gone", 790)],
        audit=[intent(784, "spark-sessions", 94.333)],
    )


def test_times_are_those_of_the_evaluations(story: Chronicle) -> None:
    """Levels, peak and durations come from the recorded samples."""
    report = compile_report(STORM, 12.5, story)
    assert report["levels"] == {"yellow_at": 780, "orange_at": 780, "red_at": 780}
    assert report["peak_used_ratio"] == 0.93
    assert report["seconds_red_to_safe"] == 20
    assert report["seconds_to_fall"] == 15
    assert report["after_used_ratio"] == 0.6


def test_eviction_carries_tier_and_score(story: Chronicle) -> None:
    """The tier is the scenario's, the score the audit's."""
    (pod,) = compile_report(STORM, 12.5, story)["evicted"]
    assert (pod["tier"], pod["score"], pod["bytes"], pod["at"]) == ("offline", 94.33, 9 * GIB, 785)


def test_eviction_without_an_audit_line_counts(story: Chronicle) -> None:
    """A pod that the product removed and does not tell of is seen in the API server's requests."""
    story.events.append(event("pod_terminating", 786, "middleware/StatefulSet/kafka", bytes=8 * GIB))
    story.removals = [{"namespace": "middleware", "name": "kafka-1", "status": 201}]
    report = compile_report(STORM, 12.5, story)
    assert report["protected_evicted"] == 1
    assert report["evicted"][1]["score"] is None


def test_pod_that_its_controller_removed_is_no_eviction(story: Chronicle) -> None:
    """Without a request for it a terminating pod is nobody's eviction."""
    story.events.append(event("pod_terminating", 786, "online/Deployment/api-web", bytes=GIB))
    assert len(compile_report(STORM, 12.5, story)["evicted"]) == 1


def test_chronicle_is_what_it_was_at_a_moment(story: Chronicle) -> None:
    """Wants at a moment see nothing of what came later."""
    before = compile_report(STORM, 12.5, story.until(782))
    assert before["levels"]["red_at"] == 780
    assert before["evicted"] == []
    assert before["seconds_red_to_safe"] is None


def test_kubelet_would_have_needed(story: Chronicle) -> None:
    """As many pods of the kubelet's order are marked as free the same bytes."""
    sizes = (5 * GIB, 8 * GIB, 3 * GIB)
    story.kubelet_order = [{"name": str(size), "usage_bytes": size} for size in sizes]
    assert [pod["taken"] for pod in compile_report(STORM, 12.5, story)["kubelet_order"]] == [True, True, False]


@pytest.mark.parametrize(
    ("workload", "tier"),
    [
        ("middleware/StatefulSet/kafka", "critical"),
        ("online/Deployment/api-orders", "important"),
        ("analytics/Job/spark-sessions", "offline"),
        ("logging/Deployment/log-shipper", "low"),
        ("elsewhere/Job/nightly", "offline"),
        ("elsewhere/Deployment/unknown", "undeclared"),
    ],
)
def test_tier_is_what_the_scenario_declares(workload: str, tier: str) -> None:
    """By the policy's table; Jobs count as offline; the rest is undeclared."""
    assert declared_tier(STORM, workload) == tier


@pytest.mark.parametrize(
    ("want", "ok"),
    [
        ({"what": "levels.red_at", "between": ("12m30s", "14m")}, True),
        ({"what": "levels.red_at", "between": ("13m30s", "14m")}, False),
        ({"what": "levels.red_at", "at": 600, "equals": None}, True),
        ({"what": "evicted.count", "equals": 1}, True),
        ({"what": "evicted.workload", "equals": ["analytics/Job/spark-sessions"]}, True),
        ({"what": "evicted.score", "descending": True}, True),
        ({"what": "seconds_to_fall", "at_most": 40}, True),
        ({"what": "seconds_to_fall", "at_least": 40}, False),
        ({"what": "no_such_figure", "at_most": 1}, False),
        ({"what": "release_asked_at", "between": (0, 900)}, False),
    ],
)
def test_want_is_held_against_the_report(story: Chronicle, want: dict[str, Any], ok: bool) -> None:
    """Each comparison, at its moment; what is not there never satisfies a bound."""
    snapshots = [(at, compile_report(STORM, 12.5, story.until(at))) for at in (600.0, 900.0)]
    (result,) = evaluate([WantSpec(**want)], snapshots)
    assert result.ok is ok


def test_moments_are_shown_as_the_story_s_time() -> None:
    """People read 13:03, not 783 seconds."""
    assert seen_text({"what": "cordoned_at", "seen": 783.08}) == "13:03"
    assert seen_text({"what": "levels.orange_at", "seen": None}) == "nothing"
    assert seen_text({"what": "evicted.workload", "seen": ["a", "b"]}) == "a, b"


def test_timeline_says_why(story: Chronicle) -> None:
    """What was done is told with the reason and the score that it was announced with, in order."""
    story.audit[0]["action"]["why"] = "tier offline"
    lines = timeline(compile_report(STORM, 12.5, story), story)
    assert [at for at, _ in lines] == sorted(at for at, _ in lines)
    assert (780, "node-1 is RED, 93.0% used") in lines
    assert any("asked to leave node-1 (tier offline, score 94.3)" in text for _, text in lines)
