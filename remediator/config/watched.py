"""The policy in force: the last good content of a file that may change while we run.

A typo must never become a default, and never stop a running remediator: a bad file leaves the last good policy in
force and says why, until it is mended. Nothing is told here; whoever asks for `reload` does.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path

from remediator.config.plain import plain
from remediator.config.policy_file import load_policy
from remediator.config.problems import ConfigError, Problem
from remediator.core.model import Unknown
from remediator.core.policy import Policy
from remediator.core.strategy_policy import KoordinatorPolicy, UnreadableStrategyConfig, followed, from_config_map


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


Live = Callable[[str], str | Unknown | None]
"""Text of `resource-threshold-config` in the ConfigMap of that namespace/name; None: there is none."""


class WatchedPolicy:
    """A policy, the file it comes from (None: the shipped policy, which never changes), and the ConfigMap it names."""

    def __init__(
        self, policy: Policy, file: Path | None, clock: Callable[[], float], live: Live = lambda name: None
    ) -> None:
        """`policy` is what the file held when it was read first. `clock`: unix seconds."""
        self.file, self._live, self._clock = file, live, clock
        self._of_file, self.policy = policy, policy
        if policy.koordinator.config_map:  # not read yet
            self.policy = replace(policy, koordinator=replace(policy.koordinator, strategies=()))
        self.config_hash, self.since = config_hash(self.policy), clock()
        self.problems: tuple[str, ...] = ()

    def reload(self) -> Reload:
        """Read file and ConfigMap again: a mounted file changes by a swapped link, so it is read and never watched."""
        before = self.problems
        problems: tuple[str, ...] = ()
        try:
            self._of_file = self._read_file()
        except ConfigError as refused:
            problems = tuple(problem.located(refused.source) for problem in refused.problems)
        policy, live_problems = self._laid_over(self._of_file, self.policy.koordinator)
        self.problems = (*problems, *live_problems)
        replaced = policy != self.policy
        if replaced:
            self.policy, self.config_hash, self.since = policy, config_hash(policy), self._clock()
        if self.problems and self.problems != before:
            return Reload.REFUSED
        if replaced:
            return Reload.REPLACED
        return Reload.MENDED if before and not self.problems else Reload.UNCHANGED

    def _read_file(self) -> Policy:
        if self.file is None:
            return self._of_file
        policy = load_policy(self.file)
        _may_follow(self._of_file, policy, str(self.file))
        return policy

    def _laid_over(self, policy: Policy, before: KoordinatorPolicy | None) -> tuple[Policy, tuple[str, ...]]:
        """(the policy with the ConfigMap's thresholds, what is wrong with that one).

        What cannot be read leaves the last good thresholds; where there never were any, no strategy runs.
        """
        wanted = policy.koordinator
        if not wanted.config_map or not wanted.strategies:
            return policy, ()
        kept = before if before is not None and before.config_map == wanted.config_map else None
        found, problem = self._thresholds(wanted)
        if found is None and kept is not None and kept.strategies:
            found = replace(wanted, cluster=kept.cluster, nodes=kept.nodes, earlier=kept.earlier)
        elif found is None:
            found = replace(wanted, strategies=())
        elif kept is not None and kept.strategies:
            same = (found.cluster, found.nodes) == (kept.cluster, kept.nodes)
            found = replace(found, earlier=kept.earlier) if same else followed(kept, found)
        return replace(policy, koordinator=found), (problem,) if problem else ()

    def _thresholds(self, wanted: KoordinatorPolicy) -> tuple[KoordinatorPolicy | None, str]:
        """(the ConfigMap's settings, "") or (None, why not)."""
        text = self._live(wanted.config_map)
        if isinstance(text, Unknown):
            return None, f"ConfigMap {wanted.config_map}: cannot be read: {text.why}"
        if text is None:
            return None, f"ConfigMap {wanted.config_map}: not there, or without resource-threshold-config"
        try:
            found = from_config_map(text, wanted.strategies)
        except UnreadableStrategyConfig as error:
            return None, f"ConfigMap {wanted.config_map}: {error}"
        return replace(wanted, cluster=found.cluster, nodes=found.nodes), ""


def _may_follow(before: Policy, after: Policy, source: str) -> None:
    """Refuse what a running remediator could not give back, or keeps in its hands."""
    problems = []
    if after.taint != before.taint:
        problems.append(Problem("taint", "cannot change while nodes may carry the old one: restart to change it"))
    if after.timers.resync_seconds != before.timers.resync_seconds:
        problems.append(Problem("timers.resync_seconds", "is read at start only: restart to change it"))
    if problems:
        raise ConfigError(source, problems)
