"""Alertmanager's matchers: how they are written, and when one holds.

As Alertmanager: regular expressions are anchored, a missing label equals the empty string. One rule of our own, on the
safe side for silences: a regular expression that Python cannot compile, reads otherwise than Alertmanager's RE2, or
could brood over for ever, counts as matching (it was good enough for Alertmanager).
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from remediator.core.model import Matcher

_QUOTED = r'"(?:\\.|[^"\\])*"'
_WRITTEN = re.compile(
    rf"""\s*(?P<name>{_QUOTED}|[^\s=!~"{{}},]+)\s*(?P<op>=~|!~|!=|=)\s*(?P<value>{_QUOTED}|[^",]*?)\s*(?:,|\Z)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_READ_OTHERWISE = re.compile(
    r"""
    \[:         # a POSIX class
    | \{,       # RE2 takes {,3} literally
    | \\[1-9]   # octal in RE2, a group in Python
    | \\B       # on an empty value
    """,
    re.VERBOSE,
)
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]|.", re.DOTALL)
_FOLDS = re.compile(r"\(\?[a-z]*i")
_REPEATS = ("*", "+", "{")


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """None when Python cannot read it as RE2 does."""
    if _READ_OTHERWISE.search(pattern) or _may_take_for_ever(pattern):
        return None
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return None


def _may_take_for_ever(pattern: str) -> bool:
    """A repeated group that repeats or chooses within: RE2 is linear, Python tries every way to split the text."""
    inside, closed = [False], False
    for sign in _TOKEN.findall(pattern):
        if sign in _REPEATS and closed:
            return True
        closed = sign == ")" and len(inside) > 1 and inside.pop()
        if sign == "(":
            inside.append(False)
        elif sign in _REPEATS or sign == "|" or closed:
            inside[-1] = True
    return False


def read_alike(pattern: str, value: str) -> bool:
    """Whether Python reads this expression on this value as RE2 does.

    Line ends before `$`, `\\s`, and case folded beyond ASCII are where they differ on a value.
    """
    if _compiled(pattern) is None or "\n" in value or "\v" in value:
        return False
    return not _FOLDS.search(pattern) or (pattern.isascii() and value.isascii())


def parse_matchers(text: str) -> tuple[Matcher, ...]:
    """`{a="b", c=~"d.*"}`, or one of them without braces, as amtool and routes write them. Raises ValueError."""
    inside = text.strip()
    if inside.startswith("{") and inside.endswith("}"):
        inside = inside[1:-1].rstrip().removesuffix(",")
    found, at = [], 0
    while at < len(inside):
        written = _WRITTEN.match(inside, at)
        if written is None:
            raise ValueError(f'{text!r} is no matcher like name="value"')
        op, at = written["op"], written.end()
        found.append(Matcher(_plain(written["name"]), _plain(written["value"]), "~" in op, "!" not in op))
    return tuple(found)


def _plain(text: str) -> str:
    """Without its quotes; a backslash before anything but n, a quote or itself is one, as Alertmanager reads it."""
    inside = text[1:-1] if len(text) > 1 and text.startswith('"') else text
    return re.sub(r'\\[n"\\]', lambda found: _ESCAPES[found[0]], inside)


def matcher_holds(matcher: Matcher, labels: Mapping[str, str]) -> bool:
    """Whether one matcher holds for a label set."""
    value = labels.get(matcher.name, "")
    if not matcher.is_regex:
        return (value == matcher.value) == matcher.is_equal
    pattern = _compiled(matcher.value)
    if pattern is None or not read_alike(matcher.value, value):
        return True
    return (pattern.fullmatch(value) is not None) == matcher.is_equal
