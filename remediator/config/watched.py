"""The policy in force: the last good content of a file that may change while we run.

A typo must never become a default, and never stop a running remediator: a bad file leaves the last good policy in
force and says why, until it is mended. Nothing is told here; whoever asks for `reload` does.
"""

import hashlib
import json
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path

from remediator.config.plain import plain
from remediator.config.policy_file import load_policy
from remediator.config.problems import ConfigError, Problem
from remediator.core.policy import Policy


class Reload(Enum):
    """What one look at the file came to."""

    UNCHANGED = auto()
    REPLACED = auto()
    """Another policy is in force."""
    REFUSED = auto()
    """The file has become bad, or bad in another way."""
    MENDED = auto()
    """The file was bad and holds the policy in force again."""


def config_hash(policy: Policy) -> str:
    """Twelve hex digits that change when anything of the policy does; in every audit line."""
    text = json.dumps(plain(policy), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class WatchedPolicy:
    """A policy and the file it comes from (None: the shipped policy, which never changes)."""

    def __init__(self, policy: Policy, file: Path | None, clock: Callable[[], float]) -> None:
        """`policy` is what the file held when it was read first. `clock`: unix seconds."""
        self.file, self.policy, self.config_hash = file, policy, config_hash(policy)
        self.since = clock()
        self.problems: tuple[str, ...] = ()
        self._clock = clock

    def reload(self) -> Reload:
        """Read the file again. A mounted ConfigMap changes by a swapped link, so it is read, and never watched."""
        if self.file is None:
            return Reload.UNCHANGED
        before = self.problems
        try:
            policy = load_policy(self.file)
            _may_follow(self.policy, policy, str(self.file))
        except ConfigError as refused:
            self.problems = tuple(problem.located(refused.source) for problem in refused.problems)
            return Reload.UNCHANGED if self.problems == before else Reload.REFUSED
        self.problems = ()
        if policy == self.policy:
            return Reload.MENDED if before else Reload.UNCHANGED
        self.policy, self.config_hash, self.since = policy, config_hash(policy), self._clock()
        return Reload.REPLACED


def _may_follow(before: Policy, after: Policy, source: str) -> None:
    """Refuse what a running remediator could not give back, or keeps in its hands."""
    problems = []
    if after.taint != before.taint:
        problems.append(Problem("taint", "cannot change while nodes may carry the old one: restart to change it"))
    if after.timers.resync_seconds != before.timers.resync_seconds:
        problems.append(Problem("timers.resync_seconds", "is read at start only: restart to change it"))
    if problems:
        raise ConfigError(source, problems)
