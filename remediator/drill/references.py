"""What a scenario's parts say of one another: every name that one part uses must be there in another. Pure.

Apart from the schema, so that each misfit can be told with its own path and line.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from remediator.config.positions import Path

if TYPE_CHECKING:  # The schema asks for these checks when it reads a file.
    from remediator.drill.scenario import Scenario

Misfit = tuple[Path, str]


def misfits(scenario: "Scenario") -> Iterator[Misfit]:
    """(path, sentence) of every name that is not there or stands there twice."""
    yield from _nodes(scenario)
    yield from _workloads(scenario)
    for index, want in enumerate(scenario.wants):
        if want.at is not None and want.at > scenario.duration:
            yield ("wants", index, "at"), f"is after the end of the story (duration {scenario.duration:g}s)"


def _nodes(scenario: "Scenario") -> Iterator[Misfit]:
    names = scenario.node_names
    yield from _twice(names, ("nodes",))
    used: list[tuple[Path, str]] = [(("focus",), scenario.focus)]
    used += [(("host_processes", i, "node"), p.node) for i, p in enumerate(scenario.host_processes)]
    used += [
        (("workloads", i, "placement", node), node) for i, w in enumerate(scenario.workloads) for node in w.placement
    ]
    used += [(("faults", i, "node"), fault.node) for i, fault in enumerate(scenario.faults) if fault.node]
    yield from _unknown(used, names, "nodes")


def _workloads(scenario: "Scenario") -> Iterator[Misfit]:
    names = [f"{workload.namespace}/{workload.name}" for workload in scenario.workloads]
    yield from _twice(names, ("workloads",))
    used: list[tuple[Path, str]] = [
        (("budgets", i, "workload"), f"{budget.namespace}/{budget.workload}")
        for i, budget in enumerate(scenario.budgets)
    ]
    yield from _unknown(used, names, "workloads")


def _twice(names: Iterable[str], path: Path) -> Iterator[Misfit]:
    for name, count in Counter(names).items():
        if count > 1:
            yield path, f"{name} stands there {count} times: names must differ"


def _unknown(used: Iterable[tuple[Path, str]], known: Collection[str], what: str) -> Iterator[Misfit]:
    for path, name in used:
        if name not in known:
            nearest = get_close_matches(name, known, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(sorted(known))}"
            yield path, f"{name} is not one of the {what}; {hint}"
