"""One generation of the product's decision path per policy: a new policy means new objects, never changed ones.

A pass that runs while the policy changes ends with the policy it began with. Whether the file changed is looked at
by every resync; what came of it is logged, counted, and told to people once.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from remediator import metrics
from remediator.config.dangers import dangers
from remediator.config.watched import Reload, WatchedPolicy
from remediator.core.model import Signal
from remediator.core.state import Notice
from remediator.reconciler import Reconciler
from remediator.reconciler.gauging import StrategyGauges
from remediator.reconciler.ports import Events, Notifier
from remediator.reconciler.resyncing import Resync, Wake
from remediator.reconciler.roll_call import RollCall
from remediator.reconciler.telling import Teller

log = logging.getLogger(__name__)
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Generation:
    """What depends on a policy."""

    reconciler: Reconciler
    resync: Resync
    teller: Teller


class Generations:
    """The generation in force, and how it is followed by the next."""

    def __init__(
        self,
        watched: WatchedPolicy,
        build: Callable[[WatchedPolicy], Generation],
        events: Events,
        notifier: Notifier,
        namespace: str,
        gauges: StrategyGauges,
        roll_call: RollCall,
    ) -> None:
        self._watched, self._build, self._gauges, self._roll_call = watched, build, gauges, roll_call
        self._events, self._notifier, self._namespace = events, notifier, namespace
        came = watched.reload()
        self.now = build(watched)
        self._follow(came if came is Reload.REFUSED else Reload.UNCHANGED)

    def reconcile(self, signal: Signal) -> float | None:
        """One pass, with the policy in force as it begins."""
        return self.now.reconciler.reconcile(signal)

    def explain(self, node: str) -> Mapping[str, object]:
        """A node's decision under the policy in force."""
        return self.now.reconciler.explain(node)

    def wakes(self) -> list[Wake]:
        """Look at the policy file, show its thresholds, say that we watch, then look at what is due."""
        self._follow(self._watched.reload())
        self._gauges.update(self._watched.policy)
        self._roll_call.call(self.now.teller)
        return self.now.resync.wakes()

    def told(self) -> Json:
        """The state of the configuration for people and scripts."""
        watched = self._watched
        return {
            "file": None if watched.file is None else str(watched.file),
            "valid": not watched.problems,
            "problems": list(watched.problems),
            "hash": watched.config_hash,
            "in_force_since": watched.since,
        }

    def _follow(self, came: Reload) -> None:
        watched = self._watched
        if came is Reload.REPLACED:
            self.now = self._build(watched)
            log.warning("another policy is in force: %s of %s", watched.config_hash, watched.file)
            for sentence in dangers(watched.policy):
                log.warning("policy: %s", sentence)
            self._tell(
                "info", "Another policy is in force", f"{watched.file}, hash {watched.config_hash}", "PolicyReloaded"
            )
        elif came is Reload.REFUSED:
            problems = "\n".join(watched.problems)
            log.error("the policy file is refused, the last good policy stays in force:\n%s", problems)
            self._tell(
                "critical", "The policy file is refused; the last good one stays in force", problems, "PolicyRefused"
            )
        elif came is Reload.MENDED:
            log.warning("the policy file is valid again and says what is in force")
        self._count()

    def _count(self) -> None:
        metrics.CONFIG_VALID.set(int(not self._watched.problems))
        metrics.CONFIG_LOADED.set(self._watched.since)

    def _tell(self, severity: str, title: str, text: str, reason: str) -> None:
        self._notifier.notify(Notice(f"policy:{self._watched.config_hash}:{reason}", severity, title, text), {})
        message = f"{title}: {text}"
        self._events.emit("Namespace", self._namespace, "", "", reason, message, severity != "info")
