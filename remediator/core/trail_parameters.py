"""A question to the audit as parameters of a URL, and back: strict, every refusal names the parameter and the fix.

Used by the server that is asked, by a server that asks its peers, and by the command line. Pure.
"""

import base64
import binascii
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from remediator.core.actions import ActionKind
from remediator.core.trail import KINDS, MOST_RECORDS, Position, TrailFilter, TrailQuestion, seconds

Parameters = Sequence[tuple[str, str]]
_TEXTS = ("node", "episode", "plan", "action", "namespace", "pod", "workload")
_TIMES = ("since", "until")
_REPEATABLE = "kind"
NAMES = (*_TEXTS, _REPEATABLE, *_TIMES, "limit", "cursor", "replica")
_LONGEST = 512
_LONGEST_CURSOR = 8192
_LOCAL = "local"


class TrailParameterError(ValueError):
    """A parameter that cannot be understood; the text says which and what to write instead."""


def as_parameters(asked: TrailQuestion) -> Parameters:
    """What `from_parameters` reads."""
    given = [(name, getattr(asked.filter, name)) for name in (*_TEXTS, *_TIMES)]
    pairs = [(name, str(value)) for name, value in given if value not in ("", None)]
    pairs += [(_REPEATABLE, kind) for kind in asked.filter.kinds]
    pairs += [("limit", str(asked.limit))]
    pairs += [("cursor", cursor(asked.position))] if asked.position != Position() else []
    return [*pairs, ("replica", _LOCAL)] if asked.local else pairs


def from_parameters(pairs: Iterable[tuple[str, str]]) -> TrailQuestion:
    """The question; TrailParameterError when anything of it is not as described."""
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        _check(name, value, given)
        given.setdefault(name, []).append(value)
    one = {name: values[0] for name, values in given.items()}
    wanted = TrailFilter(
        kinds=tuple(given.get(_REPEATABLE, ())),
        since=_time("since", one),
        until=_time("until", one),
        **{name: one.get(name, "") for name in _TEXTS},
    )
    place = position(one["cursor"]) if "cursor" in one else Position()
    return TrailQuestion(wanted, _limit(one.get("limit", str(TrailQuestion().limit))), place, "replica" in one)


def _check(name: str, value: str, given: dict[str, list[str]]) -> None:
    if name not in NAMES:
        raise TrailParameterError(f"{name[:40]!r} is no parameter; there are {', '.join(NAMES)}")
    if name in given and name != _REPEATABLE:
        raise TrailParameterError(f"{name} is given twice; give it once ({_REPEATABLE} alone may be repeated)")
    if not value:
        raise TrailParameterError(f"{name} is empty; leave it out, or give it a value")
    if len(value) > (_LONGEST_CURSOR if name == "cursor" else _LONGEST):
        raise TrailParameterError(f"{name} is too long; names have at most {_LONGEST} characters")
    _choice(name, value)


def _choice(name: str, value: str) -> None:
    choices = {_REPEATABLE: KINDS, "action": tuple(map(str, ActionKind)), "replica": (_LOCAL,)}.get(name)
    if choices and value not in choices:
        raise TrailParameterError(f"{name}={value[:40]!r} is not known; write one of {', '.join(choices)}")


def _limit(value: str) -> int:
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= MOST_RECORDS):
        raise TrailParameterError(f"limit={value[:40]!r} is no whole number from 1 to {MOST_RECORDS}")
    return int(value)


def _time(name: str, given: Mapping[str, str]) -> float | None:
    """Unix seconds, or RFC 3339 with its zone; None where nothing is said."""
    if name not in given:
        return None
    value = given[name]
    found = seconds(value)
    if found is not None:
        return found
    with suppress(ValueError):
        return _finite(float(value))
    raise TrailParameterError(
        f"{name}={value[:40]!r} is no time; write unix seconds (1796421973) or RFC 3339 (2026-12-04T22:06:13Z)"
    )


def _finite(at: float) -> float:
    if not math.isfinite(at):
        raise ValueError("not finite")
    return at


def cursor(place: Position) -> str:
    """A position as one word."""
    return base64.urlsafe_b64encode(json.dumps([place.at, dict(place.given)]).encode()).decode()


def position(word: str) -> Position:
    """The position that a cursor says."""
    try:
        at, given = json.loads(base64.b64decode(word.encode("ascii"), b"-_", validate=True))
        counts = {str(writer): int(count) for writer, count in given.items()}
        if isinstance(at, int | float) and all(type(count) is int and count > 0 for count in given.values()):
            return Position(_finite(float(at)), counts)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, binascii.Error):
        pass
    raise TrailParameterError("cursor is not one of ours; give `next` of the page before, unchanged")
