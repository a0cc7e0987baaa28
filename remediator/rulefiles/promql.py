"""Rewriting of PromQL text: its durations, its rates of seconds, its node-exporter calls. Nothing is evaluated.

A tokenizer of a page instead of a parser: strings and comments are never touched, durations are recognised only
where PromQL has them (`[...]` and after `offset`), and calls are found by their matching parenthesis.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from remediator.rulefiles.durations import DURATION, format_ms, parse_ms

_TOKEN = re.compile(
    r"""
    (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
  | (?P<comment>\#[^\n]*)
  | (?P<range>\[[^\]]*\])
  | (?P<offset>\boffset\s+-?(?:[0-9]+(?:ms|[smhdwy]))+)
  | (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
  | (?P<space>\s+)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

RANGE_FUNCTIONS = frozenset({"rate", "irate", "increase", "deriv", "delta", "last_over_time", "max_over_time"})
"""Functions whose call on a foreign selector may be wrapped."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of PromQL; the texts of all tokens joined are the expression."""

    kind: str
    text: str


def tokens(expression: str) -> list[Token]:
    """The expression cut up; nothing is lost."""
    return [Token(str(match.lastgroup), match.group()) for match in _TOKEN.finditer(expression)]


def metric_names(expression: str) -> list[str]:
    """All names outside strings and comments, functions and keywords included, in order."""
    return [token.text for token in tokens(expression) if token.kind == "name"]


def map_durations(expression: str, change: Callable[[int], float]) -> str:
    """Every range, subquery step and offset through `change` (milliseconds to milliseconds)."""

    def replaced(match: re.Match[str]) -> str:
        before = parse_ms(match.group())
        after = change(before)
        return match.group() if after == before else format_ms(after)

    return "".join(
        DURATION.sub(replaced, token.text) if token.kind in ("range", "offset") else token.text
        for token in tokens(expression)
    )


def rename(expression: str, old: str, new: str) -> str:
    """Every selector of metric `old` becomes one of `new`."""
    return "".join(new if token.kind == "name" and token.text == old else token.text for token in tokens(expression))


def wrap_calls(expression: str, wrap: Callable[[str, str, str], str | None]) -> str:
    """Calls of a range function on a plain selector, through `wrap(function, metric, call)`; None keeps the call."""
    cut = tokens(expression)
    pieces: list[str] = []
    position = 0
    while position < len(cut):
        found = _selector_call(cut, position)
        if found is not None:
            metric, end = found
            call = "".join(token.text for token in cut[position:end])
            wrapped = wrap(cut[position].text, metric, call)
            if wrapped is not None:
                pieces.append(wrapped)
                position = end
                continue
        pieces.append(cut[position].text)
        position += 1
    return "".join(pieces)


def _selector_call(cut: list[Token], start: int) -> tuple[str, int] | None:
    """(metric, end) of `function(metric...)` that begins at `start`; None when none does."""
    if cut[start].text not in RANGE_FUNCTIONS:
        return None
    solid = [place for place in range(start + 1, len(cut)) if cut[place].kind not in ("space", "comment")][:2]
    if len(solid) < 2 or cut[solid[0]].text != "(" or cut[solid[1]].kind != "name":
        return None
    for position in range(solid[1] + 1, len(cut)):
        if cut[position].text == ")":
            return cut[solid[1]].text, position + 1
        if cut[position].text == "(":
            return None
    return None


def scale_ages(expression: str, factor: float) -> str:
    """Every `(time() - ...)` times `factor`: ages are told on the wall clock, limits are not."""
    cut = tokens(expression)
    pieces = [token.text for token in cut]
    for start in range(len(cut) - 3):
        if [token.text for token in cut[start : start + 4]] == ["(", "time", "(", ")"]:
            end = _closing(cut, start)
            pieces[start] = "((" + pieces[start].removeprefix("(")
            pieces[end] = f") * {factor:g})"
    return "".join(pieces)


def _closing(cut: list[Token], start: int) -> int:
    """Position of the parenthesis that closes the one at `start`."""
    depth = 0
    for position in range(start, len(cut)):
        depth += {"(": 1, ")": -1}.get(cut[position].text, 0)
        if depth == 0:
            return position
    raise ValueError("a parenthesis is not closed")
