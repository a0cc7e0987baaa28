"""Times as a real server reads and writes them: RFC 3339, and MicroTime with its six decimals. Pure.

A client that prints a time in another way meets the same 400 here as on a real server.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from remediator.drill.apiserver.errors import ApiError, bad_request
from remediator.drill.apiserver.resources import Json

# kind -> (path, is it a MicroTime?)
_TIMES: Mapping[str, tuple[tuple[tuple[str, ...], bool], ...]] = {
    "Lease": ((("spec", "acquireTime"), True), (("spec", "renewTime"), True)),
    "Event": (
        (("eventTime",), True),
        (("series", "lastObservedTime"), True),
        (("firstTimestamp",), False),
        (("lastTimestamp",), False),
    ),
}
_TIME = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$")
_SECONDS = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"


def normalised(kind: str, version: str, obj: Json) -> Json:
    """The object with its times in UTC as the server prints them; raises 400 for what it cannot parse."""
    for path, is_micro in _TIMES.get(kind, ()):
        obj = _changed(obj, path, is_micro, f'{kind} in version "{version}" cannot be handled as a {kind}')
    return obj


def _changed(obj: Json, path: tuple[str, ...], is_micro: bool, refusal: str) -> Json:
    head, *rest = path
    value = obj.get(head)
    if value is None:
        return obj
    if rest:
        return {**obj, head: _changed(value, tuple(rest), is_micro, refusal)} if isinstance(value, dict) else obj
    return {**obj, head: _parsed(str(value), is_micro, refusal)}


def _parsed(text: str, is_micro: bool, refusal: str) -> str:
    found = _TIME.match(text)
    if found is None or (is_micro and len(found[2] or "") != len(".000000")):
        raise _unparsable(text, is_micro, refusal)
    # Python reads at most microseconds; a real Time is cut to seconds anyway.
    moment = datetime.fromisoformat(found[1] + (found[2] or "")[:7] + found[3]).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if is_micro else "%Y-%m-%dT%H:%M:%SZ")


def _unparsable(text: str, is_micro: bool, refusal: str) -> ApiError:
    seconds = _SECONDS.match(text)
    rest = text[seconds.end() :] if seconds else text
    decimals = re.match(r"\.\d+", rest)
    if seconds is None:
        wanted = "2006"
    elif is_micro and len(decimals[0] if decimals else "") != len(".000000"):
        wanted = ".000000"
    else:
        rest, wanted = rest[decimals.end() :] if decimals else rest, "Z07:00"
    layout = _MICRO_LAYOUT if is_micro else _LAYOUT
    return bad_request(f'{refusal}: parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{wanted}"')
