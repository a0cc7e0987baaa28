"""Two weeks of observing a small cluster, as its audit tells them: the same every time. For pages, and for eyes.

`python -m tests.core.report.fortnight DIRECTORY` writes the files of two replicas, ending now.
"""

import json
import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tests.core.report.audit_lines import (
    GIB,
    Line,
    by_time,
    decision,
    kubelet_eviction,
    level,
    oom_kill,
    result,
    step,
    untouched,
    watched,
)

DAY = 86_400.0
LENGTH = 14 * DAY
_GAP = (6.2 * DAY, 7.0 * DAY)
"""Nobody watched: the remediator was being moved."""
_MIDDLE = ("YELLOW", "ORANGE", "RED")


def fortnight() -> list[Line]:
    """Lines by time, in seconds from the period's begin."""
    chance = random.Random(7)  # noqa: S311
    spells = [line for number in range(26) for line in _spell(chance, number)]
    spells += _leak(3.4 * DAY) + _blue(11.3 * DAY)
    calls = [{**call, "replica": name} for name in ("remediator-0", "remediator-1") for call in watched(LENGTH, spells)]
    for call in calls:
        call["at"] += 40 if call["replica"] == "remediator-1" else 0
        call["nodes"] = 12
    told = [{**line, "replica": f"remediator-{number % 2}"} for number, line in enumerate(by_time(spells))]
    return [line for line in by_time([*calls, *told]) if not _GAP[0] <= line["at"] < _GAP[1]]


def _ways(chance: random.Random) -> list[Line]:
    rows = [
        untouched("data/StatefulSet/kafka", 8 * GIB, "tier_critical", tier="critical"),
        untouched("search/Deployment/indexer", int(chance.uniform(3, 6) * GIB), pods=2),
        untouched("ml/Deployment/notebooks", int(chance.uniform(1, 9) * GIB), qos="BestEffort"),
        untouched("shop/Deployment/api", 3 * GIB, "last_ready_replica", tier="important"),
        untouched("cache/StatefulSet/redis", 2 * GIB),
    ]
    kept = [row for row in rows if chance.random() < 0.8]
    return sorted(kept, key=lambda row: -int(row["releasable_bytes"]))


def _spell(chance: random.Random, number: int) -> Iterator[Line]:
    """A node fills up, sometimes to RED, and gets well by itself."""
    node, at = f"worker-{chance.choice([3, 3, 3, 5, 5, 8])}", chance.uniform(0.2, 13.8) * DAY
    top, before = chance.choice([0, 0, 0, 1, 1, 2, 2]), "GREEN"
    for name in _MIDDLE[: top + 1]:
        used = {"YELLOW": 0.77, "ORANGE": 0.87, "RED": 0.93}[name] + chance.uniform(0, 0.04)
        yield level(at, node, name, before, used)
        yield from _looks(chance, at, node, name, number)
        before, at = name, at + chance.uniform(300, 4000)
    yield level(at, node, "GREEN", before, 0.6)


def _looks(chance: random.Random, at: float, node: str, name: str, number: int) -> Iterator[Line]:
    steps = [step(f"spark-{number}", 9 * GIB), step(f"shipper-{number}", 2 * GIB, tier="low")]
    ways = _ways(chance)
    if name == "RED" and number % 4:
        yield decision(at, node, name, ("acting",), steps, untouched=ways)
        yield from (result(at + 0.1, node, each) for each in [{**steps[0], "kind": "cordon", "pod": None}, *steps])
    else:
        reasons = {"YELLOW": ("level_allows_notify_only",), "ORANGE": ("level_too_fresh", "no_candidate")}
        yield decision(at, node, name, reasons.get(name, ("no_candidate", "non_pod_memory")), untouched=ways)


def _leak(at: float) -> list[Line]:
    """RED, with a plan, and the node kills before anybody acts, for nobody may."""
    node, plan = "worker-5", [step("spark-99", 9 * GIB)]
    return [
        level(at, node, "YELLOW", "GREEN", 0.78),
        level(at + 900, node, "ORANGE", "YELLOW", 0.88),
        level(at + 1300, node, "RED", "ORANGE", 0.96),
        decision(
            at + 1300, node, "RED", ("acting",), plan, untouched=[untouched("search/Deployment/indexer", 6 * GIB)]
        ),
        result(at + 1301, node, plan[0]),
        oom_kill(at + 1910, node, "api", at + 1900),
        kubelet_eviction(at + 1920, node, "web", at + 1915),
        level(at + 2400, node, "GREEN", "RED", 0.6),
    ]


def _blue(at: float) -> list[Line]:
    """A container at its own limit, twice, and a kill that nobody saw coming."""
    return [
        *(
            oom_kill(at + n, "worker-1", f"leaky-{n}", at + n - 5, "limit-oom", workload="crm/Deployment/leaky")
            for n in (0, 600)
        ),
        oom_kill(at + 5000, "worker-2", "report", at + 4990, workload="crm/CronJob/report", tier="offline"),
    ]


def write(directory: Path, end: float) -> None:
    """The files of both replicas; the period ends at `end` (unix seconds)."""
    directory.mkdir(parents=True, exist_ok=True)
    begin = end - LENGTH
    for name in ("remediator-0", "remediator-1"):
        with (directory / f"audit-{name}.jsonl").open("w") as file:
            for line in fortnight():
                if line["replica"] == name:
                    file.write(json.dumps(_stamped(line, begin)) + "\n")


def _stamped(line: Line, begin: float) -> Line:
    moved = {**line, "at": line["at"] + begin}
    moved |= {name: line[name] + begin for name in ("died_at", "started_at") if name in line}
    return {"@timestamp": datetime.fromtimestamp(moved["at"], UTC).isoformat(timespec="milliseconds"), **moved}


if __name__ == "__main__":
    write(Path(sys.argv[1]), time.time())
