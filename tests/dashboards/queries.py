"""Every question that the dashboards ask Prometheus, with Grafana's variables filled in."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from dashboards.generate import DASHBOARDS


class Question(NamedTuple):
    """Where it is asked, and what."""

    place: str
    expression: str


def questions(node: str = "node-1", rate_interval: str = "1m") -> list[Question]:
    """All panels' and annotations' queries, with All chosen where that can be, and else this node."""
    filled = {'"$cluster"': '".*"', '"$namespace"': '".*"', '=~"$node"': '=~".*"', '"$node"': f'"{node}"'}
    filled["$__rate_interval"] = rate_interval
    return [Question(place, _filled(expression, filled)) for place, expression in _asked()]


def _asked() -> Iterator[tuple[str, str]]:
    for file, dashboard in DASHBOARDS.items():
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                yield f"{file}: {panel['title']}: {target['legendFormat']}", target["expr"]
        for annotation in dashboard["annotations"]["list"]:
            yield f"{file}: annotation {annotation['name']}", annotation["expr"]


def _filled(expression: str, variables: dict[str, str]) -> str:
    for name, value in variables.items():
        expression = expression.replace(name, value)
    return expression


def panels() -> list[tuple[str, dict[str, Any]]]:
    """(file, panel) of all dashboards."""
    return [(file, panel) for file, dashboard in DASHBOARDS.items() for panel in dashboard["panels"]]
