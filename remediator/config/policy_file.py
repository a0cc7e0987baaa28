"""Policy file -> core policy, or every reason why not.

YAML is read safely; pydantic checks; this module turns pydantic's findings into sentences with path, line
and the nearest valid key. It never fills a gap silently: what is not understood is refused.
"""

import difflib
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from remediator.config.positions import Path, Positions, dotted, positions
from remediator.config.problems import ConfigError, Problem
from remediator.config.schema import PolicyFile
from remediator.core.policy import Policy


def load_policy(path: str | FilePath) -> Policy:
    """Policy of a file; ConfigError with all problems when it cannot be read or is not valid."""
    try:
        text = FilePath(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(str(path), [Problem("", f"cannot be read: {why}")]) from error
    return parse_policy(text, source=str(path))


def parse_policy(text: str, *, source: str = "policy") -> Policy:
    """Policy of a YAML text; an empty text is the shipped policy."""
    try:
        document = yaml.safe_load(text)
        where = positions(text)
    except yaml.YAMLError as error:
        raise ConfigError(source, [_syntax_problem(error)]) from error
    if where.duplicates:
        raise ConfigError(source, where.duplicates)
    return _checked(document, where, source)


def policy_from_mapping(document: Mapping[str, Any], *, source: str = "policy") -> Policy:
    """Policy of a parsed mapping (a scenario's `policy:` fragment); problems carry no line."""
    return _checked(document, Positions(), source)


def _checked(document: object, where: Positions, source: str) -> Policy:
    if document is None:
        document = {}
    if not isinstance(document, Mapping):
        raise ConfigError(
            source, [Problem("", f"must be a mapping of settings, not a {type(document).__name__}", 1)]
        )
    try:
        return PolicyFile.model_validate(document).to_policy()
    except ValidationError as error:
        found = [_problem(item, where) for item in error.errors(include_url=False)]
        raise ConfigError(source, sorted(found, key=lambda problem: problem.line or 0)) from error


def _syntax_problem(error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error)
    return Problem("", f"is not valid YAML: {what}", mark.line + 1 if mark else None)


def _problem(item: ErrorDetails, where: Positions) -> Problem:
    path = tuple(part for part in item["loc"] if part != "[key]")
    return Problem(dotted(path), _sentence(item, path), where.line(path))


def _sentence(item: ErrorDetails, path: Path) -> str:
    given, context = item["input"], item.get("ctx", {})
    match item["type"]:
        case "extra_forbidden":
            text = _unknown_key(path)
        case "missing":
            text = "is required and not there"
        case "enum" | "literal_error":
            text = (
                f"{given!r} is not one of {context.get('expected', '')}{_nearest_value(str(given), context)}"
            )
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


def _unknown_key(path: Path) -> str:
    known = sorted(_keys_at(path[:-1]))
    nearest = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.5)
    return (
        f"unknown key; did you mean {nearest[0]}?"
        if nearest
        else f"unknown key; known here: {', '.join(known)}"
    )


def _nearest_value(given: str, context: Mapping[str, Any]) -> str:
    expected = str(context.get("expected", "")).replace(" or ", ", ").split(", ")
    nearest = difflib.get_close_matches(given, [word.strip("'") for word in expected], n=1, cutoff=0.5)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def _keys_at(path: Path) -> list[str]:
    """Keys that the section at a path knows, aliases as written in the file."""
    section: type[BaseModel] = PolicyFile
    for part in path:
        if isinstance(part, int):
            continue
        field = next((f for name, f in section.model_fields.items() if part in (name, f.alias)), None)
        found = _section_in(field.annotation) if field else None
        if found is None:
            return []
        section = found
    return [field.alias or name for name, field in section.model_fields.items()]


def _section_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside `Model`, `Model | None` or `tuple[Model, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _section_in(inner))), None)
