"""Moments, levels, workloads and matchers as people write them in a situation file.

Notation only. Raises ValueError with an example of what is accepted, so that a typo never turns into a default.
"""

import difflib
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, InstanceOf, ValidationInfo, WithJsonSchema

from remediator.config.quantities import duration_seconds, size_bytes
from remediator.core.model import Level, WorkloadRef

NOW = "now"
"""Key of the validation context under which the file's own time stands."""
_MATCHER = re.compile(r"([^=!~]+?)\s*(=~|!~|!=|=)\s*(.*)", re.DOTALL)
_MOMENT_HINT = "write unix seconds, now, now-60s, now+10m or 2026-12-01T10:00:00Z"


def moment(value: object, now: float | None) -> float:
    """Unix seconds of a number, an RFC 3339 time, or (where `now` is known) of `now-60s`. ValueError otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    text = value.strip() if isinstance(value, str) else ""
    if now is not None and text.startswith("now"):
        return now + _signed(text.removeprefix("now").strip())
    try:
        return moment(datetime.fromisoformat(text), now)
    except ValueError:
        raise ValueError(f"{value!r} is not a time: {_MOMENT_HINT}") from None


def _signed(text: str) -> float:
    if not text:
        return 0.0
    if text[0] not in "+-":
        raise ValueError(f"'now{text}' is not a time: {_MOMENT_HINT}")
    seconds = duration_seconds(text[1:].strip())
    return -seconds if text[0] == "-" else seconds


def _moment(value: object, info: ValidationInfo) -> float:
    return moment(value, (info.context or {}).get(NOW))


def level(value: object) -> Level:
    """A level by its name, in any case. ValueError otherwise."""
    if isinstance(value, Level):
        return value
    names = [each.name.lower() for each in Level]
    if isinstance(value, str) and value.lower() in names:
        return Level[value.upper()]
    nearest = difflib.get_close_matches(str(value).lower(), names, n=1)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    raise ValueError(f"{value!r} is not one of {', '.join(names)}{hint}")


def workload_ref(value: object) -> WorkloadRef:
    """`shop/Deployment/web`, or a mapping with `namespace`, `kind` and `name`. ValueError otherwise."""
    if isinstance(value, WorkloadRef):
        return value
    if isinstance(value, Mapping) and set(value) == {"namespace", "kind", "name"}:
        value = "/".join(str(value[part]) for part in ("namespace", "kind", "name"))
    parts = value.split("/") if isinstance(value, str) else []
    if len(parts) != 3 or not all(parts):
        raise ValueError(f"{value!r} is not a workload: write NAMESPACE/KIND/NAME, for example shop/Deployment/web")
    return WorkloadRef(*parts)


def matcher(value: object) -> object:
    """`namespace=payments` (also `!=`, `=~`, `!~`) as a matcher's mapping; mappings are left as they are."""
    if not isinstance(value, str):
        return value
    found = _MATCHER.fullmatch(value.strip())
    if found is None:
        raise ValueError(f"{value!r} is not a matcher: write for example namespace=payments or pod=~'web-.*'")
    name, operator, text = found.groups()
    quoted = len(text) >= 2 and text[0] == text[-1] and text[0] in "'\""
    equal, regex = not operator.startswith("!"), operator.endswith("~")
    return {"name": name, "value": text[1:-1] if quoted else text, "is_regex": regex, "is_equal": equal}


def _whole_seconds(value: object) -> int:
    return round(duration_seconds(value))


def _signed_size(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else size_bytes(value)


def _schema(kind: "str | list[str]", text: str) -> Any:
    return WithJsonSchema({"type": kind, "description": text})


_TIME = _schema(["number", "string"], "unix seconds of Prometheus' clock, now-60s, or RFC 3339")
Moment = Annotated[float, BeforeValidator(_moment), _TIME]
LevelName = Annotated[InstanceOf[Level], BeforeValidator(level), _schema("string", "green, yellow, orange or red")]
Ref = Annotated[InstanceOf[WorkloadRef], BeforeValidator(workload_ref), _schema("string", "NAMESPACE/KIND/NAME")]
Seconds = Annotated[int, BeforeValidator(_whole_seconds), _schema(["integer", "string"], "seconds, or 30s, 10m")]
SignedSize = Annotated[int, BeforeValidator(_signed_size), _schema(["integer", "string"], "bytes, or 100Mi, 2Gi")]
