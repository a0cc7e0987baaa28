"""Faults on purpose: switched on and off by the scenario's time, and by hand."""

from typing import Any

from remediator.drill.apiserver.faults import Fault
from remediator.drill.scenario import FaultSpec
from remediator.drill.simulation.spoiling import spoilt
from tests.drill.worlds import Small

PAGE = '# HELP a b\n# TYPE a gauge\na{node="n"} 1\nb{node="n"} 2\nc 3\n'


def spec(**keys: Any) -> FaultSpec:
    """A fault of metrics."""
    return FaultSpec.model_validate({"metrics": "cadvisor", **keys})


def test_dropped_samples_are_missing_and_comments_stay() -> None:
    """Only samples that match go."""
    assert spoilt(PAGE, [spec(drop="^a")]) == PAGE.replace('a{node="n"} 1\n', "")


def test_doubled_samples_differ_by_one_label() -> None:
    """Every labelled sample stands there twice, as from two copies of an exporter."""
    lines = spoilt(PAGE, [spec(duplicate=True)]).splitlines()
    assert lines[2:4] == ['a{node="n"} 1', 'a{node="n",copy="2"} 1']
    assert lines[-1] == "c 3"


def test_api_faults_come_and_go_with_the_story() -> None:
    """A scenario's fault is in force from `at` until `until`; one set over HTTP is left alone all the while."""
    small = Small(faults=[{"at": "10s", "until": "20s", "api": {"path": "/eviction", "status": 429}}])
    by_hand = Fault(path="/leases", status=500)
    small.faults.replace([by_hand])
    seen = []
    for _ in range(3):
        small.pass_seconds(10)
        seen.append([rule.path for rule in small.faults.rules])
    assert seen == [["/leases", "/eviction"], ["/leases"], ["/leases"]]


def test_counted_fault_stays_used_up() -> None:
    """`times: 1` hits once in the whole story, not once per tick."""
    small = Small(faults=[{"api": {"path": "/eviction", "status": 429, "times": 1}}]).pass_seconds(2)
    (rule,) = small.faults.rules
    rule.times = 0
    small.pass_seconds(5)
    assert [each.times for each in small.faults.rules] == [0]


def test_metrics_faults_are_for_their_endpoint_and_node() -> None:
    """A fault of one node's page leaves the other pages alone; without a node it is for all."""
    small = Small(
        nodes=[{"name": "node-{n}", "count": 2, "memory": "16Gi"}],
        faults=[{"metrics": "exporter", "node": "node-2", "at": "5s"}, {"metrics": "cadvisor", "drop": "rss"}],
    )
    faults = small.world.faults
    assert [f.down for f in faults.of_endpoint("exporter", "node-2", 5.0)] == [True]
    assert faults.of_endpoint("exporter", "node-2", 4.0) == []
    assert faults.of_endpoint("exporter", "node-1", 5.0) == []
    assert [f.down for f in faults.of_endpoint("cadvisor", "node-1", 0.0)] == [False]
    faults.set_by_hand([spec(duplicate=True)])
    assert len(faults.of_endpoint("cadvisor", "node-1", 0.0)) == 2
    faults.set_by_hand([])
    assert len(faults.of_endpoint("cadvisor", "node-1", 0.0)) == 1


def test_frozen_page_stays_as_it_was() -> None:
    """The first page under the fault is given again and again, per node."""
    faults, frozen = Small().world.faults, spec(frozen=True)
    assert [faults.frozen(frozen, "cadvisor", "node-1", page) for page in ("first", "second")] == ["first", "first"]
    assert faults.frozen(frozen, "cadvisor", "node-2", "other") == "other"
