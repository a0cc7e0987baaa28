"""The live cluster as a process: the simulated API server over a store whose live node has real processes."""

import asyncio
import json
import signal
import sys
import time
from pathlib import Path

from aiohttp import web

from remediator.drill.apiserver.app import create_app
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.live.cast import CAST, LIMIT_BYTES, LIVE_NODE, SPARE_NODE, LiveWorkload
from remediator.drill.live.cgroup_node import CgroupNode
from remediator.drill.live.kubelet import LiveKubelet
from remediator.drill.processes import DrillError
from remediator.drill.simulation.controllers import run_all
from remediator.drill.simulation.scheduler import schedule
from remediator.drill.simulation.server import kubeconfig

_TICK_SECONDS = 0.1
_MIB = 1024**2


def populate(store: Store) -> None:
    """Two nodes and the cast, all of it on the live node."""
    since = timestamp(store.clock())
    for name, memory in ((LIVE_NODE, "1Gi"), (SPARE_NODE, "8Gi")):
        quantities = {"memory": memory, "cpu": "4", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": since}
        status = {"capacity": quantities, "allocatable": quantities, "conditions": [ready], "addresses": []}
        store.create("Node", {"metadata": {"name": name, "labels": {}}, "spec": {}})
        store.update("Node", {**store.get("Node", None, name), "status": status}, subresource="status")
    for namespace in sorted({"default", "remediator", *(workload.namespace for workload in CAST)}):
        store.create("Namespace", {"metadata": {"name": namespace}})
    for workload in CAST:
        _deploy(store, workload)
    run_all(store)
    run_all(store)
    for pod in store.list("Pod"):
        store.update("Pod", {**pod, "spec": {**pod["spec"], "nodeName": LIVE_NODE}})


def _deploy(store: Store, workload: LiveWorkload) -> None:
    labels = {"app": workload.name}
    container = {"name": "main", "image": "live", "resources": {"requests": {"memory": f"{workload.request_mib}Mi"}}}
    pod = {"containers": [container], "terminationGracePeriodSeconds": 5, "tolerations": [], "priority": 0}
    template: Json = {"metadata": {"labels": labels, "annotations": {}}, "spec": pod}
    spec = {"replicas": workload.replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": workload.name, "namespace": workload.namespace, "labels": labels}
    top = store.create("Deployment", {"metadata": metadata, "spec": spec})
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": workload.name, "uid": top["metadata"]["uid"]}
    owned = {**labels, "pod-template-hash": "live"}
    reference = {**owner, "controller": True, "blockOwnerDeletion": True}
    set_metadata = {**metadata, "name": f"{workload.name}-live", "labels": owned, "ownerReferences": [reference]}
    store.create("ReplicaSet", {"metadata": set_metadata, "spec": {**spec, "selector": {"matchLabels": owned}}})


class LiveCluster:
    """Serves the store and lets the kubelet work."""

    def __init__(self, node: CgroupNode) -> None:
        self.store = Store()
        populate(self.store)
        self.kubelet = LiveKubelet(self.store, node, {workload.name: workload for workload in CAST})
        self._node = node
        self._began = time.monotonic()
        self.app = create_app(self.store)
        self.app.router.add_get("/drill/live", self._state)

    async def _state(self, request: web.Request) -> web.Response:
        told = {"used_bytes": self._node.used_bytes(), "limit_bytes": self._node.limit_bytes}
        listed = {"oom_kills": self.kubelet.oom_kills, "gone": self.kubelet.gone}
        return web.json_response({**told, **listed, "seconds": round(time.monotonic() - self._began, 2)})

    async def run(self, host: str, port: int, kubeconfig_path: Path, stop: asyncio.Event) -> None:
        """Serve until told to stop."""
        runner = web.AppRunner(self.app, shutdown_timeout=0.5, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        kubeconfig_path.write_text(kubeconfig(f"http://{host}:{port}"))
        while not stop.is_set():
            self.kubelet.tick(time.monotonic() - self._began)
            schedule(self.store)
            run_all(self.store)
            await asyncio.sleep(_TICK_SECONDS)
        await runner.cleanup()


async def serve(host: str, port: int, kubeconfig_path: Path, node_path_file: Path) -> None:
    """Make the node, serve, and remove everything at the end."""
    node = CgroupNode(LIMIT_BYTES)
    try:
        node_path_file.write_text(json.dumps({"path": node.path, "version": node.version}))
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        cluster = LiveCluster(node)
        await cluster.run(host, port, kubeconfig_path, stop)
        cluster.kubelet.close()
    finally:
        node.close()


def main(address: str, kubeconfig_file: str, path_file: str) -> None:
    """Run until terminated; the node's cgroup is written to `path_file` as soon as it is there."""
    host, _, port = address.rpartition(":")
    try:
        asyncio.run(serve(host, int(port), Path(kubeconfig_file), Path(path_file)))
    except DrillError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:4])
