"""Core values as plain JSON ones, for files and pages. Form only."""

import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import Any

from remediator.core.model import Level


def plain(value: Any) -> Any:
    """Dataclasses, enums and tuples as JSON values; levels by their names in lower case."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Level):
        return value.name.lower()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return [plain(item) for item in value]
    return value
