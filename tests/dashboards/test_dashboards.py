"""Dashboards: committed as generated, every query parses, and asks only for series that somebody exports."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import yaml
from prometheus_client import REGISTRY

from dashboards.generate import DASHBOARDS, HERE, text
from dashboards.panels import STATUS_PAGE
from remediator import metrics, rulefiles
from tests.dashboards.queries import panels, questions
from tests.rules.conftest import find_tool
from tests.web.fakes import Web

ROOT = Path(__file__).resolve().parents[2]
# Of others' exporters, by their documentation; a name not listed here is a typo until it is.
OTHERS = {"kube_node_info", "kube_pod_info", "node_vmstat_oom_kill"}
PROMETHEUS = {"up", "scrape_duration_seconds", "scrape_samples_scraped"}
_WORDS = {"by", "on", "or", "and", "unless", "bool", "group_left"}


def test_committed_as_generated() -> None:
    """The JSON is what the generator writes (`make chart`)."""
    assert {file.name: file.read_text() for file in HERE.glob("*.json")} == {
        name: text(content) for name, content in DASHBOARDS.items()
    }


def test_every_query_parses(tmp_path: Path) -> None:
    """promtool accepts each question, with whatever is chosen for its variables."""
    rules = [{"record": f"question:{n}:x", "expr": q.expression} for n, q in enumerate(questions())]
    file = tmp_path / "questions.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "questions", "rules": rules}]}))
    done = subprocess.run([find_tool("promtool"), "check", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [q for q in questions() if "$" in q.expression]


def test_only_known_series_are_asked_for() -> None:
    """Each series is recorded by the rules, ours, the exporter's, or a known one of others."""
    known = OTHERS | PROMETHEUS | set(_recorded()) | set(_own()) | set(_exporters())
    assert {name: q.place for q in questions() for name in _series(q.expression) if name not in known} == {}


def _series(expression: str) -> Iterator[str]:
    bare = re.sub(r'"[^"]*"', "", expression)
    bare = re.sub(r"\{[^}]*\}|\[[^]]*\]", " ", bare)
    bare = re.sub(r"\b(by|on|group_left)\s*\([^)]*\)", " ", bare)
    for name in re.findall(r"[a-zA-Z_:][a-zA-Z0-9_:]*(?!\w|\s*\()", bare):
        if name not in _WORDS:
            yield name


def _recorded() -> Iterator[str]:
    for document in map(yaml.safe_load, rulefiles.render().values()):
        yield from (rule["record"] for group in document["groups"] for rule in group["rules"] if "record" in rule)


def _own() -> Iterator[str]:
    assert metrics.DECISIONS
    for family in REGISTRY.collect():
        if family.name.startswith("remediator_"):
            yield from {f"{family.name}{end}" for end in ("", "_total", "_bucket", "_sum", "_count")}


def _exporters() -> Iterator[str]:
    for golden in (ROOT / "tests" / "exporter" / "golden").iterdir():
        yield from re.findall(r"^# TYPE (\S+)", golden.read_text(), re.MULTILINE)


def test_panels_say_what_they_show() -> None:
    """Every panel has a title of its own on its dashboard, a unit, a legend, and a word for no data."""
    for file, dashboard in DASHBOARDS.items():
        titles = [panel["title"] for panel in dashboard["panels"]]
        assert len(set(titles)) == len(titles), file
    for _, panel in panels():
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"]
        assert defaults["noValue"]
        assert all(target["legendFormat"] for target in panel["targets"])


def test_panels_do_not_overlap() -> None:
    """No two panels of a dashboard share a cell, and none reaches beyond the 24 columns."""
    for file, dashboard in DASHBOARDS.items():
        cells: set[tuple[int, int]] = set()
        for at in (panel["gridPos"] for panel in dashboard["panels"]):
            own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert not own & cells, file
            assert at["x"] + at["w"] <= 24
            cells |= own


def test_links_lead_somewhere() -> None:
    """Links to the runbook name a heading that is there; links between dashboards name a dashboard that is."""
    headings = set(re.findall(r"^## (\w+)", (ROOT / "docs" / "runbook.md").read_text(), re.MULTILINE))
    uids = {dashboard["uid"] for dashboard in DASHBOARDS.values()}
    anchors = {link["url"].partition("#")[2] for _, panel in panels() for link in panel["links"]}
    assert anchors <= {heading.lower() for heading in headings}
    assert len(anchors) > 10
    everything = "".join(text(dashboard) for dashboard in DASHBOARDS.values())
    assert set(re.findall(r"/d/([\w-]+)", everything)) <= uids


def test_status_page_is_one_click_away() -> None:
    """Every dashboard links to the status page, the node's to its own page there; both are pages that we serve."""
    links = [link for dashboard in DASHBOARDS.values() for link in dashboard["links"] if link["title"] == "Status page"]
    assert len(links) == len(DASHBOARDS)
    paths = {link["url"].removeprefix(STATUS_PAGE) for link in links}
    assert paths == {"/", "/nodes/${node}"}
    served = {rule.rule.replace("<name>", "${node}") for rule in Web().client().application.url_map.iter_rules()}
    assert paths <= served
