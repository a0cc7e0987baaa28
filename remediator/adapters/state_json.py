"""`NodeState` as JSON and back, without loss: what a NodeRemediation's status holds. Pure.

Field names become camelCase, as the Kubernetes API wants them; what a newer version wrote and this one does not know
is left out on reading. Types come from the dataclasses themselves, so a new field needs nothing here.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from remediator.core.state import NodeState

Json = dict[str, Any]


def to_json(state: NodeState) -> Json:
    """The state as a status; what is at its default is left out."""
    found: Json = _encoded(state)
    return found


def from_json(status: Mapping[str, Any]) -> NodeState:
    """The state of a status. Raises ValueError when a value is not what its field needs."""
    state: NodeState = _decoded(NodeState, status)
    return state


def camel(name: str) -> str:
    """`level_since` -> `levelSince`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _encoded(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            camel(field.name): _encoded(found)
            for field in dataclasses.fields(value)
            if (found := getattr(value, field.name)) != _default(field)
        }
    if isinstance(value, Enum):
        return value.name if isinstance(value, int) else value.value
    if isinstance(value, tuple | list):
        return [_encoded(item) for item in value]
    return value


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


@cache
def _fields(kind: type) -> tuple[tuple[str, str, Any], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((field.name, camel(field.name), hints[field.name]) for field in dataclasses.fields(kind))


def _decoded(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _decoded(next(a for a in arguments if a is not type(None)), value)
    if origin is tuple:
        return _decoded_tuple(arguments, value)
    return _decoded_dataclass(kind, value) if dataclasses.is_dataclass(kind) else _decoded_plain(kind, value)


def _decoded_dataclass(kind: Any, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a {kind.__name__}")
    found = {name: _decoded(hint, value[key]) for name, key, hint in _fields(kind) if key in value}
    try:
        return kind(**found)
    except TypeError as error:
        raise ValueError(f"a {kind.__name__} that lacks a field: {error}") from error


def _decoded_plain(kind: type, value: Any) -> Any:
    if issubclass(kind, Enum):
        return _decoded_enum(kind, value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind in (float, int) and number:
        return kind(value)
    if isinstance(value, kind) and isinstance(value, bool) is (kind is bool):
        return value
    raise ValueError(f"{value!r} is not {kind.__name__}")


def _decoded_enum(kind: type[Enum], value: Any) -> Enum:
    try:
        return kind[value] if issubclass(kind, int) else kind(value)
    except KeyError as error:
        raise ValueError(f"{value!r} is no {kind.__name__}") from error


def _decoded_tuple(arguments: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_decoded(arguments[0], item) for item in value)
    return tuple(_decoded(kind, item) for kind, item in zip(arguments, value, strict=True))
