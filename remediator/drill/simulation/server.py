"""The simulated cluster as a process: API server, metrics endpoints and the drill's own doors on one port."""

import asyncio
import contextlib
import json
import signal
import time
import traceback
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from remediator.drill.apiserver.access import Access
from remediator.drill.apiserver.app import create_app
from remediator.drill.apiserver.faults import Faults
from remediator.drill.apiserver.store import Store
from remediator.drill.scenario import FaultSpec, Scenario
from remediator.drill.simulation.endpoints import cadvisor, kube_state_metrics, memory_exporter, node_exporter
from remediator.drill.simulation.endpoints.exposition import render
from remediator.drill.simulation.spoiling import spoilt
from remediator.drill.simulation.world import World

TICK_SECONDS = 0.1


class Cluster:
    """Serves one world and lets its time pass once it was started."""

    def __init__(self, scenario: Scenario, speed: float, access: Access | None = None) -> None:
        faults = Faults(scenario.seed)
        self.store = Store()
        self.world = World(scenario, self.store, faults, speed)
        self._speed = speed
        housekeeping = cadvisor.Housekeeping()
        self._pages: dict[str, Callable[[str], str]] = {
            "exporter": lambda node: render(memory_exporter.families(self.world, node)),
            "node-exporter": lambda node: render(node_exporter.families(self.world, node)),
            "cadvisor": lambda node: housekeeping.page(self.world, node, self.store.clock()),
        }
        self._started_at: float | None = None
        self.app = create_app(self.store, faults=faults, access=access)
        self.app.router.add_get("/metrics/kube-state-metrics", self._kube_state_metrics)
        self.app.router.add_get("/metrics/{endpoint}/{node}", self._metrics)
        self.app.router.add_put("/drill/metrics-faults", self._put_metrics_faults)
        self.app.router.add_post("/drill/start", self._start)
        self.app.router.add_get("/drill/state", self._state)
        self.app.router.add_get("/drill/events", self._events)
        self.app.router.add_get("/drill/kubelet-order", self._kubelet_order)
        self.app.cleanup_ctx.append(self._ticking)
        self.stop = asyncio.Event()
        self.broken = False
        """Time has stopped passing: a defect, told by a traceback."""

    async def _ticking(self, app: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(self._tick_for_ever())
        task.add_done_callback(self._time_stopped)
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    def _time_stopped(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            traceback.print_exception(error)
            self.broken = True
            self.stop.set()

    async def _tick_for_ever(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            self.world.tick(self._scenario_seconds(now), now - last)
            last = now

    def _scenario_seconds(self, now: float) -> float:
        return (now - self._started_at) * self._speed if self._started_at is not None else 0.0

    async def _start(self, request: web.Request) -> web.Response:
        if self._started_at is None:
            self._started_at = time.monotonic()
        return web.json_response({"started": True})

    async def _metrics(self, request: web.Request) -> web.Response:
        endpoint, node = request.match_info["endpoint"], request.match_info["node"]
        if endpoint not in self._pages or node not in self.world.memory:
            raise web.HTTPNotFound
        return self._page(endpoint, node, lambda: self._pages[endpoint](node))

    async def _kube_state_metrics(self, request: web.Request) -> web.Response:
        return self._page("kube-state-metrics", "", lambda: render(kube_state_metrics.families(self.world)))

    def _page(self, endpoint: str, node: str, page: Callable[[], str]) -> web.Response:
        faults = self.world.faults.of_endpoint(endpoint, node, self.world.now)
        if any(fault.down for fault in faults):
            raise web.HTTPServiceUnavailable
        text = page()
        for fault in faults:
            if fault.frozen:
                text = self.world.faults.frozen(fault, endpoint, node, text)
        return web.Response(text=spoilt(text, faults) if faults else text)

    async def _put_metrics_faults(self, request: web.Request) -> web.Response:
        """PUT /drill/metrics-faults: these from now on, beside those of the scenario."""
        try:
            specs = [FaultSpec.model_validate(raw) for raw in await request.json()]
        except (ValueError, TypeError) as error:
            return web.json_response({"error": str(error)}, status=400)
        if any(spec.metrics is None for spec in specs):
            return web.json_response({"error": "faults of the API server belong to /drill/faults"}, status=400)
        self.world.faults.set_by_hand(specs)
        return web.json_response({"faults": len(specs)})

    async def _state(self, request: web.Request) -> web.Response:
        return web.json_response(self.world.state() | {"started": self._started_at is not None})

    async def _events(self, request: web.Request) -> web.Response:
        try:
            since = max(0, int(request.query.get("since", 0)))
        except ValueError:
            return web.json_response({"error": "since is the number of events already read"}, status=400)
        return web.json_response(self.world.chronicle.events[since:])

    async def _kubelet_order(self, request: web.Request) -> web.Response:
        node = request.query.get("node", self.world.scenario.focus)
        if node not in self.world.memory:
            return web.json_response({"error": f"{node} is no simulated node"}, status=404)
        return web.json_response(self.world.ranking(node))


@dataclass(frozen=True, slots=True)
class BoundFiles:
    """Where to tell others the address, once it is open."""

    kubeconfig: Path | None = None
    address: Path | None = None
    """Gets HOST:PORT."""

    def write(self, address: str) -> None:
        """Write what was asked for; the kubeconfig last, for it is what people wait for."""
        if self.address is not None:
            self.address.write_text(address, encoding="utf-8")
        if self.kubeconfig is not None:
            self.kubeconfig.write_text(kubeconfig(f"http://{address}"), encoding="utf-8")


def kubeconfig(url: str, token: str = "") -> str:
    """A kubeconfig for the simulated cluster; without a token its owner's."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "drill", "cluster": {"server": url}}],
            "contexts": [{"name": "drill", "context": {"cluster": "drill", "user": "operator"}}],
            "users": [{"name": "operator", "user": {"token": token} if token else {}}],
            "current-context": "drill",
        },
        indent=1,
    )


async def serve(cluster: Cluster, host: str, port: int, files: BoundFiles) -> bool:
    """Serve until SIGTERM or SIGINT; False when time stopped by a defect. OSError: port in use."""
    runner = web.AppRunner(cluster.app, shutdown_timeout=0.5, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    files.write(f"{host}:{runner.addresses[0][1]}")
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, cluster.stop.set)
    await cluster.stop.wait()
    await runner.cleanup()
    return not cluster.broken
