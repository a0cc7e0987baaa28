"""Kubernetes quantities of memory, read and written. Notation only."""

from functools import lru_cache

from remediator.config.quantities import size_bytes
from remediator.drill.apiserver.resources import Json

_bytes_of_text = lru_cache(maxsize=4096)(size_bytes)


def memory_of(container: Json, kind: str, resource: str = "memory") -> int:
    """Bytes of a container's requests or limits; 0 when not given."""
    value = (container.get("resources", {}).get(kind) or {}).get(resource)
    return _bytes_of_text(value) if value is not None else 0


def pod_requests(pod: Json) -> int:
    """Sum of the memory requests of a pod's containers."""
    return sum(memory_of(container, "requests") for container in pod["spec"]["containers"])


def resource_requests(pod: Json) -> dict[str, int]:
    """What a pod asks of a node: memory and extended resources summed over its containers, and one of its pods."""
    asked = {"pods": 1}
    for container in pod["spec"]["containers"]:
        requests = container.get("resources", {}).get("requests") or {}
        for name in requests:
            if name != "cpu":
                asked[name] = asked.get(name, 0) + memory_of(container, "requests", name)
    return asked


def quantity(size: int) -> str:
    """Bytes as people write them when they are whole mebibytes, else plain."""
    for unit, factor in (("Gi", 2**30), ("Mi", 2**20)):
        if size % factor == 0 and size:
            return f"{size // factor}{unit}"
    return str(size)
