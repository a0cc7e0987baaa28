"""Writes docs/policy.md from the models of the policy file: every key with its type, range, default and meaning.

Run by `make docs`. The words are those under each key in `remediator/config/`; a key without any stops the writing.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from annotated_types import Gt
from pydantic import BaseModel

from remediator.config.koordinator import NodeStrategySection, ThresholdsSection
from remediator.config.schema import LadderSection, PolicyFile
from remediator.core.model import Level
from remediator.core.policy import Policy, default_ladder

Row = tuple[str, str, str, str]
_SHIPPED = Policy()
_LEFT_OUT: Mapping[str, object] = {
    "importance": _SHIPPED.importance,
    "safeguards.volumes_allowed": _SHIPPED.safeguards.volumes_allowed,
}
"""Shipped values that the models leave to the core."""
_HEAD = """# The policy file

Made by `make docs` from the models in `remediator/config/`. A commented file with all shipped values:
[policy-example.yaml](policy-example.yaml); how to collect the business table: [business-table.md](business-table.md).

Every key may be left out, and an unknown one is refused with its line. Durations are seconds or `30s`, `10m`, `1h30m`;
sizes are bytes or `100Mi`, `2Gi`; globs are case-sensitive (`*`, `?`, `[abc]`). `remediator check-config FILE` says
what is wrong and what is legal but dangerous; `remediator check-config --schema` prints the JSON schema for an editor.

The file is read again while the server runs. Read at start only: `taint` and `timers.resync_seconds`.
"""


def policy_page() -> str:
    """docs/policy.md."""
    parts = [_HEAD, "## The whole", "", *_table(_rows(PolicyFile, ""))]
    for name, field in PolicyFile.model_fields.items():
        for model in _models(field.annotation):
            path = f"{name}{'[]' if _is_list(field.annotation) else '.LEVEL' if name == 'ladder' else ''}"
            parts += ["", f"## {name}", "", _sentence(model), ""]
            parts += _table(_ladder_rows() if model is LadderSection else _rows(model, f"{path}."))
    return "\n".join(parts) + "\n"


def keys() -> list[str]:
    """Path of every key that a policy may have, as the page writes it."""
    return re.findall(r"^\| `([^`]+)`", policy_page(), re.MULTILINE)


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The section behind a key, whatever list or optional it stands in; the ladder's levels are one."""
    found = [each for each in _leaves(annotation) if isinstance(each, type) and issubclass(each, BaseModel)]
    if found and all(LadderSection in _leaves(each.annotation) for each in found[0].model_fields.values()):
        return [LadderSection]
    return found


def _leaves(annotation: Any) -> list[Any]:
    inside = get_args(annotation)
    return [leaf for each in inside for leaf in _leaves(each)] if inside else [annotation]


def _is_list(annotation: Any) -> bool:
    return str(annotation).startswith("tuple[")


def _sentence(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _rows(model: type[BaseModel], prefix: str) -> Iterator[Row]:
    properties = model.model_json_schema(by_alias=True)
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        inner = [each for each in _models(field.annotation) if each in (ThresholdsSection, NodeStrategySection)]
        kind = _kind(properties["properties"][field.alias or name], properties)
        above = [f", above {each.gt:g}" for each in field.metadata if isinstance(each, Gt)]
        yield path, kind + "".join(above), _default(path, field), _words(path, field)
        for section in inner:
            yield from _rows(section, f"{path}{'[]' if _is_list(field.annotation) else ''}.")


def _ladder_rows() -> Iterator[Row]:
    shipped = default_ladder()
    for (path, kind, _, words), name in zip(
        _rows(LadderSection, "ladder.LEVEL."), LadderSection.model_fields, strict=True
    ):
        values = {level: _text(getattr(shipped[level], name)) for level in (Level.YELLOW, Level.ORANGE, Level.RED)}
        same = len(set(values.values())) == 1
        default = values[Level.RED] if same else "; ".join(f"{level.name} {value}" for level, value in values.items())
        yield path, kind, default, words


def _words(path: str, field: Any) -> str:
    if not field.description:
        raise SystemExit(f"{path}: say under the key, in remediator/config/, what it does")
    text, _, danger = " ".join(field.description.split()).partition(" Danger: ")
    return f"{text} **Danger:** {danger}" if danger else text


def _default(path: str, field: Any) -> str:
    if path in _LEFT_OUT:
        return _text(_LEFT_OUT[path])
    if field.is_required():
        return "(required)"
    value = field.get_default(call_default_factory=True)
    return "(see below)" if isinstance(value, BaseModel) else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(each)}" for key, each in value.items()) or "none"
    if isinstance(value, (tuple, list)):
        return ", ".join(_text(each) for each in value) or "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or value == "":
        return "none"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _kind(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """A JSON schema in words."""
    if "$ref" in schema:
        return _kind(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return _kind(next(each for each in schema["anyOf"] if each.get("type") != "null"), root)
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    kind, fewest = schema.get("type"), schema.get("minItems")
    if kind == "array":
        return f"list of {_kind(schema['items'], root)}{' (not empty)' if fewest else ''}"
    if kind == "object":
        return "section" if "properties" in schema else f"map to {_kind(schema['additionalProperties'], root)}"
    return _simple(kind, schema)


def _simple(kind: Any, schema: Mapping[str, Any]) -> str:
    words = {"string": "text", "boolean": "true or false", "integer": "whole number", "number": "number"}
    plain = words[kind] if isinstance(kind, str) else "duration" if "number" in kind else "size"
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None:
        return plain
    return f"{plain}, {low:g} or more" if high is None else f"{plain}, {low:g} to {high:g}"


def _table(rows: Iterator[Row]) -> Iterator[str]:
    yield "| key | value | shipped | what it does |"
    yield "|---|---|---|---|"
    for path, kind, default, words in rows:
        yield f"| `{path}` | {kind} | {default} | {words} |"
