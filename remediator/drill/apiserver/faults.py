"""Faults on purpose: latency, refusals, time-outs and lost answers, by method and path.

A fault applies to requests whose method and path match; `times` bounds how often, `probability` (with the
seed) how likely. `lose_answer` lets the request take effect and then cuts the connection.
"""

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_STATUS_MESSAGES = {
    429: ("the server has received too many requests and has asked us to try again later", "TooManyRequests"),
    500: ("etcdserver: request timed out", "InternalError"),
    503: ("the server is currently unable to handle the request", "ServiceUnavailable"),
    504: ("request did not complete within the allowed duration", "Timeout"),
    409: ("Operation cannot be fulfilled: the object has been modified", "Conflict"),
}


@dataclass(slots=True)
class Fault:
    """One rule; without an effect it does nothing."""

    method: str = ".*"
    path: str = ".*"
    latency_seconds: float = 0.0
    status: int | None = None
    never_answer: bool = False
    lose_answer: bool = False
    times: int | None = None
    probability: float = 1.0
    name: str = ""

    @staticmethod
    def parse(raw: Mapping[str, Any]) -> "Fault":
        """A fault from JSON or YAML; raises ValueError naming the key."""
        known = Fault.__dataclass_fields__
        if unknown := sorted(set(raw) - set(known)):
            raise ValueError(f"fault: unknown key {unknown[0]!r}; known are {', '.join(known)}")
        return Fault(**raw)

    @property
    def message(self) -> tuple[str, str]:
        """Text and reason of the refusal."""
        return _STATUS_MESSAGES.get(self.status or 0, ("fault", "InternalError"))


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

    def hit(self, method: str, path: str) -> Fault | None:
        """The fault for a request, counted as used."""
        for rule in self.rules:
            if rule.times == 0 or not re.fullmatch(rule.method, method) or not re.search(rule.path, path):
                continue
            if rule.probability < 1.0 and self._random.random() >= rule.probability:
                continue
            if rule.times is not None:
                rule.times -= 1
            return rule
        return None
