"""Extended resources of nodes over time: what Koordinator's manager would write into a node's status."""

from remediator.drill.apiserver.store import Store
from remediator.drill.scenario import Points, Scenario, expanded
from remediator.drill.simulation.quantities import quantity


class Ledgers:
    """The steps of a scenario, put into node objects when their moment comes."""

    def __init__(self, store: Store, scenario: Scenario) -> None:
        self._store = store
        self._steps: dict[tuple[str, str], Points] = {
            (name, resource): points
            for spec in scenario.nodes
            for name in expanded(spec)
            for resource, points in spec.extended_points.items()
        }

    def tick(self, now: float) -> None:
        """Write what is due; a node that somebody deleted is left alone."""
        for (name, resource), points in self._steps.items():
            due = [point.bytes for point in points if point.at <= now]
            if due:
                self._write(name, resource, quantity(due[-1]))

    def _write(self, name: str, resource: str, amount: str) -> None:
        node = self._store.find("Node", None, name)
        if node is None or node["status"]["allocatable"].get(resource) == amount:
            return
        status = dict(node["status"])
        for part in ("capacity", "allocatable"):
            status[part] = {**status[part], resource: amount}
        self._store.update("Node", {**node, "status": status}, subresource="status")
