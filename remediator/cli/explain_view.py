"""`explain` for people: the JSON of one decision as a terminal page. Form only.

Every word comes from the decision.
"""

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

_STYLES = {"GREEN": "green", "YELLOW": "yellow", "ORANGE": "dark_orange", "RED": "bold red"}
_ABSENT = "–"
_TABLE_COLUMNS = 140
"""Where the ranking has room for names and reasons; narrower terminals and pipes get two lines a pod."""

Json = Mapping[str, Any]


def show(console: Console, told: Json) -> None:
    """Print a decision: level and why, bytes to free, ranking, guards, what would be done."""
    ranking = _ranking(told) if console.width >= _TABLE_COLUMNS else _ranking_in_lines(told)
    console.print(Group(_head(told), _reasons(told), ranking, _plan(told), *_what_if(told)))


def _head(told: Json) -> RenderableType:
    memory = told["memory"]
    lines = Text()
    lines.append(f"{told['node']}  ", style="bold")
    if "unknown" in memory:
        lines.append("UNKNOWN", style="bold red")
        lines.append(f"  {memory['source']}: {memory['unknown']}\n")
    else:
        lines.append(memory["level"], style=_STYLES[memory["level"]])
        lines.append(
            f"  used {memory['used_ratio']:.1%} of {_size(memory['total_bytes'])}, "
            f"available {_size(memory['available_bytes'])}, safe at {memory['safe_used_ratio']:.0%}\n"
        )
        lines.append(_thresholds(memory["thresholds"]))
        lines.append(f"to free: {_size(told['target_bytes'])}\n")
        if memory["system_slices"]:
            lines.append(f"outside of pods: {_slices(memory['system_slices'])}\n")
    state = told["state"]
    lines.append(f"mode {told['mode']}, phase {state['phase']}, isolation {state['isolation']}")
    if state["episode_id"]:
        lines.append(f", episode {state['episode_id']} round {state['rounds']}")
    return lines


def _thresholds(thresholds: Mapping[str, float]) -> str:
    entered = sorted((value, name.split("/")[0]) for name, value in thresholds.items() if name.endswith("/enter"))
    enters = [f"{name} {value:.0%}" for value, name in entered]
    return f"levels begin at: {', '.join(enters)}\n" if enters else ""


def _slices(slices: Mapping[str, int]) -> str:
    outside = {path: size for path, size in slices.items() if "kubepods" not in path and size > 0}
    biggest = sorted(outside.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{path} {_size(size)}" for path, size in biggest)


def _reasons(told: Json) -> RenderableType:
    lines = Text(f"\n{told['verdict']}", style="bold")
    for each in told["reasons"]:
        detail = f": {each['detail']}" if each["detail"] else ""
        lines.append(f"\n  {each['sentence']}{detail}  [{each['reason']}]", style="not bold")
    for source in ("cluster", "silences"):
        if "unknown" in told[source]:
            lines.append(f"\n  {source} unknown: {told[source]['unknown']}", style="red not bold")
    return lines


def _ranking(told: Json) -> RenderableType:
    if not told["ranking"]:
        return Text("\nNo pod was ranked.")
    table = Table(title="Pods, first to go first", title_justify="left", pad_edge=False, show_edge=False)
    for name in ("Pod", "Tier"):
        table.add_column(name, overflow="fold")
    for name in ("Score", "biz", "mem", "restart", "qos", "Frees", "Request", "Kubelet"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Chosen / why not", overflow="fold")
    for row in told["ranking"]:
        table.add_row(*_row(row), style="bold" if row["chosen"] else None if row["eligible"] else "dim")
    return Group(Text(""), table)


def _ranking_in_lines(told: Json) -> RenderableType:
    lines = Text("\nPods, first to go first" if told["ranking"] else "\nNo pod was ranked.", style="italic")
    for row in told["ranking"]:
        pod, tier, total, business, memory, restart, qos, frees, request, rank, why = _row(row)
        style = "bold" if row["chosen"] else "not bold" if row["eligible"] else "dim"
        parts = f" = biz {business}, mem {memory}, restart {restart}, qos {qos}" if total != _ABSENT else ""
        lines.append(f"\n{pod}  {tier}, frees {frees} (request {request}), kubelet {rank}", style=f"{style} not italic")
        lines.append(f"\n  score {total}{parts}: {why}", style=f"{style} not italic")
    return lines


def _row(row: Json) -> list[str]:
    score = row["score"]
    parts = (
        [_ABSENT] * 5
        if score is None
        else [f"{score[name]:.0f}" for name in ("total", "business", "memory", "restart", "qos")]
    )
    why = row["sentence"] + (f": {row['detail']}" if row["detail"] else "")
    return [
        f"{row['namespace']}/{row['pod']}",
        row["tier"] or _ABSENT,
        *parts,
        _size(row["releasable_bytes"]),
        _size(row["request_bytes"]),
        f"#{row['kubelet_rank']}" if row["kubelet_rank"] is not None else _ABSENT,
        "; ".join([why, *row["notes"]]),
    ]


def _plan(told: Json) -> RenderableType:
    plan = told["plan"]
    if not plan:
        return Text("\nNothing would be done now.")
    lines = Text("\nWould be done, in this order:" if told["mode"] != "enforce" else "\nNext, in this order:", "bold")
    for number, action in enumerate(plan["actions"], 1):
        what = f"{action['namespace']}/{action['pod']}" if action["pod"] else action["workload"] or told["node"]
        size = f" ({_size(action['expected_bytes'])})" if action["expected_bytes"] else ""
        why = f", {action['why']}" if action["why"] else ""
        lines.append(f"\n  {number}. {action['kind'].replace('_', ' ')} {what}{size}{why}", style="not bold")
    return lines


def _what_if(told: Json) -> list[RenderableType]:
    """How this decision differs from the one under the policy in force."""
    if "what_if" not in told:
        return []
    lines = Text("\nWhat if: decided under the policy of --policy; in force -> here:", style="bold")
    changes = told["what_if"]["changes"]
    for name, (before, after) in ((n, pair) for n, pair in changes.items() if n != "pods"):
        lines.append(f"\n  {name.replace('_', ' ')}: {_listed(before)} -> {_listed(after)}", style="not bold")
    for pod, (before, after) in changes.get("pods", {}).items():
        lines.append(f"\n  {pod}: {before} -> {after}", style="not bold")
    if not changes:
        lines.append("\n  nothing: the same verdict, pods and steps", style="not bold")
    return [lines]


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _size(size: int | None) -> str:
    if size is None:
        return _ABSENT
    return f"{size / 2**30:.1f}Gi" if size >= 2**30 else f"{size / 2**20:.0f}Mi"
