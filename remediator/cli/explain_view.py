"""`explain` for people: the JSON of one decision as a terminal page. Form only.

Every word comes from the decision. No figure is cut or parted from its unit, however narrow the terminal is.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from remediator.cli.page import ABSENT, Page, size
from remediator.cli.ranking_view import add_ranking

_STYLES = {"GREEN": "green", "YELLOW": "yellow", "ORANGE": "dark_orange", "RED": "bold red"}
Json = Mapping[str, Any]


def show(console: Console, told: Json) -> None:
    """Print a decision: level and why, bytes to free, ranking, guards, what would be done."""
    page = Page(console.width)
    _head(page, told)
    _past(page, told)
    _what_if(page, told)
    _verdict(page, told)
    add_ranking(page, told)
    _plan(page, told)
    console.print(page.whole())


def _head(page: Page, told: Json) -> None:
    memory, state = told["memory"], told["state"]
    page.line(f"{told['node']}  {_moment(told['at'])}", "bold")
    if "unknown" in memory:
        page.line(f"level UNKNOWN: {memory['source']}: {memory['unknown']}", "bold red")
    else:
        _level(page, told, memory)
    episode = f", episode {state['episode_id']} round {state['rounds']}" if state["episode_id"] else ""
    page.line(f"mode {told['mode']}, phase {state['phase']}, isolation {state['isolation']}{episode}")


def _level(page: Page, told: Json, memory: Json) -> None:
    since = told.get("level_since")
    age = f" for {_seconds(told['at'] - since)}" if since is not None and told["at"] > since else ""
    page.line(
        f"{memory['level']}{age}: used {memory['used_ratio']:.1%} of {size(memory['total_bytes'])}, "
        f"available {size(memory['available_bytes'])}{_trend(memory)}",
        _STYLES[memory["level"]],
    )
    if begins := _thresholds(memory["thresholds"]):
        page.line(f"levels begin at: {begins}")
    page.line(f"to free: {size(told['target_bytes'])}, down to the safe level of {memory['safe_used_ratio']:.0%}")
    if told.get("step"):
        page.line(f"{memory['level']} may: {_step(told['step'])}")
    if memory["system_slices"]:
        page.line(f"outside of pods: {_slices(memory['system_slices'])}")


def _trend(memory: Json) -> str:
    growth = memory["growth_bytes_per_second"]
    return "" if not growth or abs(growth) < 2**10 else f", {'grows' if growth > 0 else 'falls'} {size(abs(growth))}/s"


def _thresholds(thresholds: Mapping[str, float]) -> str:
    entered = sorted((value, name.split("/")[0]) for name, value in thresholds.items() if name.endswith("/enter"))
    return ", ".join(f"{name} {value:.0%}" for value, name in entered)


def _step(step: Json) -> str:
    words = [name.replace("_", " ") for name in ("cordon", "drain_endpoints", "scale_on_pressure") if step[name]]
    if step["evict_tiers"] and step["max_pods_per_round"]:
        after = f" after {_seconds(step['evict_after_seconds'])}" if step["evict_after_seconds"] else ""
        words.append(
            f"evict {', '.join(step['evict_tiers'])}{after}, at most {step['max_pods_per_round']} a round, "
            f"{step['max_rounds']} rounds"
        )
    return "; ".join(words) or ("only tell people" if step["notify"] else "nothing")


def _slices(slices: Mapping[str, int]) -> str:
    outside = {path: held for path, held in slices.items() if "kubepods" not in path and held > 0}
    biggest = sorted(outside.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{path} {size(held)}" for path, held in biggest)


def _past(page: Page, told: Json) -> None:
    past = told.get("past")
    if past is None:
        return
    page.heading(f"As of {_moment(told['at'])}")
    for note in past["notes"]:
        page.line(note, indent=2)
    if past["younger"]:
        page.line(f"left out, younger than that: {', '.join(past['younger'])}", indent=2)
    for pod in past["gone"]:
        page.line(f"gone since: {pod['pod']}, used {size(pod['usage_bytes'])}", indent=2)


def _what_if(page: Page, told: Json) -> None:
    """How this decision differs from the one under the policy in force."""
    if "what_if" not in told:
        return
    page.heading("What if: decided under the policy of --policy. In force -> here:")
    changes = told["what_if"]["changes"]
    for name, (before, after) in ((name, pair) for name, pair in changes.items() if name != "pods"):
        page.line(f"{name.replace('_', ' ')}: {_said(name, before)} -> {_said(name, after)}", indent=2)
    for pod, (before, after) in changes.get("pods", {}).items():
        page.line(f"{pod}: {before} -> {after}", indent=2)
    if not changes:
        page.line("nothing: the same verdict, pods and steps", indent=2)


def _said(name: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return size(value) if name.endswith("_bytes") else str(value)


def _verdict(page: Page, told: Json) -> None:
    page.heading(f"{told['verdict']}: guards and reasons")
    for each in told["reasons"]:
        detail = f": {each['detail']}" if each["detail"] else ""
        page.line(f"{each['sentence']}{detail}  [{each['reason']}]", indent=2)
    for source in ("cluster", "usages", "silences", "levels"):
        if "unknown" in told.get(source, {}):
            found = told[source]
            page.line(f"{source} unknown: {found['source']}: {found['unknown']}  [{found['reason']}]", "red", indent=2)


def _plan(page: Page, told: Json) -> None:
    plan = told["plan"]
    if not plan:
        page.heading("Nothing would be done now.")
        return
    page.heading("Would be done, in this order:" if told["mode"] != "enforce" else "Next, in this order:")
    for number, action in enumerate(plan["actions"], 1):
        what = f"{action['namespace']}/{action['pod']}" if action["pod"] else action["workload"] or told["node"]
        frees = f" ({size(action['expected_bytes'])})" if action["expected_bytes"] else ""
        why = f", {action['why']}" if action["why"] else ""
        page.line(f"{number}. {action['kind'].replace('_', ' ')} {what}{frees}{why}", indent=2)


def _moment(at: float) -> str:
    try:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return ABSENT


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 or not math.isfinite(seconds) else f"{seconds / 60:.0f} min"
