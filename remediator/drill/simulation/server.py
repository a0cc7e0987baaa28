"""The simulated cluster as a process: API server, metrics endpoints and the drill's own doors on one port."""

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from aiohttp import web

from remediator.drill.apiserver.app import create_app
from remediator.drill.apiserver.faults import Faults
from remediator.drill.apiserver.store import Store
from remediator.drill.scenario import Scenario
from remediator.drill.simulation.endpoints import cadvisor, kube_state_metrics, memory_exporter, node_exporter
from remediator.drill.simulation.spoiling import spoilt
from remediator.drill.simulation.world import World

TICK_SECONDS = 0.1
_PAGES: dict[str, Callable[[World, str], str]] = {
    "exporter": memory_exporter.page,
    "node-exporter": node_exporter.page,
    "cadvisor": cadvisor.page,
}


class Cluster:
    """Serves one world and lets its time pass once it was started."""

    def __init__(self, scenario: Scenario, speed: float) -> None:
        faults = Faults(scenario.seed)
        self.store = Store()
        self.world = World(scenario, self.store, faults, speed)
        self._speed = speed
        self._started_at: float | None = None
        self.app = create_app(self.store, faults=faults)
        self.app.router.add_get("/metrics/kube-state-metrics", self._kube_state_metrics)
        self.app.router.add_get("/metrics/{endpoint}/{node}", self._metrics)
        self.app.router.add_post("/drill/start", self._start)
        self.app.router.add_get("/drill/state", self._state)
        self.app.router.add_get("/drill/events", self._events)
        self.app.router.add_get("/drill/kubelet-order", self._kubelet_order)
        self.app.cleanup_ctx.append(self._ticking)

    async def _ticking(self, app: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(self._tick_for_ever())
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

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
        if endpoint not in _PAGES or node not in self.world.memory:
            raise web.HTTPNotFound
        return self._page(endpoint, node, lambda: _PAGES[endpoint](self.world, node))

    async def _kube_state_metrics(self, request: web.Request) -> web.Response:
        return self._page("kube-state-metrics", "", lambda: kube_state_metrics.page(self.world))

    def _page(self, endpoint: str, node: str, page: Callable[[], str]) -> web.Response:
        faults = self.world.metrics_faults(endpoint, node)
        if any(fault.down for fault in faults):
            raise web.HTTPServiceUnavailable
        return web.Response(text=spoilt(page(), faults) if faults else page())

    async def _state(self, request: web.Request) -> web.Response:
        return web.json_response(self.world.state() | {"started": self._started_at is not None})

    async def _events(self, request: web.Request) -> web.Response:
        since = int(request.query.get("since", 0))
        return web.json_response(self.world.chronicle.events[since:])

    async def _kubelet_order(self, request: web.Request) -> web.Response:
        return web.json_response(self.world.ranking(request.query["node"]))


def kubeconfig(url: str) -> str:
    """A kubeconfig for the simulated cluster."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "drill", "cluster": {"server": url}}],
            "contexts": [{"name": "drill", "context": {"cluster": "drill", "user": "operator"}}],
            "users": [{"name": "operator", "user": {}}],
            "current-context": "drill",
        },
        indent=1,
    )


async def serve(scenario: Scenario, host: str, port: int, speed: float, kubeconfig_path: Path) -> None:
    """Serve until SIGTERM or SIGINT; the kubeconfig is written when the port is open. OSError: port in use."""
    cluster = Cluster(scenario, speed)
    runner = web.AppRunner(cluster.app, shutdown_timeout=0.5, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    kubeconfig_path.write_text(kubeconfig(f"http://{host}:{runner.addresses[0][1]}"))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    await runner.cleanup()
