"""What happened, in order, in scenario time: read off the store's changes, so nothing can happen untold."""

from collections.abc import Callable

from remediator.drill.apiserver.eviction import is_ready
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store
from remediator.drill.simulation.build import SERVING
from remediator.drill.simulation.controllers import UNSCHEDULABLE


class Chronicle:
    """The list of events; `now` and `usage` are asked when something happens."""

    def __init__(self, store: Store, now: Callable[[], float], usage: Callable[[Json], int]) -> None:
        self._store, self._now, self._usage = store, now, usage
        self._before: dict[tuple[str, str, str], Json] = {}
        self.events: list[Json] = []
        for kind in ("Pod", "Node"):
            for obj in store.list(kind):
                self._before[self._key(kind, obj)] = obj
        store.subscribe(self._changed)

    @staticmethod
    def _key(kind: str, obj: Json) -> tuple[str, str, str]:
        return kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

    def _changed(self, change: str, kind: str, obj: Json) -> None:
        if kind not in ("Pod", "Node"):
            return
        key = self._key(kind, obj)
        before = self._before.get(key)
        if change == "DELETED":
            self._before.pop(key, None)
        else:
            self._before[key] = obj
        if kind == "Pod":
            self._pod(change, before, obj)
        elif before is not None:
            self._node(before, obj)

    def _tell(self, what: str, **more: object) -> None:
        self.events.append({"seq": len(self.events), "at": round(self._now(), 2), "what": what, **more})

    def _pod(self, change: str, before: Json | None, pod: Json) -> None:
        if change == "DELETED":
            self._tell("pod_gone", **self._who(pod))
            return
        old = before or {"metadata": {}, "spec": {}, "status": {}}
        if "deletionTimestamp" in pod["metadata"] and "deletionTimestamp" not in old["metadata"]:
            self._tell("pod_terminating", **self._who(pod), bytes=self._usage(pod))
        if pod["spec"].get("nodeName") and not old["spec"].get("nodeName"):
            self._tell("pod_bound", **self._who(pod))
        if before is not None and is_ready(pod) and not is_ready(before):
            self._tell("pod_ready", **self._who(pod))
        if pod["status"].get("reason") == "Evicted" and old["status"].get("reason") != "Evicted":
            self._tell("kubelet_eviction", **self._who(pod))
        if _restarts(pod) > _restarts(old):
            self._tell("oom_kill", **self._who(pod))
        if before is not None:
            self._serving(before, pod)

    def _serving(self, before: Json, pod: Json) -> None:
        was = SERVING in (before["metadata"].get("labels") or {})
        serves = SERVING in (pod["metadata"].get("labels") or {})
        if was != serves:
            self._tell("endpoints_restored" if serves else "endpoints_drained", **self._who(pod))

    def _node(self, before: Json, node: Json) -> None:
        name = node["metadata"]["name"]
        was, now = bool(before["spec"].get("unschedulable")), bool(node["spec"].get("unschedulable"))
        if was != now:
            self._tell("cordoned" if now else "uncordoned", node=name)
        old, new = _taints(before), _taints(node)
        for taint in sorted(new - old):
            self._tell("tainted", node=name, taint=taint)
        for taint in sorted(old - new):
            self._tell("untainted", node=name, taint=taint)

    def _who(self, pod: Json) -> Json:
        metadata = pod["metadata"]
        return {
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "node": pod["spec"].get("nodeName", ""),
            "workload": self.workload_of(pod),
        }

    def workload_of(self, pod: Json) -> str:
        """namespace/Kind/name of the top of the owner chain."""
        reference = next(iter(pod["metadata"].get("ownerReferences") or []), None)
        namespace = pod["metadata"]["namespace"]
        if reference is None:
            return f"{namespace}/Pod/{pod['metadata']['name']}"
        kind, name = reference["kind"], reference["name"]
        if kind == "ReplicaSet":
            kind, name = "Deployment", name.rsplit("-", 1)[0]
        return f"{namespace}/{kind}/{name}"


def _restarts(pod: Json) -> int:
    return sum(c.get("restartCount", 0) for c in pod.get("status", {}).get("containerStatuses") or [])


def _taints(node: Json) -> set[str]:
    """Taints but the node controller's own, as kubectl writes them."""
    return {
        f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
        for taint in node["spec"].get("taints") or []
        if taint["key"] != UNSCHEDULABLE
    }
