"""What is wrong with a configuration, told so that it can be mended: path, line, message.

No parsing here; the readers collect `Problem`s and raise them together in one `ConfigError`.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend. `path` is dotted (`ladder.red.evict_tiers[1]`) or a flag's name."""

    path: str
    message: str
    line: int | None = None

    def located(self, source: str) -> str:
        """`policy.yaml:12: ladder.red: message`."""
        where = f"{source}:{self.line}" if self.line else source
        return f"{where}: {self.path}: {self.message}" if self.path else f"{where}: {self.message}"


class ConfigError(Exception):
    """A configuration that is refused, with all its problems at once."""

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        super().__init__("\n".join(problem.located(source) for problem in self.problems))
