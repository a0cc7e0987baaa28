"""Controllers: replace pods that are missing, remove those too many, keep endpoints, budgets and node taints.

Each is a pass over the store that moves it a step towards what the specs say; all run after every change.
"""

import uuid
from collections.abc import Callable, Iterable

from remediator.drill.apiserver.eviction import is_ready
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.selectors import selector_matches
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.simulation.build import new_pod, suffix
from remediator.drill.simulation.scheduler import tolerates

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def run_all(store: Store) -> None:
    """One pass of every controller."""
    for deployment in store.list("Deployment"):
        _deployment(store, deployment)
    for replica_set in store.list("ReplicaSet"):
        _replicas(store, replica_set, replica_set["spec"].get("replicas", 1), _random_name)
    for stateful_set in store.list("StatefulSet"):
        _replicas(store, stateful_set, stateful_set["spec"].get("replicas", 1), _ordinal_name)
    for job in store.list("Job"):
        _job(store, job)
    for daemon_set in store.list("DaemonSet"):
        _daemon_set(store, daemon_set)
    _collect_orphans(store)
    for service in store.list("Service"):
        _endpoints(store, service)
    for budget in store.list("PodDisruptionBudget"):
        _budget(store, budget)
    for node in store.list("Node"):
        _node_taint(store, node)


def owned(store: Store, owner: Json) -> list[Json]:
    """Pods whose controller it is."""
    uid, namespace = owner["metadata"]["uid"], owner["metadata"]["namespace"]
    return [pod for pod in store.list("Pod", namespace) if controller_uid(pod) == uid]


def controller_uid(obj: Json) -> str | None:
    """UID of the controlling owner."""
    references = obj["metadata"].get("ownerReferences") or []
    return next((reference["uid"] for reference in references if reference.get("controller")), None)


def alive(pods: Iterable[Json]) -> list[Json]:
    """Pods that count as replicas: neither terminating nor finished."""
    finished = ("Succeeded", "Failed")
    return [p for p in pods if "deletionTimestamp" not in p["metadata"] and p["status"].get("phase") not in finished]


_Namer = Callable[[Json, list[Json]], str | None]


def _random_name(owner: Json, pods: list[Json]) -> str | None:
    return f"{owner['metadata']['name']}-{suffix(uuid.uuid4().hex)}"


def _ordinal_name(owner: Json, pods: list[Json]) -> str | None:
    """The lowest free ordinal; None while its old pod still terminates."""
    taken = {pod["metadata"]["name"] for pod in alive(pods)}
    terminating = {pod["metadata"]["name"] for pod in pods} - taken
    names = [f"{owner['metadata']['name']}-{index}" for index in range(owner["spec"].get("replicas", 1))]
    missing = next((name for name in names if name not in taken), None)
    return None if missing in terminating else missing


def _replicas(store: Store, owner: Json, wanted: int, name: _Namer) -> None:
    pods = owned(store, owner)
    living = alive(pods)
    for _ in range(wanted - len(living)):
        found = name(owner, pods)
        if found is None:
            break
        pods.append(_create(store, owner, found))
    for pod in sorted(living, key=_removal_order)[: max(0, len(living) - wanted)]:
        grace = pod["spec"].get("terminationGracePeriodSeconds", 30)
        store.mark_deleted("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"], grace)
    _set_status(store, owner, pods)


def _create(store: Store, owner: Json, name: str) -> Json:
    pod = new_pod(owner, owner["spec"]["template"], name)
    return store.create("Pod", pod)


def _removal_order(pod: Json) -> tuple[bool, bool, str]:
    """Unscheduled first, then unready, then the newest name."""
    return bool(pod["spec"].get("nodeName")), is_ready(pod), pod["metadata"]["name"]


def _set_status(store: Store, owner: Json, pods: list[Json]) -> None:
    living = alive(pods)
    ready = sum(is_ready(pod) for pod in living)
    status = {**owner.get("status", {}), "replicas": len(living), "readyReplicas": ready, "availableReplicas": ready}
    _update_status(store, owner, {**status, "updatedReplicas": len(living)})


def _update_status(store: Store, obj: Json, status: Json) -> None:
    if status != obj.get("status"):
        store.update(obj["kind"], {**obj, "status": status}, subresource="status")


def _deployment(store: Store, deployment: Json) -> None:
    uid = deployment["metadata"]["uid"]
    sets = [rs for rs in store.list("ReplicaSet", deployment["metadata"]["namespace"]) if controller_uid(rs) == uid]
    wanted = deployment["spec"].get("replicas", 1)
    for replica_set in sets:
        if replica_set["spec"].get("replicas") != wanted:
            store.update("ReplicaSet", {**replica_set, "spec": {**replica_set["spec"], "replicas": wanted}})
        counted = {k: v for k, v in replica_set.get("status", {}).items() if k.endswith("eplicas")}
        _update_status(store, deployment, {**deployment.get("status", {}), **counted})


def _job(store: Store, job: Json) -> None:
    pods = owned(store, job)
    done = sum(pod["status"].get("phase") == "Succeeded" for pod in pods)
    wanted = min(job["spec"].get("parallelism", 1), job["spec"].get("completions", 1) - done)
    for _ in range(wanted - len(alive(pods))):
        pods.append(_create(store, job, _random_name(job, pods) or ""))
    living = alive(pods)
    status = {"active": len(living), "ready": sum(is_ready(pod) for pod in living), "succeeded": done}
    _update_status(store, job, {**job.get("status", {}), **status})


def _daemon_set(store: Store, daemon_set: Json) -> None:
    """One pod per node that it tolerates, bound by name as the DaemonSet controller's affinity would."""
    pods = owned(store, daemon_set)
    template = daemon_set["spec"]["template"]
    occupied = {pod["spec"].get("nodeName") for pod in alive(pods)}
    for node in store.list("Node"):
        name = node["metadata"]["name"]
        hard = [t for t in node["spec"].get("taints") or [] if t["effect"] in ("NoSchedule", "NoExecute")]
        wanted = all(tolerates(template["spec"].get("tolerations") or [], taint) for taint in hard)
        if wanted and name not in occupied:
            pod = new_pod(daemon_set, template, _random_name(daemon_set, pods) or "")
            pods.append(store.create("Pod", {**pod, "spec": {**pod["spec"], "nodeName": name}}))
    living = alive(pods)
    ready = sum(is_ready(pod) for pod in living)
    counts = {"desiredNumberScheduled": len(living), "currentNumberScheduled": len(living), "numberReady": ready}
    _update_status(store, daemon_set, {**daemon_set.get("status", {}), **counts})


_OWNERS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Service")


def _collect_orphans(store: Store) -> None:
    """The garbage collector: what was controlled by an object that is gone goes too."""
    known = {None, *(obj["metadata"]["uid"] for kind in _OWNERS for obj in store.list(kind))}
    for replica_set in [rs for rs in store.list("ReplicaSet") if controller_uid(rs) not in known]:
        store.delete("ReplicaSet", replica_set["metadata"]["namespace"], replica_set["metadata"]["name"])
    for pod in store.list("Pod"):
        metadata = pod["metadata"]
        if controller_uid(pod) not in known and "deletionTimestamp" not in metadata:
            grace = pod["spec"].get("terminationGracePeriodSeconds", 30)
            store.mark_deleted("Pod", metadata["namespace"], metadata["name"], grace)


def _endpoints(store: Store, service: Json) -> None:
    """One EndpointSlice: what matches the selector; leaving the selector is leaving the slice."""
    metadata, selector = service["metadata"], service["spec"].get("selector")
    if not selector:
        return
    pods = [
        pod
        for pod in store.list("Pod", metadata["namespace"])
        if pod["status"].get("podIP")
        and selector_matches({"matchLabels": selector}, pod["metadata"].get("labels") or {})
    ]
    endpoints = [_endpoint(pod) for pod in pods if pod["status"].get("phase") == "Running"]
    ports = [{"name": "", "protocol": p.get("protocol", "TCP"), "port": p["port"]} for p in service["spec"]["ports"]]
    name = f"{metadata['name']}-{suffix('slice', metadata['namespace'], metadata['name'])}"
    labels = {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": metadata["name"],
    }
    body = {"addressType": "IPv4", "endpoints": endpoints, "ports": ports}
    old = store.find("EndpointSlice", metadata["namespace"], name)
    if old is None:
        new = {"metadata": {"name": name, "namespace": metadata["namespace"], "labels": labels}, **body}
        store.create("EndpointSlice", new)
    elif old["endpoints"] != endpoints:
        store.update("EndpointSlice", {**old, **body})


def _endpoint(pod: Json) -> Json:
    terminating = "deletionTimestamp" in pod["metadata"]
    ready = is_ready(pod)
    target = {key: pod["metadata"][key] for key in ("namespace", "name", "uid")}
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready and not terminating, "serving": ready, "terminating": terminating},
        "targetRef": {"kind": "Pod", **target},
        "nodeName": pod["spec"]["nodeName"],
    }


def _budget(store: Store, budget: Json) -> None:
    """The disruption controller: how many may go now."""
    metadata, spec, old = budget["metadata"], budget["spec"], budget.get("status") or {}
    matching = [
        pod
        for pod in store.list("Pod", metadata["namespace"])
        if selector_matches(spec.get("selector"), pod["metadata"].get("labels") or {})
    ]
    living = alive(matching)
    # A pod that the eviction subresource has counted is taken as gone until it is seen to go.
    names = {pod["metadata"]["name"] for pod in living}
    disrupted = {name: at for name, at in (old.get("disruptedPods") or {}).items() if name in names}
    healthy = sum(is_ready(pod) and pod["metadata"]["name"] not in disrupted for pod in living)
    expected = sum(_scale_of(store, uid) for uid in {controller_uid(pod) for pod in living})
    desired = (
        _count(spec["minAvailable"], expected)
        if "minAvailable" in spec
        else expected - _count(spec.get("maxUnavailable", 1), expected)
    )
    allowed = max(0, healthy - desired)
    status: Json = {
        "observedGeneration": metadata.get("generation", 1),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "conditions": [_budget_condition(store, old, allowed, metadata.get("generation", 1))],
    }
    _update_status(store, budget, status | ({"disruptedPods": disrupted} if disrupted else {}))


def _scale_of(store: Store, uid: str | None) -> int:
    for kind in ("ReplicaSet", "StatefulSet", "Job"):
        for owner in store.list(kind):
            if owner["metadata"]["uid"] == uid:
                return int(owner["spec"].get("replicas", owner["spec"].get("parallelism", 1)))
    return 1


def _count(value: int | str, expected: int) -> int:
    """A count, or a percentage rounded up."""
    if isinstance(value, str):
        return -(-int(value.rstrip("%")) * expected // 100)
    return value


def _budget_condition(store: Store, old: Json, allowed: int, generation: int) -> Json:
    status, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    before = (old.get("conditions") or [{}])[0]
    changed = timestamp(store.clock()) if before.get("status") != status else before["lastTransitionTime"]
    return {
        "type": "DisruptionAllowed",
        "status": status,
        "observedGeneration": generation,
        "lastTransitionTime": changed,
        "reason": reason,
        "message": "",
    }


def _node_taint(store: Store, node: Json) -> None:
    """The node controller's part of a cordon: its own taint follows spec.unschedulable."""
    taints = node["spec"].get("taints") or []
    tainted = any(taint["key"] == UNSCHEDULABLE for taint in taints)
    if bool(node["spec"].get("unschedulable")) == tainted:
        return
    if tainted:
        taints = [taint for taint in taints if taint["key"] != UNSCHEDULABLE]
    else:
        taints = [*taints, {"key": UNSCHEDULABLE, "effect": "NoSchedule", "timeAdded": timestamp(store.clock())}]
    spec = {key: value for key, value in node["spec"].items() if key != "taints"}
    store.update("Node", {**node, "spec": spec | ({"taints": taints} if taints else {})})
