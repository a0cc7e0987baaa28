"""Requests and answers of a real API server, as they lie in captures/, and stores that hold what they need."""

import json
from pathlib import Path
from typing import Any

from remediator.drill.apiserver.store import Store

Json = dict[str, Any]
FILES = {path.name[:2]: path for path in sorted((Path(__file__).parent / "captures").glob("*.json"))}


def capture(number: str) -> Json:
    """Request and response."""
    found: Json = json.loads(FILES[number].read_text())
    return found


def body(number: str) -> Json:
    """The body of the response."""
    found: Json = capture(number)["response"]["body"]
    return found


def load(store: Store, *objects: Json) -> None:
    """Put objects in as they are."""
    for obj in objects:
        store.load(obj["kind"], obj)


def of_kind(kind: str, items: list[Json]) -> list[Json]:
    """Items of a list as objects that say their kind."""
    return [{"kind": kind, **item} for item in items]


def namespace(store: Store, name: str = "capture", **metadata: str) -> None:
    """A namespace; with deletionTimestamp, one that goes away."""
    store.load("Namespace", {"kind": "Namespace", "metadata": {"name": name, "uid": "n", **metadata}})


def budget() -> Json:
    """The captured PodDisruptionBudget: 3 needed, 3 there, 0 allowed."""
    return of_kind("PodDisruptionBudget", body("10")["items"])[0]
