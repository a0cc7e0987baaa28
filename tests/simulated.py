"""A simulated API server over real HTTP, on a loopback port, in a thread of its own."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import requests
from aiohttp import web

from remediator.drill.apiserver.access import Access
from remediator.drill.apiserver.app import create_app
from remediator.drill.apiserver.faults import Faults
from remediator.drill.apiserver.store import Store

_T = TypeVar("_T")
_TIMEOUT_SECONDS = 20


class Served:
    """A running server: its store, its URL, and a way to touch the store from its own thread."""

    def __init__(self, store: Store, access: Access | None = None) -> None:
        self.store = store
        self.faults = Faults()
        self._loop = asyncio.new_event_loop()
        self._runner = web.AppRunner(create_app(store, faults=self.faults, access=access), shutdown_timeout=0.5)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.url = self._run(self._start())

    async def _start(self) -> str:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    def _run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_TIMEOUT_SECONDS)

    def inside(self, act: Callable[..., _T], *arguments: Any, **named: Any) -> _T:
        """Run something on the store in the server's own thread, as the simulation does: `inside(Store.get, …)`."""

        async def acted() -> _T:
            return act(self.store, *arguments, **named)

        return self._run(acted())

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> requests.Response:
        """One request; JSON in."""
        return requests.request(method, self.url + path, json=body, timeout=_TIMEOUT_SECONDS, **options)

    def patch(self, path: str, body: Any, kind: str = "merge-patch") -> requests.Response:
        """One PATCH of a kind."""
        headers = {"Content-Type": f"application/{kind}+json"}
        return requests.patch(self.url + path, data=json.dumps(body), headers=headers, timeout=_TIMEOUT_SECONDS)

    def stop_streams(self) -> None:
        """Tell the application that the server goes down, as a runner does first."""
        self._run(self._runner.shutdown())

    def stop(self) -> None:
        """Go down, streams included."""
        self._run(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()


class Serve(Protocol):
    """Start a server that is stopped after the test."""

    def __call__(self, store: Store, access: Access | None = None) -> Served: ...


@contextmanager
def serving() -> Iterator[Serve]:
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
