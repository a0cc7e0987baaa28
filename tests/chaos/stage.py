"""One run's world: the simulated cluster in this process, over real HTTP; Prometheus and Alertmanager as small servers
of the same loop; the product's replicas as real processes, each known by its token."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
import yaml
from aiohttp import web

from remediator.drill.scenario import Scenario
from remediator.drill.simulation.server import Cluster
from tests.chaos.weather import Weather

Json = dict[str, Any]
REPO = Path(__file__).resolve().parents[2]
SPEED = 60.0
NODE, TAINT = "node-1", {"key": "gpu", "value": "true", "effect": "NoSchedule"}
POLICY: Json = {
    "mode": "enforce",
    "release": "auto",
    "safe_used_ratio": 0.70,
    "business": [
        {"namespace": "batch", "tier": "offline"},
        {"namespace": "logging", "tier": "low"},
        {"namespace": "shop", "tier": "important"},
        {"namespace": "data", "tier": "critical"},
    ],
    "caps": {"evictions_per_hour": 4},
}
SCENARIO: Json = {
    "name": "chaos",
    "title": "a node that is RED",
    "duration": "9h",
    "focus": NODE,
    "nodes": [{"name": "node-{n}", "count": 4, "memory": "64Gi", "system": "3Gi"}],
    "workloads": [
        {"kind": "Job", "namespace": "batch", "name": "spark", "replicas": 3, "usage": "8Gi", "request": "4Gi"}
        | {"placement": {NODE: 3}, "startup": "10s"},
        {
            "kind": "Deployment",
            "namespace": "logging",
            "name": "shipper",
            "replicas": 3,
            "usage": "3Gi",
            "request": "1Gi",
        }
        | {"placement": {NODE: 1}, "startup": "10s"},
        {"kind": "Deployment", "namespace": "shop", "name": "api", "replicas": 4, "usage": "12Gi", "request": "8Gi"}
        | {"placement": {NODE: 1}, "startup": "30s"},
        {"kind": "StatefulSet", "namespace": "data", "name": "kafka", "replicas": 3, "usage": "19Gi", "request": "9Gi"}
        | {"placement": {NODE: 1}, "startup": "60s", "volumes": ["pvc"]},
    ],
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that the API server answered, in order."""

    sender: str
    method: str
    path: str
    status: int
    body: str
    at: float


@dataclass
class Stage:
    """What runs in one run, and what was seen."""

    weather: Weather
    directory: Path
    asked: list[Asked] = field(default_factory=list)
    replicas: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    killed: list[str] = field(default_factory=list)
    fair_at: float = float("inf")
    """From then on nothing misbehaves."""
    _writes: int = 0
    _level: int = 3

    def __post_init__(self) -> None:
        self.cluster = Cluster(Scenario.model_validate(SCENARIO), SPEED)

        @web.middleware
        async def noted(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
            return await self._noted(request, handler)

        self.cluster.app.middlewares.append(noted)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runners: list[web.AppRunner] = []
        self.urls: dict[str, str] = {}

    # --- servers ----------------------------------------------------------------------------------------

    def start_servers(self) -> None:
        """All three, and the cluster's time."""
        self._thread.start()
        prometheus, alertmanager = web.Application(), web.Application()
        prometheus.router.add_route("*", "/{rest:.*}", self._prometheus)
        alertmanager.router.add_route("*", "/{rest:.*}", self._alertmanager)
        for name, app in {"cluster": self.cluster.app, "prometheus": prometheus, "alertmanager": alertmanager}.items():
            self.urls[name] = asyncio.run_coroutine_threadsafe(self._serve(app), self._loop).result(20)
        requests.post(f"{self.urls['cluster']}/drill/start", timeout=10).raise_for_status()
        for crd in sorted((REPO / "helm" / "remediator" / "crds").glob("*.yaml")):
            path = f"{self.urls['cluster']}/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            requests.post(path, json=yaml.safe_load(crd.read_text()), timeout=10).raise_for_status()
        self._patch_node(NODE, {"taints": [TAINT]})
        self._patch_node("node-3", {"unschedulable": True})

    async def _serve(self, app: web.Application) -> str:
        runner = web.AppRunner(app, shutdown_timeout=0.2, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self._runners.append(runner)
        return f"http://127.0.0.1:{runner.addresses[0][1]}"

    def _patch_node(self, name: str, spec: Json) -> None:
        kind = {"Content-Type": "application/merge-patch+json"}
        url = f"{self.urls['cluster']}/api/v1/nodes/{name}"
        requests.patch(url, data=json.dumps({"spec": spec}), headers=kind, timeout=10).raise_for_status()

    def begin(self) -> None:
        """The weather comes, for a while, and with it the pressure."""
        faults = [dict(fault) for fault in self.weather.faults]
        requests.put(f"{self.urls['cluster']}/drill/faults", json=faults, timeout=10).raise_for_status()
        self._loop.call_soon_threadsafe(self._loop.call_later, self.weather.lasts_seconds, self._clear)
        self.fair_at = time.time() + self.weather.lasts_seconds

    def _clear(self) -> None:
        threading.Thread(target=self._put_no_faults, daemon=True).start()

    def _put_no_faults(self) -> None:
        with contextlib.suppress(requests.RequestException):
            requests.put(f"{self.urls['cluster']}/drill/faults", json=[], timeout=10)

    @property
    def fair(self) -> bool:
        """The weather has passed."""
        return time.time() >= self.fair_at

    async def _noted(self, request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        """Every request in order; after the n-th write of a replica that took effect its sender is killed."""
        body = (await request.read()).decode("utf-8", "replace")
        answer: web.StreamResponse = await handler(request)
        sender = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if sender in self.replicas and request.method != "GET" and "selfsubjectaccessreview" not in request.path:
            self.asked.append(Asked(sender, request.method, request.path, answer.status, body, time.time()))
            if answer.status < 300 and not request.path.endswith("/events"):
                self._writes += 1
                if self._writes == self.weather.kill_after_writes and not self.killed:
                    self.kill(sender)
        return answer

    # --- Prometheus and Alertmanager --------------------------------------------------------------------

    async def _prometheus(self, request: web.Request) -> web.Response:
        mode = "well" if self.fair else self.weather.prometheus
        if mode == "gone":
            raise web.HTTPServiceUnavailable
        if mode == "slow":
            await asyncio.sleep(1.0)
        now = time.time() + (7200 if self.weather.prometheus == "two hours ahead" else 0)
        query = request.query.get("query") or str((await request.post()).get("query", ""))
        kind, result = self._answer(query, now)
        told: Json = {"status": "success", "data": {"resultType": kind, "result": result}}
        if mode == "partial":
            told["warnings"] = ["partial response"]
        return web.json_response(told)

    def _answer(self, query: str, now: float) -> tuple[str, Any]:
        if query == "time()":
            return "scalar", [now, str(now)]
        state = self.cluster.world.state()["nodes"]
        if query == "node:memory_level":
            return _vector([({"node": name}, self._level_of(name, state)) for name in state], now)
        if query.startswith("ALERTS"):
            labels = {"alertname": "NodeMemoryPressure", "level": "red", "node": NODE, "alertstate": "firing"}
            return _vector([(labels, 1)] if self._level_of(NODE, state) == 3 else [], now)
        node = next((name for name in state if f'node="{name}"' in query), "")
        if not node:
            return _vector([], now)
        return _vector(self._memory(node, state, now) if "__name__" in query else self._pods(node, now), now)

    def _level_of(self, node: str, state: Json) -> int:
        """RED until the safe level is reached, as a latched level may be."""
        if node != NODE or self.fair_at == float("inf"):
            return 0
        if state[node]["used_ratio"] <= POLICY["safe_used_ratio"]:
            self._level = 0
        return self._level

    def _memory(self, node: str, state: Json, now: float) -> list[tuple[Json, float]]:
        recorded = {
            "node:memory_level": self._level_of(node, state),
            "node:memory_total:bytes": state[node]["total_bytes"],
            "node:memory_available:bytes": state[node]["total_bytes"] - state[node]["used_bytes"],
        }
        return [*(({"__name__": name}, value) for name, value in recorded.items()), ({"what": "sampled_at"}, now)]

    def _pods(self, node: str, now: float) -> list[tuple[Json, float]]:
        found: list[tuple[Json, float]] = [({"what": "exported"}, 1)]
        for pod in self.cluster.world.kubelets.on_node(node):
            used, uid = self.cluster.world.kubelets.usage(pod), pod["metadata"]["uid"]
            for what, value in {"working_set": used, "anon": used, "sampled_at": now}.items():
                found.append(({"what": what, "uid": uid}, value))
        return found

    async def _alertmanager(self, request: web.Request) -> web.Response:
        if self.weather.alertmanager == "gone" and not self.fair:
            raise web.HTTPServiceUnavailable
        return web.json_response([])

    # --- replicas ---------------------------------------------------------------------------------------

    def start_replica(self, name: str, port: int) -> None:
        """One process of the product; a name that comes back has its old identity, as a StatefulSet's pod has."""
        home = self.directory / name
        home.mkdir(exist_ok=True)
        (home / "policy.yaml").write_text(yaml.safe_dump(POLICY))
        cluster = {"name": "c", "cluster": {"server": self.urls["cluster"]}}
        context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
        user = {"name": "u", "user": {"token": name}}
        head = {"apiVersion": "v1", "kind": "Config", "current-context": "c"}
        kubeconfig = head | {"clusters": [cluster], "contexts": [context], "users": [user]}
        (home / "kubeconfig").write_text(json.dumps(kubeconfig))
        command = [sys.executable, "-m", "remediator.cli", "serve", "--listen", f"127.0.0.1:{port}"]
        command += ["--prometheus", self.urls["prometheus"], "--alertmanager", self.urls["alertmanager"]]
        command += ["--kubeconfig", str(home / "kubeconfig"), "--config", str(home / "policy.yaml")]
        command += ["--audit-dir", str(home / "audit"), "--identity", name, "--speed", str(SPEED)]
        with (home / "log").open("ab") as log:
            self.replicas[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=REPO, start_new_session=True)
        self.urls[name] = f"http://127.0.0.1:{port}"

    def kill(self, name: str) -> None:
        """SIGKILL to the whole of a replica: it finishes nothing."""
        self.killed.append(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.replicas[name].pid, signal.SIGKILL)

    def end(self) -> None:
        """Whatever still runs."""
        for name, process in self.replicas.items():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM if name not in self.killed else signal.SIGKILL)
        for process in self.replicas.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)
        for runner in self._runners:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def audit(self) -> Iterator[Json]:
        """Lines of all replicas."""
        for file in sorted(self.directory.glob("*/audit/*")):
            for line in file.read_text().splitlines():
                with contextlib.suppress(ValueError):  # cut off by the kill
                    yield json.loads(line)


def _vector(samples: list[tuple[Json, float]], now: float) -> tuple[str, Any]:
    return "vector", [{"metric": labels, "value": [now, str(value)]} for labels, value in samples]
