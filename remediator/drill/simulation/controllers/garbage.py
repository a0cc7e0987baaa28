"""The garbage collector: what was controlled by an object that is gone goes too."""

from remediator.drill.apiserver.eviction import delete_pod
from remediator.drill.apiserver.store import Store
from remediator.drill.simulation.controllers.ownership import controller_uid

_OWNERS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Service")
_DEPENDANTS = ("ReplicaSet", "Job", "EndpointSlice")


def collect(store: Store) -> None:
    """One pass; dependants of dependants go in the next one."""
    known = {None, *(obj["metadata"]["uid"] for kind in _OWNERS for obj in store.list(kind))}
    for kind in _DEPENDANTS:
        for obj in [obj for obj in store.list(kind) if controller_uid(obj) not in known]:
            store.delete(kind, obj["metadata"]["namespace"], obj["metadata"]["name"])
    for pod in store.list("Pod"):
        if controller_uid(pod) not in known and "deletionTimestamp" not in pod["metadata"]:
            delete_pod(store, pod, None)
