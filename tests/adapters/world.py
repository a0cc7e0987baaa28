"""Objects of a small cluster, as an API server gives them, and actions on them."""

from typing import Any

from remediator.core.model import WorkloadRef
from remediator.core.state import Action, ActionKind
from remediator.drill.apiserver.store import Store

Json = dict[str, Any]
EPISODE = "n1-episode"


def node(name: str, address: str = "", **more: Any) -> Json:
    addresses = [{"type": "InternalIP", "address": address}] if address else []
    addresses.append({"type": "Hostname", "address": name})
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}, **more.pop("metadata", {})},
        "spec": more.pop("spec", {}),
        "status": {
            "addresses": addresses,
            "allocatable": {"memory": "16Gi"},
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "False"}],
            **more.pop("status", {}),
        },
    }


def pod(namespace: str, name: str, owner: Json | None = None, *, on: str = "n1", memory: str = "1Gi") -> Json:
    metadata: Json = {"name": name, "namespace": namespace, "labels": {"app": name.split("-", maxsplit=1)[0]}}
    if owner is not None:
        reference = {"kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        metadata["ownerReferences"] = [{**reference, "apiVersion": "apps/v1", "controller": True}]
        metadata["labels"] = {"app": owner["metadata"]["labels"]["app"]}
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "nodeName": on,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": memory}}}],
            "terminationGracePeriodSeconds": 30,
        },
    }


def running(store: Store, made: Json, *, ready_after: int = 10) -> Json:
    """Create a pod and let it run, ready so many seconds after its container started."""
    created = store.create("Pod", made)
    status = {
        "phase": "Running",
        "qosClass": "Burstable",
        "startTime": "2026-12-01T00:00:00Z",
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": f"2026-12-01T00:00:{ready_after:02d}Z"},
        ],
        "containerStatuses": [
            {"name": "c", "restartCount": 0, "ready": True, "state": {"running": {"startedAt": "2026-12-01T00:00:00Z"}}}
        ],
    }
    return store.update("Pod", {**created, "status": status}, subresource="status")


def owned(store: Store, kind: str, namespace: str, name: str, owner: Json | None = None, **spec: Any) -> Json:
    """Create a controller."""
    app = name.split("-", maxsplit=1)[0]
    metadata: Json = {"name": name, "namespace": namespace, "labels": {"app": app}}
    if owner is not None:
        reference = {"kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        metadata["ownerReferences"] = [{**reference, "apiVersion": "apps/v1", "controller": True}]
    selector = {"matchLabels": {"app": app}}
    template = {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return store.create(
        kind, {"kind": kind, "metadata": metadata, "spec": {"selector": selector, "template": template, **spec}}
    )


def a_store() -> Store:
    """Nodes n1 and n2; on n1 a pod of Deployment shop/web (another runs on n2), of Job batch/report, of a DaemonSet."""
    store = Store()
    for name in ("shop", "batch", "remediator", "default", "kube-system"):
        store.create("Namespace", {"metadata": {"name": name}})
    store.create("Node", node("n1", "10.0.0.1"))
    store.create("Node", node("n2", "10.0.0.2"))
    deployment = owned(store, "Deployment", "shop", "web", replicas=2)
    replica_set = owned(store, "ReplicaSet", "shop", "web-7f", deployment, replicas=2)
    running(store, pod("shop", "web-7f-a", replica_set))
    running(store, pod("shop", "web-7f-b", replica_set, on="n2", memory="2Gi"), ready_after=20)
    job = owned(store, "Job", "batch", "report", backoffLimit=0, parallelism=1)
    running(store, pod("batch", "report-x", job))
    agent = owned(store, "DaemonSet", "kube-system", "agent")
    running(store, pod("kube-system", "agent-1", agent))
    return store


def action(kind: ActionKind, store: Store | None = None, **given: Any) -> Action:
    """An action on n1, on shop/web-7f-a where it is about a pod."""
    about_pod = kind in (
        ActionKind.EVICT,
        ActionKind.FORCE_DELETE,
        ActionKind.DRAIN_ENDPOINTS,
        ActionKind.RESTORE_ENDPOINTS,
    )
    if about_pod and "pod" not in given:
        given |= {"namespace": "shop", "pod": "web-7f-a"}
        if store is not None and "pod_uid" not in given:
            given["pod_uid"] = store.get("Pod", "shop", "web-7f-a")["metadata"]["uid"]
    return Action(kind, "n1", EPISODE, **given)


WEB = WorkloadRef("shop", "Deployment", "web")
