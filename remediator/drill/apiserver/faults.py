"""Faults on purpose: latency, refusals, time-outs and lost answers, by method, path, verb and resource.

A fault applies to requests that match all it names; `times` bounds how often, `probability` (with the seed) how
likely. `lose_answer` lets the request take effect and then cuts the connection; with `never_answer` beside it the
connection stays open without an answer instead.
"""

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

_STATUS_MESSAGES = {
    401: ("Unauthorized", "Unauthorized"),
    403: ("forbidden: this is a fault on purpose", "Forbidden"),
    404: ("the server could not find the requested resource", "NotFound"),
    429: ("the server has received too many requests and has asked us to try again later", "TooManyRequests"),
    500: ("etcdserver: request timed out", "InternalError"),
    503: ("the server is currently unable to handle the request", "ServiceUnavailable"),
    504: ("request did not complete within the allowed duration", "Timeout"),
    409: ("Operation cannot be fulfilled: the object has been modified", "Conflict"),
}
_KINDS: Mapping[Any, tuple[type, ...]] = {
    str: (str,),
    float: (int, float),
    int | None: (int, type(None)),
    bool: (bool,),
}
_TOLD: Mapping[Any, str] = {str: "a string", float: "a number", int | None: "a whole number", bool: "true or false"}


@dataclass(slots=True)
class Fault:
    """One rule; without an effect it does nothing.

    `method`, `verb` and `resource` are regular expressions of the whole word (POST, create, pods/eviction), `path`
    one that is searched for in path and query.
    """

    method: str = ".*"
    path: str = ".*"
    verb: str = ".*"
    resource: str = ".*"
    latency_seconds: float = 0.0
    status: int | None = None
    retry_after_seconds: int | None = None
    never_answer: bool = False
    lose_answer: bool = False
    times: int | None = None
    probability: float = 1.0
    name: str = ""

    @staticmethod
    def parse(raw: Mapping[str, Any]) -> "Fault":
        """A fault from JSON or YAML; raises ValueError naming the key."""
        known = {each.name: each.type for each in fields(Fault)}
        for key, value in raw.items():
            if key not in known:
                raise ValueError(f"fault: unknown key {key!r}; known are {', '.join(known)}")
            kinds = _KINDS[known[key]]
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise ValueError(f"fault: {key} must be {_TOLD[known[key]]}, not {value!r}")
        fault = Fault(**raw)
        for key in ("method", "path", "verb", "resource"):
            _check_expression(key, getattr(fault, key))
        if not 0.0 <= fault.probability <= 1.0:
            raise ValueError(f"fault: probability must be between 0 and 1, not {fault.probability}")
        if fault.status is not None and not 400 <= fault.status <= 599:
            raise ValueError(f"fault: status must be between 400 and 599, not {fault.status}")
        return fault

    @property
    def message(self) -> tuple[str, str]:
        """Text and reason of the refusal."""
        return _STATUS_MESSAGES.get(self.status or 0, ("fault", "InternalError"))

    def matches(self, method: str, path: str, verb: str, resource: str) -> bool:
        """True for a request that this rule is about."""
        return bool(
            re.fullmatch(self.method, method)
            and re.search(self.path, path)
            and re.fullmatch(self.verb, verb)
            and re.fullmatch(self.resource, resource)
        )


def _check_expression(key: str, expression: str) -> None:
    try:
        re.compile(expression)
    except re.error as error:
        raise ValueError(f"fault: {key} is no regular expression: {error}") from error


@dataclass(slots=True)
class Faults:
    """The rules in force; the first that matches applies."""

    seed: int = 1
    rules: list[Fault] = field(default_factory=list)
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def replace(self, rules: Iterable[Fault]) -> None:
        """Put other rules in force."""
        self.rules = list(rules)

    def hit(self, method: str, path: str, verb: str = "", resource: str = "") -> Fault | None:
        """The fault for a request, counted as used."""
        for rule in self.rules:
            if rule.times == 0 or not rule.matches(method, path, verb, resource):
                continue
            if rule.probability < 1.0 and self._random.random() >= rule.probability:
                continue
            if rule.times is not None:
                rule.times -= 1
            return rule
        return None
