"""What goes wrong in a run, drawn from its seed: who is killed when, and which servers misbehave for a while."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

Json = dict[str, Any]
MOST_WRITES = 24
"""An episode of the stage, release included, writes about so often; beyond its last write nobody is killed."""
API_FAULTS: tuple[tuple[str, Json], ...] = (
    ("slow", {"latency_seconds": 0.2, "probability": 0.5}),
    ("answers lost after taking effect", {"method": "POST|PUT|PATCH", "lose_answer": True, "probability": 0.3}),
    ("throttled", {"status": 429, "retry_after_seconds": 1, "probability": 0.3}),
    ("budget says no", {"path": "/eviction", "status": 429, "probability": 0.5}),
    ("500", {"status": 500, "probability": 0.2}),
    ("conflicts", {"method": "PUT|PATCH", "status": 409, "probability": 0.3}),
)
PROMETHEUS = ("well", "gone", "slow", "partial", "two hours ahead")
ALERTMANAGER = ("well", "gone")


@dataclass(frozen=True, slots=True)
class Weather:
    """One run's misfortunes."""

    seed: int
    kill_after_writes: int
    """SIGKILL for whoever sent the n-th write that took effect, before he gets his answer."""
    restart: bool
    """The killed replica comes back; else the other one takes over when the Lease has run out."""
    api: tuple[str, ...] = ()
    faults: tuple[Json, ...] = field(default=(), repr=False)
    prometheus: str = "well"
    alertmanager: str = "well"
    lasts_seconds: float = 2.5

    def __str__(self) -> str:
        end = "restarted" if self.restart else "taken over"
        parts = [f"killed after write {self.kill_after_writes}, {end}", *self.api]
        parts += [f"Prometheus {self.prometheus}"] if self.prometheus != "well" else []
        parts += [f"Alertmanager {self.alertmanager}"] if self.alertmanager != "well" else []
        return "; ".join(parts)


def weather(seed: int) -> Weather:
    """The weather of a seed: kill points go round, so that every prefix of an episode is interrupted."""
    random = Random(seed)  # noqa: S311 - weather, not secrets
    chosen = random.sample(API_FAULTS, k=random.choice((0, 0, 1, 1, 2)))
    return Weather(
        seed=seed,
        kill_after_writes=seed % MOST_WRITES + 1,
        restart=seed // MOST_WRITES % 2 == 0,
        api=tuple(name for name, _ in chosen),
        faults=tuple(fault for _, fault in chosen),
        prometheus=random.choices(PROMETHEUS, (5, 1, 1, 1, 1))[0],
        alertmanager=random.choices(ALERTMANAGER, (5, 1))[0],
    )
