"""From a scenario to the cluster as it is when the story begins: everything has been running for an hour.

Also the one place that writes new pod objects, so that first pods and successors look alike.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.scenario import BudgetSpec, NodeSpec, Scenario, WorkloadSpec, expanded
from remediator.drill.simulation.naming import identity, suffix
from remediator.drill.simulation.pod_status import qos_class, running_status
from remediator.drill.simulation.quantities import quantity

AGE = timedelta(hours=1)
SERVING = "remediator.io/serving"
JOB_TRACKING = "batch.kubernetes.io/job-tracking"
"""Finalizer that keeps a Job's finished pod until the Job controller has counted it."""
_NODE = "node.kubernetes.io/"


def populate(store: Store, scenario: Scenario) -> None:
    """Create nodes, namespaces, workloads with their running pods, services and budgets."""
    for index, (name, spec) in enumerate((n, s) for s in scenario.nodes for n in expanded(s)):
        _add(store, "Node", node(name, index, spec, store.clock()))
    names = {"default", "kube-system", "remediator", *(w.namespace for w in scenario.workloads)}
    names |= {config_map.namespace for config_map in scenario.config_maps}
    for name in sorted(names):
        _add(store, "Namespace", {"metadata": {"name": name}, "spec": {}, "status": {"phase": "Active"}})
    for workload in scenario.workloads:
        _add_workload(store, scenario, workload)
    for config_map in scenario.config_maps:
        metadata = {"namespace": config_map.namespace, "name": config_map.name}
        _add(store, "ConfigMap", {"metadata": metadata, "data": dict(config_map.data)})
    for budget in scenario.budgets:
        _add(store, "PodDisruptionBudget", disruption_budget(budget))


def _add(store: Store, kind: str, obj: Json) -> Json:
    """Load an object that is an hour old."""
    metadata = obj["metadata"]
    metadata.setdefault("uid", identity(kind, metadata.get("namespace", ""), metadata["name"]))
    metadata["creationTimestamp"] = timestamp(store.clock() - AGE)
    if kind not in ("Node", "Namespace", "Service"):
        metadata["generation"] = 1
    return store.load(kind, obj)


def node(name: str, index: int, spec: NodeSpec, now: datetime) -> Json:
    """A Node object."""
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    address = f"10.0.{index // 250}.{index % 250 + 1}"
    resources = {"cpu": "32", "memory": quantity(spec.memory), "pods": "110", "ephemeral-storage": "500Gi"}
    resources |= {resource: quantity(size) for resource, size in spec.extended.items()}
    allocatable = {**resources, "memory": quantity(spec.memory - min(2**30, spec.memory // 16))}
    return {
        "metadata": {"name": name, "labels": {**labels, **spec.labels}, "annotations": {}},
        "spec": {"podCIDR": f"10.244.{index % 250}.0/24"},
        "status": {
            "capacity": resources,
            "allocatable": allocatable,
            "conditions": [
                _condition("MemoryPressure", "False", "KubeletHasSufficientMemory", now),
                _condition("DiskPressure", "False", "KubeletHasNoDiskPressure", now),
                _condition("PIDPressure", "False", "KubeletHasSufficientPID", now),
                _condition("Ready", "True", "KubeletReady", now),
            ],
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
            "nodeInfo": {
                "kubeletVersion": "v1.36.2",
                "osImage": "Debian GNU/Linux 12 (bookworm)",
                "kernelVersion": "6.1.0-drill",
                "containerRuntimeVersion": "containerd://2.1.0",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }


def _condition(kind: str, status: str, reason: str, now: datetime) -> Json:
    moment = timestamp(now - AGE)
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "",
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
    }


def disruption_budget(spec: BudgetSpec) -> Json:
    """A PodDisruptionBudget over the pods of a workload."""
    limits = {"minAvailable": spec.min_available, "maxUnavailable": spec.max_unavailable}
    kept = {key: value for key, value in limits.items() if value is not None}
    selector = {"matchLabels": {"app": spec.workload}}
    return {
        "metadata": {"name": spec.workload, "namespace": spec.namespace},
        "spec": {**kept, "selector": selector},
        "status": {"disruptionsAllowed": 0},
    }


def pod_template(spec: WorkloadSpec) -> Json:
    """Labels, annotations and spec of a workload's pods."""
    labels = {"app": spec.name, **spec.labels}
    if spec.serving_label:
        labels[SERVING] = "true"
    requests = {"memory": quantity(spec.request)} if spec.request else {}
    requests |= {name: quantity(size) for name, size in spec.extended_requests.items()}
    resources: Json = {"requests": requests} if requests else {}
    if spec.limit is not None:
        resources["limits"] = {"memory": quantity(spec.limit)}
    container = {"name": "main", "image": f"drill/{spec.name}:1", "resources": resources}
    sources: Mapping[str, Json] = {
        "pvc": {"persistentVolumeClaim": {"claimName": f"data-{spec.name}"}},
        "emptyDir": {"emptyDir": {}},
        "hostPath": {"hostPath": {"path": "/var/log"}},
    }
    pod_spec: Json = {
        "containers": [container],
        "volumes": [{"name": kind.lower(), **sources[kind]} for kind in spec.volumes],
        "restartPolicy": "Never" if spec.kind == "Job" else "Always",
        "terminationGracePeriodSeconds": int(spec.grace),
        "schedulerName": "default-scheduler",
        "priority": spec.priority or 0,
    }
    pod_spec["tolerations"] = tolerations(spec, qos_class(pod_spec))
    if spec.node_selector:
        pod_spec["nodeSelector"] = dict(spec.node_selector)
    if spec.priority_class:
        pod_spec["priorityClassName"] = spec.priority_class
    return {"metadata": {"labels": labels, "annotations": dict(spec.annotations)}, "spec": pod_spec}


def tolerations(spec: WorkloadSpec, qos: str) -> list[Json]:
    """The workload's own, and those that admission and the DaemonSet controller add."""
    own = [{k: v for k, v in each.model_dump().items() if v} for each in spec.tolerations]
    if spec.kind == "DaemonSet":
        lasting = [("not-ready", "NoExecute"), ("unreachable", "NoExecute")]
        closed = [
            (name, "NoSchedule") for name in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
        ]
        added: list[Json] = [
            {"key": _NODE + name, "operator": "Exists", "effect": effect} for name, effect in lasting + closed
        ]
        return [*own, *added]
    added = [
        {"key": _NODE + name, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for name in ("not-ready", "unreachable")
    ]
    if qos != "BestEffort":
        added.append({"key": _NODE + "memory-pressure", "operator": "Exists", "effect": "NoSchedule"})
    return [*own, *added]


def new_pod(owner: Json, template: Json, name: str) -> Json:
    """A pod of a controller, not yet scheduled."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = dict(template["metadata"].get("labels") or {})
    metadata: Json = {
        "name": name,
        "generateName": f"{owner['metadata']['name']}-",
        "namespace": owner["metadata"]["namespace"],
        "labels": labels,
        "annotations": dict(template["metadata"].get("annotations") or {}),
        "ownerReferences": [reference],
    }
    if owner["kind"] == "ReplicaSet":
        labels["pod-template-hash"] = owner["metadata"]["labels"]["pod-template-hash"]
    elif owner["kind"] == "StatefulSet":
        labels["statefulset.kubernetes.io/pod-name"] = name
    elif owner["kind"] == "Job":
        labels |= {"batch.kubernetes.io/job-name": owner["metadata"]["name"], "job-name": owner["metadata"]["name"]}
        metadata["finalizers"] = [JOB_TRACKING]
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": dict(template["spec"]),
        "status": {"phase": "Pending", "qosClass": qos_class(template["spec"])},
    }


def _add_workload(store: Store, scenario: Scenario, spec: WorkloadSpec) -> None:
    template = pod_template(spec)
    top = _add(store, spec.kind, controller(spec, template))
    owner = top
    if spec.kind == "Deployment":
        owner = _add(store, "ReplicaSet", replica_set(top, template, spec.replicas))
    if spec.service:
        _add(store, "Service", service(spec))
    nodes = list(scenario.node_names) if spec.kind == "DaemonSet" else placed(scenario, spec)
    for index, node_name in enumerate(nodes):
        name = f"{spec.name}-{index}"
        if spec.kind != "StatefulSet":
            name = f"{owner['metadata']['name']}-{suffix(scenario.name, spec.namespace, spec.name, str(index))}"
        pod = running(new_pod(owner, template, name), node_name, spec.startup, store.clock() - AGE)
        _add(store, "Pod", pod)


def placed(scenario: Scenario, spec: WorkloadSpec) -> list[str]:
    """Node of each first pod: named places first, the rest spread over the nodes that are not named."""
    named = [node for node, count in spec.placement.items() for _ in range(count)][: spec.replicas]
    others = [node for node in scenario.node_names if node not in spec.placement] or list(scenario.node_names)
    # Workloads begin at different nodes, so that small ones do not all meet on the first.
    shift = sum(w.replicas for w in scenario.workloads[: scenario.workloads.index(spec)])
    return named + [others[(shift + i) % len(others)] for i in range(spec.replicas - len(named))]


def controller(spec: WorkloadSpec, template: Json) -> Json:
    """The Deployment, StatefulSet, DaemonSet or Job object."""
    selector = {"matchLabels": {"app": spec.name}}
    metadata = {"name": spec.name, "namespace": spec.namespace, "labels": {"app": spec.name}, "annotations": {}}
    body: Json = {"selector": selector, "template": template}
    if spec.kind == "Job":
        body |= {"parallelism": spec.replicas, "completions": spec.replicas}
        body["backoffLimit"] = spec.backoff_limit
    elif spec.kind != "DaemonSet":
        body["replicas"] = spec.replicas
    if spec.kind == "StatefulSet":
        body["serviceName"] = spec.name
    return {"metadata": metadata, "spec": body, "status": {"replicas": spec.replicas, "observedGeneration": 1}}


def replica_set(deployment: Json, template: Json, replicas: int) -> Json:
    """The one ReplicaSet of a Deployment."""
    metadata = deployment["metadata"]
    template_hash = suffix("template", metadata["namespace"], metadata["name"], length=9)
    labels = {"app": metadata["name"], "pod-template-hash": template_hash}
    reference = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "metadata": {
            "name": f"{metadata['name']}-{template_hash}",
            "namespace": metadata["namespace"],
            "labels": labels,
            "ownerReferences": [reference],
        },
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        "status": {"replicas": replicas, "observedGeneration": 1},
    }


def service(spec: WorkloadSpec) -> Json:
    """A Service that selects the workload's pods, and those in service only where that label is used."""
    selector = {"app": spec.name} | ({SERVING: "true"} if spec.serving_label else {})
    ports = [{"port": 80, "protocol": "TCP"}]
    return {
        "metadata": {"name": spec.name, "namespace": spec.namespace},
        "spec": {"selector": selector, "ports": ports, "type": "ClusterIP", "clusterIP": "10.96.0.1"},
        "status": {"loadBalancer": {}},
    }


def running(pod: Json, node_name: str, startup_seconds: float, started: datetime) -> Json:
    """A pod that has been Ready on a node since `startup_seconds` after it started."""
    spec = {**pod["spec"], "nodeName": node_name}
    ready = started + timedelta(seconds=startup_seconds)
    return {**pod, "spec": spec, "status": running_status(pod, spec, started, ready)}
