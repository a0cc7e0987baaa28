"""What a drill shows while it runs: a table on a terminal, one line per event elsewhere."""

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from remediator.drill.observation import LEVEL_NAMES
from remediator.drill.scenario import Scenario
from remediator.drill.story import Chronicle
from remediator.drill.wants import clock
from remediator.rulefiles import PROFILES

STYLES = {"GREEN": "green", "YELLOW": "yellow", "ORANGE": "dark_orange", "RED": "bold red"}
_BAR_WIDTH = 40
_LAST_EVENTS = 8


def describe(event: dict[str, Any]) -> str | None:
    """An event as a sentence; None for those that tell a reader nothing."""
    who = f"{event.get('namespace', '')}/{event.get('name', '')}"
    node = event.get("node", "")
    sentences = {
        "cordoned": f"{node} is cordoned",
        "uncordoned": f"{node} is open again",
        "tainted": f"{node} is tainted {event.get('taint', '')}",
        "untainted": f"{node} has lost the taint {event.get('taint', '')}",
        "pod_terminating": f"{who} is asked to leave {node}",
        "pod_gone": f"{who} is gone from {node}",
        "pod_bound": f"{who} is scheduled to {node}",
        "endpoints_drained": f"{who} on {node} is out of its Services: traffic goes elsewhere",
        "endpoints_restored": f"{who} on {node} is back in its Services",
        "kubelet_eviction": f"the kubelet evicts {who} on {node}",
        "oom_kill": f"{who} on {node} is OOM-killed",
    }
    return sentences.get(event["what"])


def _water_mark(used: float, highest: float, thresholds: Sequence[float], style: str) -> Text:
    """Used memory as a bar; dotted up to the highest mark so far, a stroke at each level's threshold."""
    strokes = {round(threshold * _BAR_WIDTH) for threshold in thresholds}
    bar = Text()
    for place in range(_BAR_WIDTH):
        if place < round(used * _BAR_WIDTH):
            bar.append("█", style)
        elif place in strokes:
            bar.append("│", "bold")
        else:
            bar.append("░" if place < round(highest * _BAR_WIDTH) else " ", "dim")
    return bar


class LiveView:
    """A live table on a terminal; plain lines when the output is not one."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._console = Console()
        self._live = Live(console=self._console, auto_refresh=False) if sys.stdout.isatty() else None
        self._told = 0
        self._levels: dict[str, int] = {}
        self._highest: dict[str, float] = {}
        self._thresholds = tuple(PROFILES[scenario.policy.profile].enter.values())
        self._phases = 0

    def __enter__(self) -> "LiveView":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, chronicle: Chronicle) -> None:
        """Bring the view up to date."""
        if not chronicle.moments:
            return
        if self._live is not None:
            self._live.update(self._table(chronicle), refresh=True)
        else:
            self._lines(chronicle)

    # --- a terminal -------------------------------------------------------------------------------------

    def _table(self, chronicle: Chronicle) -> Group:
        moment = chronicle.moments[-1]
        table = Table(title=f"{self._scenario.title}   {clock(moment.seconds)} / {clock(self._scenario.duration)}")
        for column in ("node", "level", "used", "", "score", "phase", "what and why"):
            table.add_column(column, no_wrap=column != "what and why")
        phases = {node: phase for _, node, phase in chronicle.phases}
        for node, used in moment.used_ratio.items():
            self._highest[node] = max(used, self._highest.get(node, 0.0))
        for node in sorted(set(moment.level) | set(self._scenario.node_names)):
            level = LEVEL_NAMES[moment.level.get(node, 0)]
            used = moment.used_ratio.get(node, 0.0)
            closed = " cordoned" if chronicle.unschedulable.get(node) else ""
            table.add_row(
                node,
                Text(level, style=STYLES[level]),
                f"{used:.0%}",
                _water_mark(used, self._highest.get(node, 0.0), self._thresholds, STYLES[level]),
                f"{moment.score.get(node, 0):.0f}",
                phases.get(node, "") + closed,
                chronicle.messages.get(node, ""),
            )
        told = [(event["at"], text) for event in chronicle.events if (text := describe(event))]
        lines = [Text(f"{clock(at)}  {text}") for at, text in told[-_LAST_EVENTS:]]
        return Group(table, *lines)

    # --- anything else ----------------------------------------------------------------------------------

    def _lines(self, chronicle: Chronicle) -> None:
        moment = chronicle.moments[-1]
        for node, level in sorted(moment.level.items()):
            if level != self._levels.get(node, 0):
                used = moment.used_ratio.get(node, 0.0)
                self._print(moment.seconds, f"{node} is {LEVEL_NAMES[level]}, {used:.0%} used")
            self._levels[node] = level
        for at, node, phase in chronicle.phases[self._phases :]:
            message = chronicle.messages.get(node, "")
            self._print(at, f"{node}: {phase}{': ' + message if message else ''}")
        self._phases = len(chronicle.phases)
        for event in chronicle.events[self._told :]:
            if text := describe(event):
                self._print(event["at"], text)
        self._told = len(chronicle.events)

    def _print(self, seconds: float, text: str) -> None:
        self._console.print(f"{clock(seconds):>6}  {text}", highlight=False, markup=False, soft_wrap=True)
