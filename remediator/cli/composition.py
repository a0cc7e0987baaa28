"""The composition root: adapters, reconciler, dispatcher and web services put together from settings and policy.

The only place that knows all of them. Nothing is decided here.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import metadata

from remediator.adapters.audit_files import AuditFiles
from remediator.adapters.audit_peers import PeerAudit
from remediator.cli.generations import Generation, Generations
from remediator.cli.outside import Outside, connect
from remediator.config import Settings, scaled
from remediator.config.watched import WatchedPolicy
from remediator.core.model import Unknown
from remediator.core.policy import Policy
from remediator.core.question import Question
from remediator.dispatcher import Dispatcher
from remediator.reconciler import Reconciler
from remediator.reconciler.gauging import StrategyGauges
from remediator.reconciler.places import Places
from remediator.reconciler.resyncing import Resync
from remediator.reconciler.roll_call import RollCall
from remediator.reconciler.telling import Teller
from remediator.web.remembering import Remembered
from remediator.web.services import Services
from remediator.web.tokens import OperatorAuth, TokenFile, WebhookAuth
from remediator.web.trailing import Trails

_OBSERVE_THREADS = 16
_SEARCH_SECONDS = 1.0
"""How long one request may look through our audit files; the next page goes on from there."""
_HOUR_SECONDS = 3600.0
_EVALUATION_SECONDS = 5.0
"""How often the rules are evaluated, at speed 1."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A running product, or one that only looks (`explain`)."""

    dispatcher: Dispatcher
    services: Services
    outside: Outside
    pool: ThreadPoolExecutor
    question: Callable[[str], Question]
    """What a decision about a node would look at now."""

    def stop(self) -> None:
        """Finish the steps in hand, hand over, close what must be flushed."""
        self.dispatcher.stop()
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.outside.close()


def compose(settings: Settings, policy: Policy, *, reads_only: bool = False, at: float | None = None) -> Composition:
    """Everything wired, nothing started. `policy` as written; `reads_only`: whatever would write goes nowhere.

    `at`: Prometheus is asked about that moment instead of now.
    """

    def live(name: str) -> str | Unknown | None:
        return outside.ports.cluster.config_map(name)

    watched = WatchedPolicy(policy, settings.config, time.time, live)
    outside = connect(settings, lambda: watched.policy, reads_only=reads_only, at=at)
    pool = ThreadPoolExecutor(_OBSERVE_THREADS, thread_name_prefix="observe")
    places = Places(outside.ports.leases)

    def build(watched: WatchedPolicy) -> Generation:
        return _generation(settings, watched, outside, pool, places, lambda: dispatcher.stopping)

    gauges = StrategyGauges(outside.ports.cluster)
    roll_call = RollCall(outside.ports.metrics, speed=settings.speed)
    generations = Generations(watched, build, outside.events, outside.notifier, settings.namespace, gauges, roll_call)
    dispatcher = Dispatcher(
        generations.reconcile,
        generations.wakes,
        resync_seconds=policy.timers.resync_seconds / settings.speed,
        repeat_seconds=_EVALUATION_SECONDS / settings.speed,
        on_stop=places.release_all,
    )
    services = _services(settings, watched, outside, dispatcher, generations)
    return Composition(dispatcher, services, outside, pool, generations.now.reconciler.question)


def _generation(
    settings: Settings,
    watched: WatchedPolicy,
    outside: Outside,
    pool: ThreadPoolExecutor,
    places: Places,
    stopping: Callable[[], bool],
) -> Generation:
    policy, ports = in_force(watched.policy, settings), outside.ports
    teller = Teller(
        outside.audit,
        outside.events,
        outside.notifier,
        policy,
        identity=settings.identity,
        config_hash=watched.config_hash,
    )
    reconciler = Reconciler(ports, teller, policy, pool=pool, clock=time.time, places=places, stopping=stopping)
    return Generation(reconciler, Resync(ports.metrics, ports.cluster, ports.records, policy.alert_names), teller)


def in_force(policy: Policy, settings: Settings) -> Policy:
    """The policy as decisions get it: our own namespace protected, durations at the cluster's pace."""
    return scaled(with_own_namespace(policy, settings.namespace), settings.speed)


def _services(
    settings: Settings, watched: WatchedPolicy, outside: Outside, dispatcher: Dispatcher, generations: Generations
) -> Services:
    operators = settings.operator_tokens_file
    return Services(
        dispatcher=dispatcher,
        alert_names=lambda: watched.policy.alert_names,
        node_for=outside.ports.cluster.node_for,
        records=outside.ports.records.all,
        levels=outside.ports.metrics.levels,
        explain=generations.explain,
        config=generations.told,
        clock=time.time,
        used_ratios=Remembered(lambda: outside.ports.metrics.used_ratios(_HOUR_SECONDS / settings.speed), seconds=10),
        silences=Remembered(lambda: outside.ports.silences.read("", "", None), seconds=5),
        say=outside.ports.records.say,
        audit=lambda node, operator, word: generations.now.teller.said(node, operator, word, time.time()),
        trail=_trail(settings),
        webhook_auth=WebhookAuth(_token_file(settings)),
        operator_auth=OperatorAuth(
            TokenFile(operators) if operators else None,
            local_operator="local" if settings.loopback else None,
        ),
        ready_checks=outside.ready_checks,
        version=metadata.version("remediator"),
    )


def _trail(settings: Settings) -> Trails:
    """Our files first; a peer that is ourselves is not asked."""
    files = AuditFiles(settings.audit_dir)
    peers = {url: PeerAudit(url) for url in settings.peers if not settings.is_us(url)}
    return Trails(settings.identity, lambda asked: files.page(settings.identity, asked, seconds=_SEARCH_SECONDS), peers)


def _token_file(settings: Settings) -> TokenFile | None:
    return TokenFile(settings.webhook_token_file) if settings.webhook_token_file else None


def with_own_namespace(policy: Policy, namespace: str) -> Policy:
    """Pods in our own namespace are never candidates."""
    guards = policy.safeguards
    if namespace in guards.own_namespaces:
        return policy
    return replace(policy, safeguards=replace(guards, own_namespaces=(*guards.own_namespaces, namespace)))
