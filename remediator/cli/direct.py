"""`remediator explain --direct URL`: the last minutes as the node's own exporter remembers them, Prometheus being gone.

Shows memory and pods; it decides nothing, for levels, and how long a node is at one, are known to the rules alone.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
import requests
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from remediator.core.figures import percent, size

Json = dict[str, Any]
_TIMEOUT_SECONDS = 10
_ROW_SECONDS = 60.0
_MOST_PODS = 20
_ABSENT = "–"


def show_direct(url: str, names: Mapping[str, str] | str, output: str) -> None:
    """Print what the exporter at `url` kept; `names`: pod UID -> namespace/name, or why nobody knows them."""
    samples = _samples(url)
    if output == "json":
        known = {} if isinstance(names, str) else dict(names)
        click.echo(json.dumps({"samples": samples, "names": known}, indent=2))
        return
    Console().print(Group(_node(samples), _pods(samples, names), Text(_CLOSING)))


_CLOSING = (
    "\nNothing is decided from this: levels come from Prometheus' rules, and without them the remediator does not act. "
    "What to do by hand is in the runbook."
)


def _samples(url: str) -> list[Json]:
    where = f"{url.rstrip('/')}/history"
    try:
        answer = requests.get(where, timeout=_TIMEOUT_SECONDS)
        answer.raise_for_status()
        found: list[Json] = [each for each in answer.json()["samples"] if each["at"] and each["node"]]
    except (requests.RequestException, ValueError, LookupError, TypeError) as error:
        raise click.ClickException(
            f"--direct: {where} gives no history ({type(error).__name__}). It is the URL of the node's exporter, "
            "for example http://NODE:9101; from outside of the cluster: kubectl port-forward to its pod"
        ) from error
    if not found:
        raise click.ClickException(f"--direct: {where} has kept nothing yet (is --history-seconds 0?)")
    return found


def _node(samples: Sequence[Json]) -> Table:
    table = _table("The node, as its exporter remembers it (UTC)")
    for name in ("Time", "Used", "Available", "Total", "Used %"):
        table.add_column(name, justify="right", no_wrap=True)
    for sample in _every(samples, _ROW_SECONDS):
        total, available = (sample["node"].get(f"memory_{name}_bytes") for name in ("total", "available"))
        time = f"{datetime.fromtimestamp(sample['at'], UTC):%H:%M:%S}"
        if total is None or available is None:
            table.add_row(time, *[_ABSENT] * 4)
        else:
            used = total - available
            table.add_row(time, size(used), size(available), size(total), percent(used / total if total else 0))
    return table


def _every(samples: Sequence[Json], seconds: float) -> list[Json]:
    """About one each so often, the newest always."""
    kept = [samples[-1]]
    for sample in reversed(samples[:-1]):
        if kept[-1]["at"] - sample["at"] >= seconds:
            kept.append(sample)
    return kept[::-1]


def _pods(samples: Sequence[Json], names: Mapping[str, str] | str) -> RenderableType:
    if not _uids(samples):
        return Text("\nNo pod was measured.")
    newest = samples[-1]["pods"]
    seen = {uid: [sample["pods"][uid] for sample in samples if uid in sample["pods"]] for uid in _uids(samples)}
    table = _table("\nPods, biggest first (working set)")
    table.add_column("Pod", overflow="fold")
    for name in ("First", "Now", "Peak", "Change"):
        table.add_column(name, justify="right", no_wrap=True)
    order = sorted(seen, key=lambda uid: -newest.get(uid, 0))
    for uid in order[:_MOST_PODS]:
        values, now = seen[uid], newest.get(uid)
        name = uid if isinstance(names, str) else names.get(uid, uid)
        change = "gone" if now is None else f"{'+' if now >= values[0] else '-'}{size(abs(now - values[0]))}"
        table.add_row(name, size(values[0]), _ABSENT if now is None else size(now), size(max(values)), change)
    notes = [f"and {len(order) - _MOST_PODS} smaller ones"] if len(order) > _MOST_PODS else []
    notes += [f"pods are shown by UID: {names}"] if isinstance(names, str) else []
    return Group(table, *(Text(note, style="dim") for note in notes))


def _uids(samples: Sequence[Json]) -> list[str]:
    return list(dict.fromkeys(uid for sample in samples for uid in sample["pods"]))


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", pad_edge=False, show_edge=False)
