"""Small worlds for tests: a scenario from a few keys, moved on second by second, without a clock."""

from datetime import UTC, datetime, timedelta
from typing import Any

from remediator.drill.apiserver.eviction import evict
from remediator.drill.apiserver.faults import Faults
from remediator.drill.apiserver.store import Store
from remediator.drill.scenario import Scenario
from remediator.drill.simulation.world import World

Json = dict[str, Any]
GI, MI = 2**30, 2**20
START = datetime(2026, 12, 1, tzinfo=UTC)


def scenario(**keys: Any) -> Scenario:
    """A scenario with one node of 16 GiB and nothing on it, changed by `keys`."""
    given = {
        "name": "small",
        "title": "a small world",
        "duration": "10m",
        "focus": "node-1",
        "nodes": [{"name": "node-1", "memory": "16Gi", "system": "1Gi"}],
        "workloads": [],
    }
    return Scenario.model_validate(given | keys)


def workload(kind: str = "Deployment", name: str = "api", **keys: Any) -> Json:
    """A workload of one pod that holds 1 GiB and asks for as much."""
    return {"kind": kind, "namespace": "shop", "name": name, "usage": "1Gi", "request": "1Gi", **keys}


class Small:
    """A world and its hands: `pass_seconds` lets time go by at speed 1."""

    def __init__(self, **keys: Any) -> None:
        self.seconds = 0.0
        self.store = Store(lambda: START + timedelta(seconds=self.seconds))
        self.faults = Faults()
        self.world = World(scenario(**keys), self.store, self.faults, speed=1.0)

    def pass_seconds(self, seconds: float, step: float = 1.0) -> "Small":
        """Tick until so much time has passed."""
        end = self.seconds + seconds
        while self.seconds < end:
            self.seconds = min(end, self.seconds + step)
            self.world.tick(self.seconds, step)
        return self

    def pods(self, namespace: str | None = "shop") -> list[Json]:
        """Pods, by name."""
        return list(self.store.list("Pod", namespace))

    def pod(self) -> Json:
        """The only pod."""
        (only,) = self.pods()
        return only

    def events(self, what: str) -> list[Json]:
        """What the chronicle tells of one kind."""
        return [event for event in self.world.chronicle.events if event["what"] == what]

    def change(self, kind: str, obj: Json, **spec: Any) -> Json:
        """Change keys of an object's spec, as a client would."""
        return self.store.update(kind, {**obj, "spec": {**obj["spec"], **spec}})

    def evict(self, name: str) -> None:
        """An eviction that the API server accepts."""
        evict(self.store, "shop", name, {"metadata": {"name": name, "namespace": "shop"}}, dry_run=False)

    def label(self, pod: Json, **labels: str | None) -> Json:
        """Set and (with None) remove labels of a pod; underscores stand for what names cannot hold."""
        kept = {**pod["metadata"]["labels"], **labels}
        found = {key: value for key, value in kept.items() if value is not None}
        return self.store.update("Pod", {**pod, "metadata": {**pod["metadata"], "labels": found}})
