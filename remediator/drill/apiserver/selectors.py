"""Label and field selectors, as in list and watch requests and in controllers' specs. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from remediator.drill.apiserver.errors import bad_request
from remediator.drill.apiserver.resources import Json

LabelTest = Callable[[Mapping[str, str]], bool]

_SPLIT = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"^(?P<key>[^\s()=!,]+)\s+(?P<op>in|notin)\s*\((?P<values>[^)]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[^=!\s()]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^=!\s()]*)$")
_KEY = re.compile(r"^(?P<no>!?)\s*(?P<key>[A-Za-z0-9][\w./-]*)$")


def parse_label_selector(text: str) -> LabelTest:
    """`a=b,c!=d,e in (f,g),!h` -> a test of a label set; raises a 400 ApiError."""
    tests = [_label_test(part.strip()) for part in _SPLIT.split(text) if part.strip()]
    return lambda labels: all(test(labels) for test in tests)


def _label_test(part: str) -> LabelTest:
    if found := _SET.match(part):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["op"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(part):
        key, value = found["key"], found["value"]
        if found["op"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _KEY.match(part):
        key, wanted = found["key"], not found["no"]
        return lambda labels: (key in labels) is wanted
    raise bad_request(f"unable to parse requirement: found '{part}'")


def selector_matches(selector: Json | None, labels: Mapping[str, str]) -> bool:
    """A spec's LabelSelector; None selects nothing, an empty one everything."""
    if selector is None:
        return False
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    expressions: list[Json] = selector.get("matchExpressions") or []
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _expression(expression, labels) for expression in expressions
    )


def _expression(expression: Json, labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    tests: dict[str, bool] = {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    return tests[expression["operator"]]


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """`path=value`, or with `equal` False `path!=value`."""

    path: str
    value: str
    equal: bool

    def holds(self, obj: Json) -> bool:
        """True for an object whose field has, or has not, the value."""
        return (field(obj, self.path) == self.value) is self.equal


def parse_field_selector(text: str, supported: Callable[[str], bool]) -> tuple[FieldRequirement, ...]:
    """`spec.nodeName=n1,status.phase!=Failed` -> what must hold, all of it; raises a 400 ApiError."""
    wanted = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        found = _EQUAL.match(part)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        if not supported(found["key"]):
            raise bad_request(f"field label not supported: {found['key']}")
        wanted.append(FieldRequirement(found["key"], found["value"], found["op"] != "!="))
    return tuple(wanted)


def field(obj: Json, path: str) -> str:
    """The value at a dotted path as a field selector sees it; "" when absent."""
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return str(value).lower() if isinstance(value, bool) else str("" if value is None else value)
