"""Kubernetes quantities of memory, read and written. Notation only."""

from remediator.config.quantities import size_bytes
from remediator.drill.apiserver.resources import Json


def memory_of(container: Json, kind: str, resource: str = "memory") -> int:
    """Bytes of a container's requests or limits; 0 when not given."""
    value = (container.get("resources", {}).get(kind) or {}).get(resource)
    return size_bytes(value) if value is not None else 0


def pod_requests(pod: Json) -> int:
    """Sum of the memory requests of a pod's containers."""
    return sum(memory_of(container, "requests") for container in pod["spec"]["containers"])


def quantity(size: int) -> str:
    """Bytes as people write them when they are whole mebibytes, else plain."""
    for unit, factor in (("Gi", 2**30), ("Mi", 2**20)):
        if size % factor == 0 and size:
            return f"{size // factor}{unit}"
    return str(size)
