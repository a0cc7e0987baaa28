"""Scenario files: what ships, and how a bad one is refused."""

from pathlib import Path

import pytest

from remediator.config.problems import ConfigError
from remediator.drill import scenario as scenarios

GOOD = """\
name: mine
title: my story
duration: 5m
focus: node-1
nodes:
  - {name: "node-{n}", count: 2, memory: 64Gi}
workloads:
  - kind: Deployment
    namespace: shop
    name: api
    replicas: 2
    usage: 1Gi
budgets:
  - {namespace: shop, workload: api, min_available: 1}
host_processes:
  - node: node-1
    points:
      - {at: 1m, bytes: 0}
      - {at: 2m, bytes: 1Gi}
wants:
  - {what: evicted.count, equals: 0}
"""


@pytest.mark.parametrize("name", ["storm", "spike", "pdb", "silenced", "two-nodes", "storm-brake"])
def test_shipped_stories_load(name: str) -> None:
    """Every story that is promised ships, reads without a problem and wants something."""
    story = scenarios.load(name)
    assert story.name == name
    assert story.wants
    assert name in scenarios.shipped()


def test_storm_is_the_founding_story() -> None:
    """The storm has the cluster that the founding article tells of: 6 nodes of 64 GiB, 80 pods, and these on node-1."""
    story = scenarios.load("storm")
    assert {spec.memory for spec in story.nodes} == {64 * 2**30}
    assert len(story.node_names) == 6
    assert sum(workload.replicas for workload in story.workloads) == 80
    on_it = {w.name: (w.placement["node-1"], w.usage >> 30) for w in story.workloads if w.placement.get("node-1")}
    assert on_it == {
        "api-orders": (1, 3),
        "api-users": (1, 3),
        "spark-sessions": (2, 9),
        "kafka": (1, 8),
        "log-shipper": (1, 3),
    }
    big = [w for w in story.workloads if w.usage]
    assert all(abs(w.request / w.usage - 2 / 3) < 0.01 for w in big)
    assert story.policy.to_policy().safe_used_ratio == 0.62


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    usage: 1Gi", "    usge: 1Gi", "mine.yaml:12: workloads[0].usge: unknown key; did you mean usage?"),
        ("focus: node-1", "fokus: node-1", "mine.yaml:4: fokus: unknown key; did you mean focus?"),
        ("focus: node-1", "focus: node-3", "mine.yaml:4: focus: node-3 is not one of the nodes; did you mean node-2?"),
        ("kind: Deployment", "kind: Deploymnt", "mine.yaml:8: workloads[0].kind: 'Deploymnt' is not one of"),
        ("duration: 5m", "duration: 5 minutes", "mine.yaml:3: duration: '5 minutes' is not a duration"),
        ("workload: api,", "workload: apy,", "mine.yaml:14: budgets[0].workload: shop/apy is not one of the workloads"),
        ("at: 2m", "at: 30s", "mine.yaml:17: host_processes[0].points: the point at 30s stands after"),
        ("min_available: 1}", "min_available: 1, max_unavailable: 1}", "mine.yaml:14: budgets[0]: give either"),
        ("equals: 0}", "equals: 0, at_most: 1}", "mine.yaml:21: wants[0]: give exactly one of equals"),
        ("equals: 0}", "at: 6m, equals: 0}", "mine.yaml:21: wants[0].at: is after the end of the story"),
        ("count: 2", "count: 2, memory: 1Gi", "stands twice"),
        ('"node-{n}"', "node-1", "2 nodes would all be called node-1: put {n} into the name"),
        ("replicas: 2", "replicas: 2\n    placement: {node-1: 3}", "placement names 3 pods, and there are 2 replicas"),
    ],
)
def test_mistakes_are_named(old: str, new: str, said: str) -> None:
    """A mistake is told with file, line, key and, where something is near, what was probably meant."""
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        scenarios.read(GOOD.replace(old, new, 1), "mine.yaml")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("{}", "a fault is either api or metrics"),
        ("{api: {pth: /x}}", "unknown key 'pth'"),
        ("{metrics: cadvisor, drop: '('}", "drop is no regular expression"),
        ("{api: {status: 500}, frozen: true}", "belong to a fault of metrics"),
        ("{metrics: cadvisor, node: node-9}", "node-9 is not one of the nodes"),
        ("{metrics: cadvisor, at: 2m, until: 1m}", "until must be later than at"),
        ("{metrics: cadviser}", "did you mean cadvisor?"),
    ],
)
def test_faults_are_checked_when_read(fault: str, said: str) -> None:
    """A fault that could never come true is refused before the drill begins, with its line."""
    with pytest.raises(ConfigError) as caught:
        scenarios.read(f"{GOOD}faults:\n  - {fault}\n", "mine.yaml")
    assert said in str(caught.value)
    assert "mine.yaml:23: " in str(caught.value)


def test_own_file_is_read_like_a_shipped_one(tmp_path: Path) -> None:
    """A file of one's own works by its path, and its policy is handed on as it stands."""
    path = tmp_path / "mine.yaml"
    path.write_text(f"{GOOD}policy: {{mode: observe}}\n")
    assert scenarios.load(str(path)).name == "mine"
    assert scenarios.policy_text(str(path)) == {"mode": "observe"}


def test_unknown_story_names_the_known_ones() -> None:
    """A story that is not there is refused with those that are."""
    with pytest.raises(ConfigError, match=r"strm: is no scenario: give a file, or one of .*storm"):
        scenarios.load("strm")


def test_missing_file_is_told(tmp_path: Path) -> None:
    """A file that cannot be read is told with the reason."""
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read: No such file"):
        scenarios.load(str(tmp_path / "nowhere.yaml"))


def test_page_of_the_format_is_true() -> None:
    """The example in docs/scenarios.md reads, and the page names every key that a file may have."""
    page = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text()
    example = page.split("```yaml\n")[1].split("```")[0]
    assert scenarios.read(example, "example").name == "mine"
    parts = (scenarios.NodeSpec, scenarios.WorkloadSpec, scenarios.BudgetSpec, scenarios.HostProcessSpec)
    parts += (scenarios.FaultSpec, scenarios.SilenceSpec, scenarios.OperatorSpec, scenarios.WantSpec)
    keys = {key for part in (*parts, scenarios.Scenario) for key in part.model_fields}
    assert {key for key in keys if f"{key}" not in page} <= {"seed", "description", "note"}
