"""A parsed document against its pydantic model: every problem with its path, line and nearest valid key.

Shared by all files that people write for us. Never fills a gap silently: what is not understood is refused.
"""

import difflib
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from remediator.config.positions import Path, Positions, dotted, expanded_values, positions
from remediator.config.problems import ConfigError, Problem

MOST_CHARACTERS, MOST_VALUES = 16 * 2**20, 2_000_000
"""Beyond these a file is a mistake or an attack; a saved situation of a large cluster stays far below."""
_Model = TypeVar("_Model", bound=BaseModel)


def read_text(path: str | FilePath) -> str:
    """Text of a file; ConfigError when it cannot be read."""
    try:
        return FilePath(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(str(path), [Problem("", f"cannot be read: {why}")]) from error


def parse_yaml(text: str, source: str) -> tuple[object, Positions]:
    """The document and where everything stands in it; ConfigError for bad YAML and keys that stand twice."""
    if len(text) > MOST_CHARACTERS:
        raise ConfigError(source, [Problem("", f"is larger than {MOST_CHARACTERS} characters: is it the right file?")])
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if expanded_values(root) > MOST_VALUES:
            raise ConfigError(source, [Problem("", f"its aliases make more than {MOST_VALUES} values: write less")])
        document, where = yaml.safe_load(text), positions(root)
    except yaml.YAMLError as error:
        raise ConfigError(source, [_syntax_problem(error)]) from error
    except RecursionError as error:
        raise ConfigError(
            source, [Problem("", "an alias refers to what it stands in, or the nesting is too deep")]
        ) from error
    if where.duplicates:
        raise ConfigError(source, where.duplicates)
    return document, where


def validated(
    model: type[_Model], document: object, where: Positions, source: str, context: Mapping[str, Any] | None = None
) -> _Model:
    """The document as a model; ConfigError with all problems. `context` is handed to the model's validators."""
    if document is None:
        document = {}
    if not isinstance(document, Mapping):
        problem = Problem("", f"must be a mapping of settings, not a {type(document).__name__}", 1)
        raise ConfigError(source, [problem])
    try:
        return model.model_validate(document, context=context)
    except ValidationError as error:
        found = [_problem(model, item, where) for item in error.errors(include_url=False)]
        raise ConfigError(source, sorted(found, key=lambda problem: problem.line or 0)) from error


def _syntax_problem(error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error)
    return Problem("", f"is not valid YAML: {what}", mark.line + 1 if mark else None)


def _problem(model: type[BaseModel], item: ErrorDetails, where: Positions) -> Problem:
    path = tuple(part for part in item["loc"] if part != "[key]")
    return Problem(dotted(path), _sentence(model, item, path), where.line(path))


def _sentence(model: type[BaseModel], item: ErrorDetails, path: Path) -> str:
    given, context = item["input"], item.get("ctx", {})
    match item["type"]:
        case "extra_forbidden":
            text = _unknown_key(model, path)
        case "missing":
            text = "is required and not there"
        case "enum" | "literal_error":
            text = f"{given!r} is not one of {context.get('expected', '')}{_nearest_value(str(given), context)}"
        case "too_short":
            text = _empty(path)
        case "value_error":
            text = str(context.get("error", item["msg"]))
        case "model_type" | "dict_type" | "model_attributes_type":
            text = f"must be a mapping (key: value), not {given!r}"
        case _:
            text = f"{item['msg'][:1].lower()}{item['msg'][1:]} (given: {given!r})"
    return text


def _empty(path: Path) -> str:
    if path[-1] == "nodeSelector":
        return "is empty and would match every node: name at least one label, or set the top-level mode"
    if path[-1] == "alerts":
        return "is empty, so that no alert would be accepted: name at least one, or leave the key out"
    return "must not be empty"


def _unknown_key(model: type[BaseModel], path: Path) -> str:
    known = sorted(_keys_at(model, path[:-1]))
    nearest = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.5)
    return f"unknown key; did you mean {nearest[0]}?" if nearest else f"unknown key; known here: {', '.join(known)}"


def _nearest_value(given: str, context: Mapping[str, Any]) -> str:
    expected = str(context.get("expected", "")).replace(" or ", ", ").split(", ")
    nearest = difflib.get_close_matches(given, [word.strip("'") for word in expected], n=1, cutoff=0.5)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def _keys_at(model: type[BaseModel], path: Path) -> list[str]:
    """Keys that the section at a path knows, aliases as written in the file."""
    section: type[BaseModel] | None = model
    named = False
    for part in path:
        if isinstance(part, int) or named or section is None:
            named = False
            continue
        field = next((f for name, f in section.model_fields.items() if part in (name, f.alias)), None)
        section = _section_in(field.annotation) if field else None
        named = field is not None and _holds_names(field.annotation)
    return [field.alias or name for name, field in section.model_fields.items()] if section else []


def _holds_names(annotation: Any) -> bool:
    """Whether what follows in a path is a name that the author gave, as in `pods.shop/web-1`."""
    return get_origin(annotation) is dict or any(get_origin(inner) is dict for inner in get_args(annotation))


def _section_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside `Model`, `Model | None`, `tuple[Model, ...]` or `dict[str, Model]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _section_in(inner))), None)
