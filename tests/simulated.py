"""A simulated API server over real HTTP, on a loopback port, in a thread of its own."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aiohttp import web

from remediator.drill.apiserver.access import Access
from remediator.drill.apiserver.app import create_app
from remediator.drill.apiserver.faults import Faults
from remediator.drill.apiserver.store import Store


class Served:
    """A running server: its store, its URL, and a way to touch the store from its own thread."""

    def __init__(self, store: Store, access: Access | None = None) -> None:
        self.store = store
        self.faults = Faults()
        self._loop = asyncio.new_event_loop()
        self._runner = web.AppRunner(create_app(store, faults=self.faults, access=access), shutdown_timeout=0.1)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.url = self._run(self._start())

    async def _start(self) -> str:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _cancel_streams(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def stop(self) -> None:
        self._run(self._runner.cleanup())
        self._run(self._cancel_streams())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()


@contextmanager
def serving() -> Iterator[Callable[..., Served]]:
    """Start servers that are stopped at the end."""
    running: list[Served] = []

    def start(store: Store, access: Access | None = None) -> Served:
        running.append(Served(store, access))
        return running[-1]

    try:
        yield start
    finally:
        for served in running:
            served.stop()
