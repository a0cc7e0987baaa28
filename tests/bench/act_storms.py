"""Webhook storms for `make bench-act`: bodies sent over kept connections, answers timed."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

SENDERS = 32


@dataclass(slots=True)
class Storm:
    """What came back."""

    seconds: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    answers_ms: list[float] = field(default_factory=list)

    def note(self, status: int, milliseconds: float) -> None:
        """One answer."""
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.answers_ms.append(milliseconds)

    @property
    def p99_ms(self) -> float:
        """99 of 100 answers came within this."""
        return sorted(self.answers_ms)[int(0.99 * (len(self.answers_ms) - 1))]

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return len(self.answers_ms) / self.seconds


def blow(url: str, bodies: Sequence[Any], per_second: float = 0.0) -> Storm:
    """Send all bodies: at a rate (each at its own moment, however slow the answers are), or as fast as it goes."""
    return asyncio.run(_blow(url, bodies, per_second))


async def _blow(url: str, bodies: Sequence[Any], per_second: float) -> Storm:
    storm, waiting = Storm(), iter(enumerate(bodies))
    began = time.perf_counter()
    connector = aiohttp.TCPConnector(limit=SENDERS)

    async with aiohttp.ClientSession(connector=connector) as session:

        async def send() -> None:
            for number, body in waiting:
                due = began + number / per_second if per_second else 0.0
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                sent = due or time.perf_counter()
                async with session.post(url, json=body) as answer:
                    await answer.read()
                    storm.note(answer.status, (time.perf_counter() - sent) * 1000)

        await asyncio.gather(*(send() for _ in range(SENDERS)))
    storm.seconds = time.perf_counter() - began
    return storm
