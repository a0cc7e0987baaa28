"""Controllers of Deployments, ReplicaSets, StatefulSets, Jobs and DaemonSets: missing pods are made, surplus ones go.

Each takes one controller object and the pods it controls; pods that are taken off a Service by a label stay its pods.
"""

import uuid
from collections.abc import Sequence

from remediator.drill.apiserver.eviction import delete_pod, is_ready
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.simulation.build import JOB_TRACKING, new_pod
from remediator.drill.simulation.controllers.ownership import FINISHED, alive, controller_uid, update_status
from remediator.drill.simulation.naming import suffix
from remediator.drill.simulation.scheduler import tolerates

Pods = Sequence[Json]
_NO_PODS = ("NoSchedule", "NoExecute")


def deployment(store: Store, owner: Json) -> None:
    """Hand the wanted count on to the ReplicaSet, and its status back."""
    uid = owner["metadata"]["uid"]
    sets = [rs for rs in store.list("ReplicaSet", owner["metadata"]["namespace"]) if controller_uid(rs) == uid]
    wanted = owner["spec"].get("replicas", 1)
    for each in sets:
        if each["spec"].get("replicas") != wanted:
            store.update("ReplicaSet", {**each, "spec": {**each["spec"], "replicas": wanted}})
        counted = {key: value for key, value in each.get("status", {}).items() if key.endswith("eplicas")}
        update_status(store, owner, {**owner.get("status", {}), **counted})


def replica_set(store: Store, owner: Json, pods: Pods) -> None:
    """As many living pods as wanted; the least useful go first."""
    living, wanted = alive(pods), owner["spec"].get("replicas", 1)
    new = [_create(store, owner, random_name(owner)) for _ in range(wanted - len(living))]
    for pod in sorted(living, key=_usefulness)[: max(0, len(living) - wanted)]:
        delete_pod(store, pod, None)
    _replica_status(store, owner, [*living, *new])


def stateful_set(store: Store, owner: Json, pods: Pods) -> None:
    """Ordered and sticky: one pod at a time, an ordinal again only when its old pod is gone."""
    wanted = owner["spec"].get("replicas", 1)
    by_name = {pod["metadata"]["name"]: pod for pod in pods}
    _next_ordinal(store, owner, wanted, by_name)
    excess = [pod for pod in alive(pods) if _ordinal(pod) >= wanted]
    if excess and not any("deletionTimestamp" in pod["metadata"] for pod in pods):
        delete_pod(store, max(excess, key=_ordinal), None)
    _replica_status(store, owner, alive(pods))


def _next_ordinal(store: Store, owner: Json, wanted: int, by_name: dict[str, Json]) -> None:
    for index in range(wanted):
        name = f"{owner['metadata']['name']}-{index}"
        pod = by_name.get(name)
        if pod is None:
            _create(store, owner, name)
            return
        if "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") in FINISHED:
            store.delete("Pod", pod["metadata"]["namespace"], name)
            return
        if not is_ready(pod) or "deletionTimestamp" in pod["metadata"]:
            return


def job(store: Store, owner: Json, pods: Pods) -> None:
    """`parallelism` pods at work until `completions` are done, or more than `backoffLimit` have failed."""
    succeeded, failed = _count_finished(store, owner, pods)
    living, spec = alive(pods), owner["spec"]
    status = {**owner.get("status", {}), "succeeded": succeeded, "failed": failed}
    over = failed > spec.get("backoffLimit", 6)
    if over or _is_over(owner):
        for pod in living:
            delete_pod(store, pod, None)
        living = []
    missing = min(spec.get("parallelism", 1), spec.get("completions", 1) - succeeded) - len(living)
    if not over and not _is_over(owner):
        living += [_create(store, owner, random_name(owner)) for _ in range(missing)]
    status |= {"active": len(living), "ready": sum(is_ready(pod) for pod in living)}
    status["terminating"] = sum("deletionTimestamp" in pod["metadata"] for pod in pods)
    if not _is_over(owner):
        status |= _verdict(store, owner, succeeded, over=over)
    update_status(store, owner, status)


def _is_over(owner: Json) -> bool:
    conditions = owner.get("status", {}).get("conditions") or []
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)


def _verdict(store: Store, owner: Json, succeeded: int, *, over: bool) -> Json:
    moment = timestamp(store.clock())
    common = {"status": "True", "lastProbeTime": moment, "lastTransitionTime": moment}
    if over:
        message = "Job has reached the specified backoff limit"
        return {"conditions": [{"type": "Failed", "reason": "BackoffLimitExceeded", "message": message, **common}]}
    if succeeded >= owner["spec"].get("completions", 1):
        return {
            "completionTime": moment,
            "conditions": [{"type": "Complete", "reason": "CompletionsReached", **common}],
        }
    return {}


def _count_finished(store: Store, owner: Json, pods: Pods) -> tuple[int, int]:
    """(succeeded, failed) so far: each finished pod is counted once, with the taking off of its finalizer."""
    counts = {phase: owner.get("status", {}).get(phase.lower(), 0) for phase in FINISHED}
    for pod in pods:
        metadata, phase = pod["metadata"], pod["status"].get("phase")
        if phase not in FINISHED or JOB_TRACKING not in (metadata.get("finalizers") or []):
            continue
        counts[phase] += 1
        others = [name for name in metadata["finalizers"] if name != JOB_TRACKING]
        if "deletionTimestamp" in metadata and not others:
            store.delete("Pod", metadata["namespace"], metadata["name"])
        else:
            store.update("Pod", {**pod, "metadata": {**metadata, "finalizers": others}})
    return counts["Succeeded"], counts["Failed"]


def daemon_set(store: Store, owner: Json, pods: Pods) -> None:
    """One pod per node whose taints it tolerates, bound by name as the DaemonSet controller's affinity would."""
    template = owner["spec"]["template"]
    for pod in pods:
        if pod["status"].get("phase") == "Failed" and "deletionTimestamp" not in pod["metadata"]:
            store.delete("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
    living = alive(pods)
    occupied = {pod["spec"].get("nodeName") for pod in pods}
    wanted = [node["metadata"]["name"] for node in store.list("Node") if _may_run(template, node)]
    for name in wanted:
        if name not in occupied:
            pod = new_pod(owner, template, random_name(owner))
            living.append(store.create("Pod", {**pod, "spec": {**pod["spec"], "nodeName": name}}))
    status = {"desiredNumberScheduled": len(wanted), "currentNumberScheduled": len(living)}
    status["numberReady"] = sum(is_ready(pod) for pod in living)
    update_status(store, owner, {**owner.get("status", {}), **status})


def _may_run(template: Json, node: Json) -> bool:
    hard = [taint for taint in node["spec"].get("taints") or [] if taint["effect"] in _NO_PODS]
    selector = template["spec"].get("nodeSelector") or {}
    labels = node["metadata"].get("labels") or {}
    tolerated = all(tolerates(template["spec"].get("tolerations") or [], taint) for taint in hard)
    return tolerated and all(labels.get(key) == value for key, value in selector.items())


def random_name(owner: Json) -> str:
    """A generated pod name."""
    return f"{owner['metadata']['name']}-{suffix(uuid.uuid4().hex)}"


def _ordinal(pod: Json) -> int:
    return int(pod["metadata"]["name"].rpartition("-")[2])


def _usefulness(pod: Json) -> tuple[bool, bool, str]:
    """Unscheduled pods are of least use, then unready ones."""
    return bool(pod["spec"].get("nodeName")), is_ready(pod), pod["metadata"]["name"]


def _create(store: Store, owner: Json, name: str) -> Json:
    return store.create("Pod", new_pod(owner, owner["spec"]["template"], name))


def _replica_status(store: Store, owner: Json, living: Pods) -> None:
    ready = sum(is_ready(pod) for pod in living)
    counts = {"replicas": len(living), "readyReplicas": ready, "availableReplicas": ready}
    update_status(store, owner, {**owner.get("status", {}), **counts, "updatedReplicas": len(living)})
