"""What the drill's stack says of the machine it runs on: real input through the whole path."""

from typing import Any

from remediator.drill.observation import LEVEL_NAMES, Watcher
from remediator.drill.scrapes import THIS_MACHINE

_BIGGEST = 8


def this_machine_now(watcher: Watcher) -> dict[str, Any]:
    """Level, used ratio, score and the biggest cgroups of this machine, as Prometheus has them."""
    node = f'{{node="{THIS_MACHINE}"}}'
    names = {
        "level": "node:memory_level",
        "used_ratio": "node:memory_used:ratio",
        "score": "node:memory_pressure:score",
        "total_bytes": "node:memory_total:bytes",
        "available_bytes": "node:memory_available:bytes",
    }
    found: dict[str, Any] = {}
    for key, metric in names.items():
        values = [value for _, value in watcher.query(metric + node)]
        found[key] = values[0] if values else None
    level = found["level"]
    found["level"] = LEVEL_NAMES[int(level)] if level is not None else None
    biggest = f'topk({_BIGGEST}, cgroup_memory_working_set_bytes{{node="{THIS_MACHINE}"}})'
    found["biggest_cgroups"] = [
        {"cgroup": labels.get("path") or labels.get("uid") or labels.get("container_id", ""), "bytes": int(value)}
        for labels, value in sorted(watcher.query(biggest), key=lambda each: -each[1])
    ]
    return found
