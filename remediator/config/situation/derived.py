"""Sections of the situation file made from the core's own dataclasses, so that the file can hold all of them.

A field's type and the unit in its name say how it is written: `_bytes` is a size, `_seconds` a duration, `_at`,
`_since` and `_until` are moments. A new field of the core needs nothing here. Closed and frozen like all sections.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, StrictStr, create_model

from remediator.config.sections import Duration, ModeName, Section, Size, Text
from remediator.config.situation.values import LevelName, Moment, Ref, Seconds, SignedSize, matcher
from remediator.core.model import Level, Matcher, Mode, WorkloadRef

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_PLAIN: dict[type, Any] = {bool: StrictBool, str: StrictStr, int: StrictInt, float: Number}
# Filled with types that exist only at run time, which mypy takes for none.
_ANNOTATED: Any = Annotated
_TUPLE: Any = tuple
_DICT: Any = dict
_MOMENTS = ("_at", "_since", "_until")


@cache
def built(kind: type, naming: Callable[[str], str] | None = None) -> Any:
    """The type of a value that is written as `kind`'s section and becomes a `kind`."""
    section = section_of(kind, naming)
    found = _ANNOTATED[section, AfterValidator(lambda given: kind(**given.given()))]
    return _ANNOTATED[found, BeforeValidator(matcher)] if kind is Matcher else found


@cache
def section_of(kind: type, naming: Callable[[str], str] | None = None) -> type[Section]:
    """A closed model with the fields of a core dataclass; `naming` gives their names in the file."""
    return create_model(f"{kind.__name__}Section", __base__=Section, __doc__=kind.__doc__, **fields_of(kind, naming))


def fields_of(
    kind: type, naming: Callable[[str], str] | None = None, *, without: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Definitions for `create_model`: name -> (type, default)."""
    hints = typing.get_type_hints(kind)
    return {
        field.name: (written(field.name, hints[field.name], naming), _default(field, naming))
        for field in dataclasses.fields(kind)
        if field.name not in without
    }


def _default(field: "dataclasses.Field[Any]", naming: Callable[[str], str] | None) -> Any:
    alias = naming(field.name) if naming else None
    if field.default_factory is not dataclasses.MISSING:
        return Field(default_factory=field.default_factory, alias=alias)
    return Field(... if field.default is dataclasses.MISSING else field.default, alias=alias)


def written(name: str, hint: Any, naming: Callable[[str], str] | None = None) -> Any:
    """How a field of that name and type is written."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        inner = next(each for each in arguments if each is not type(None))
        return written(name, inner, naming) | None
    if origin is tuple:
        return _TUPLE[tuple(each if each is Ellipsis else written(name, each, naming) for each in arguments)]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _DICT[Text, Size if arguments[1] is int else written("", arguments[1], naming)]
    if origin is frozenset:
        return frozenset[StrictStr]
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint is not WorkloadRef:
        return built(hint, naming)
    return _one(name, hint, naming)


def _one(name: str, hint: type, naming: object) -> Any:
    known: dict[type, Any] = {Level: LevelName, Mode: ModeName, WorkloadRef: Ref}
    if hint in known:
        return known[hint]
    if issubclass(hint, Enum):
        return hint
    if hint is float and (name == "at" or name.endswith(_MOMENTS)):
        return Moment
    if name.endswith("_seconds") and hint in (int, float):
        return Duration if hint is float else Seconds
    if hint is int and (name == "bytes" or name.endswith("_bytes")):
        return SignedSize if naming else Size
    return _PLAIN[hint]
