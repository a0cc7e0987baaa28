"""What a drill's Prometheus has kept, asked again by a Prometheus started on its data."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from remediator.drill import tools
from remediator.drill.processes import Processes, answers, free_port


@dataclass(frozen=True)
class Remembered:
    """A Prometheus that scrapes nothing and knows one drill."""

    url: str

    def span(self) -> tuple[float, float]:
        """Unix seconds of the first and the last sample."""
        head = self._asked("status/tsdb", {})["headStats"]
        return head["minTime"] / 1000, head["maxTime"] / 1000

    def times(self, expression: str) -> list[float]:
        """Unix seconds at which a question has an answer, over the whole drill; raises when it is refused."""
        start, end = self.span()
        asked = {"query": expression, "start": start, "end": end, "step": max(0.5, (end - start) / 300)}
        return [float(at) for series in self._asked("query_range", asked)["result"] for at, _ in series["values"]]

    def points(self, expression: str) -> int:
        """How many points a graph over the whole drill has."""
        return len(self.times(expression))

    def _asked(self, path: str, parameters: dict[str, Any]) -> dict[str, Any]:
        answer = requests.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=30)
        assert answer.ok, f"{parameters.get('query')}: {answer.text}"
        found: dict[str, Any] = answer.json()["data"]
        return found


@contextlib.contextmanager
def remembered(drill: Path, speed: float) -> Iterator[Remembered]:
    """On the data of an ended drill, at its pace."""
    config = drill / "remembered.yml"
    config.write_text("scrape_configs: []\n")
    address = f"127.0.0.1:{free_port()}"
    command = [tools.find("prometheus"), f"--config.file={config}", f"--web.listen-address={address}"]
    command += [
        f"--storage.tsdb.path={drill / 'prometheus-data'}",
        f"--query.lookback-delta={round(300_000 / speed)}ms",
    ]
    with Processes(drill / "logs") as processes:
        processes.start("remembered", command)
        processes.wait_for("remembered", lambda: answers(f"http://{address}/-/ready"))
        yield Remembered(f"http://{address}")
