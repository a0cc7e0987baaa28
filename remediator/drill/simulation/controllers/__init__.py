"""Controllers: each a pass over the store that moves it a step towards what the specs say.

Nothing here knows memory or time beyond the store's clock; a pass over a settled cluster changes nothing.
"""

from remediator.drill.apiserver.store import Store
from remediator.drill.simulation.controllers import budgets, garbage, nodes, services, workloads
from remediator.drill.simulation.controllers.ownership import pods_by_controller


class Controllers:
    """All controllers of one cluster; at rest when the store has not changed since they had nothing to do."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._settled_version: int | None = None

    def tick(self) -> None:
        """One pass, unless nothing has happened since the last one that changed nothing."""
        before = self._store.version
        if before == self._settled_version:
            return
        run_all(self._store)
        self._settled_version = before if self._store.version == before else None


def run_all(store: Store) -> None:
    """One pass of every controller."""
    for deployment in store.list("Deployment"):
        workloads.deployment(store, deployment)
    pods = pods_by_controller(store)
    passes = {
        "ReplicaSet": workloads.replica_set,
        "StatefulSet": workloads.stateful_set,
        "Job": workloads.job,
        "DaemonSet": workloads.daemon_set,
    }
    for kind, reconcile in passes.items():
        for owner in store.list(kind):
            reconcile(store, owner, pods.get(owner["metadata"]["uid"], []))
    garbage.collect(store)
    for service in store.list("Service"):
        services.endpoint_slice(store, service)
    for budget in store.list("PodDisruptionBudget"):
        budgets.disruptions(store, budget)
    for node in store.list("Node"):
        nodes.taints_of_conditions(store, node)


__all__ = ["Controllers", "run_all"]
