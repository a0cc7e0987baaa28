"""Kubernetes' notations of memory and time, read. Pure."""

from datetime import datetime
from functools import lru_cache

from kubernetes.utils.quantity import parse_quantity


@lru_cache(maxsize=4096)
def memory_bytes(quantity: str | int | None) -> int:
    """`1536Mi` -> bytes; 0 for None. Raises ValueError for what is no quantity."""
    return int(parse_quantity(quantity)) if quantity is not None else 0


@lru_cache(maxsize=65536)
def unix_seconds(moment: str | None) -> float | None:
    """RFC 3339 -> unix seconds; None stays None."""
    return datetime.fromisoformat(moment).timestamp() if moment else None
