"""What happened, in order, in scenario time: read off the store's changes, so nothing can happen untold."""

from collections.abc import Callable

from remediator.drill.apiserver.eviction import is_ready
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store
from remediator.drill.simulation.build import SERVING
from remediator.drill.simulation.controllers.nodes import OWN_PREFIX

_WATCHED = ("Pod", "Node", "EndpointSlice")


class Chronicle:
    """The list of events; `now` and `usage` are asked when something happens."""

    def __init__(self, store: Store, now: Callable[[], float], usage: Callable[[Json], int]) -> None:
        self._store, self._now, self._usage = store, now, usage
        self._before: dict[tuple[str, str, str], Json] = {}
        self.events: list[Json] = []
        for kind in _WATCHED:
            for obj in store.list(kind):
                self._before[self._key(kind, obj)] = obj
        store.subscribe(self._changed)

    @staticmethod
    def _key(kind: str, obj: Json) -> tuple[str, str, str]:
        return kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

    def _changed(self, change: str, kind: str, obj: Json) -> None:
        if kind not in _WATCHED:
            return
        key = self._key(kind, obj)
        before = self._before.get(key)
        if change == "DELETED":
            self._before.pop(key, None)
        else:
            self._before[key] = obj
        if kind == "Pod":
            self._pod(change, before, obj)
        elif kind == "EndpointSlice":
            self._endpoints(before or {}, {} if change == "DELETED" else obj)
        elif before is not None:
            self._node(before, obj)

    def _endpoints(self, before: Json, after: Json) -> None:
        """Traffic goes where an endpoint is ready; a pod that leaves or comes back is told with its Service."""
        old, new = _ready_endpoints(before), _ready_endpoints(after)
        service = (after or before)["metadata"].get("labels", {}).get("kubernetes.io/service-name", "")
        changes = (("endpoint_left", old, new), ("endpoint_returned", new, old))
        for what, those, without in changes:
            for uid in sorted(those.keys() - without.keys()):
                self.tell(what, service=service, uid=uid, **those[uid])

    def tell(self, what: str, **more: object) -> None:
        """Note that something happened now."""
        self.events.append({"seq": len(self.events), "at": round(self._now(), 2), "what": what, **more})

    def _pod(self, change: str, before: Json | None, pod: Json) -> None:
        if change == "DELETED":
            self.tell("pod_gone", **self._who(pod))
            return
        old = before or {"metadata": {}, "spec": {}, "status": {}}
        if "deletionTimestamp" in pod["metadata"] and "deletionTimestamp" not in old["metadata"]:
            self.tell("pod_terminating", **self._who(pod), bytes=self._usage(pod))
        if pod["spec"].get("nodeName") and not old["spec"].get("nodeName"):
            self.tell("pod_bound", **self._who(pod))
        if before is not None and is_ready(pod) and not is_ready(before):
            self.tell("pod_ready", **self._who(pod))
        if pod["status"].get("reason") == "Evicted" and old["status"].get("reason") != "Evicted":
            self.tell("kubelet_eviction", **self._who(pod))
        if _oom_kills(pod) > _oom_kills(old):
            self.tell("oom_kill", **self._who(pod))
        if before is not None:
            self._serving(before, pod)

    def _serving(self, before: Json, pod: Json) -> None:
        was = SERVING in (before["metadata"].get("labels") or {})
        serves = SERVING in (pod["metadata"].get("labels") or {})
        if was != serves:
            self.tell("endpoints_restored" if serves else "endpoints_drained", **self._who(pod))

    def _node(self, before: Json, node: Json) -> None:
        name = node["metadata"]["name"]
        was, now = bool(before["spec"].get("unschedulable")), bool(node["spec"].get("unschedulable"))
        if was != now:
            self.tell("cordoned" if now else "uncordoned", node=name, by=_marked_by(node) or _marked_by(before))
        old, new = _taints(before), _taints(node)
        for taint in sorted(new - old):
            self.tell("tainted", node=name, taint=taint, by=_marked_by(node))
        for taint in sorted(old - new):
            self.tell("untainted", node=name, taint=taint, by=_marked_by(before))

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


def _ready_endpoints(endpoint_slice: Json) -> dict[str, Json]:
    """Namespace, name and node of each ready endpoint, by UID."""
    return {
        each["targetRef"]["uid"]: {
            "namespace": each["targetRef"]["namespace"],
            "name": each["targetRef"]["name"],
            "node": each.get("nodeName", ""),
        }
        for each in endpoint_slice.get("endpoints") or []
        if each["conditions"].get("ready")
    }


def _marked_by(node: Json) -> str:
    """Whose mark the node carries; empty when nobody left one."""
    marks = node["metadata"].get("annotations") or {}
    return str(marks.get("remediator.io/cordoned-by", ""))


def _oom_kills(pod: Json) -> int:
    """Restarts after a kill, and a last one that was not followed by a restart."""
    statuses: list[Json] = pod.get("status", {}).get("containerStatuses") or []
    ended = [(c.get("state") or {}).get("terminated") or {} for c in statuses]
    restarts = sum(int(c.get("restartCount", 0)) for c in statuses)
    return restarts + len([end for end in ended if end.get("reason") == "OOMKilled"])


def _taints(node: Json) -> set[str]:
    """Taints but the node controller's own, as kubectl writes them."""
    return {
        f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
        for taint in node["spec"].get("taints") or []
        if not taint["key"].startswith(OWN_PREFIX)
    }
