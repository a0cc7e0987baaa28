"""The composition root: adapters, reconciler, dispatcher and web services put together from settings and policy.

The only place that knows all of them. Nothing is decided here.
"""

import hashlib
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import metadata

from remediator.cli.outside import Outside, connect
from remediator.config import Settings, scaled
from remediator.config.plain import plain
from remediator.core.policy import Policy
from remediator.core.question import Question
from remediator.dispatcher import Dispatcher
from remediator.reconciler import Reconciler
from remediator.reconciler.resyncing import Resync
from remediator.reconciler.telling import Teller
from remediator.web.services import Services
from remediator.web.tokens import OperatorAuth, TokenFile, WebhookAuth

_OBSERVE_THREADS = 16
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
    told_hash = config_hash(policy)
    policy = in_force(policy, settings)
    outside = connect(settings, policy, reads_only=reads_only, at=at)
    pool = ThreadPoolExecutor(_OBSERVE_THREADS, thread_name_prefix="observe")
    teller = Teller(
        outside.audit,
        outside.events,
        outside.notifier,
        policy,
        identity=settings.identity,
        config_hash=told_hash,
    )
    reconciler = Reconciler(
        outside.ports, teller, policy, pool=pool, clock=time.time, stopping=lambda: dispatcher.stopping
    )
    ports = outside.ports
    resync = Resync(ports.metrics, ports.cluster, ports.records, policy.alert_names)
    dispatcher = Dispatcher(
        reconciler.reconcile,
        resync.wakes,
        resync_seconds=policy.timers.resync_seconds,
        repeat_seconds=_EVALUATION_SECONDS / settings.speed,
        on_stop=reconciler.release_all,
    )
    services = _services(settings, policy, outside, dispatcher, reconciler)
    return Composition(dispatcher, services, outside, pool, reconciler.question)


def in_force(policy: Policy, settings: Settings) -> Policy:
    """The policy as decisions get it: our own namespace protected, durations at the cluster's pace."""
    return scaled(with_own_namespace(policy, settings.namespace), settings.speed)


def _services(
    settings: Settings, policy: Policy, outside: Outside, dispatcher: Dispatcher, reconciler: Reconciler
) -> Services:
    operators = settings.operator_tokens_file
    return Services(
        dispatcher=dispatcher,
        alert_names=policy.alert_names,
        node_for=outside.ports.cluster.node_for,
        records=outside.ports.records.all,
        levels=outside.ports.metrics.levels,
        explain=reconciler.explain,
        clock=time.time,
        webhook_auth=WebhookAuth(_token_file(settings)),
        operator_auth=OperatorAuth(
            TokenFile(operators) if operators else None,
            local_operator="local" if settings.loopback else None,
        ),
        ready_checks=outside.ready_checks,
        version=metadata.version("remediator"),
    )


def _token_file(settings: Settings) -> TokenFile | None:
    return TokenFile(settings.webhook_token_file) if settings.webhook_token_file else None


def with_own_namespace(policy: Policy, namespace: str) -> Policy:
    """Pods in our own namespace are never candidates."""
    guards = policy.safeguards
    if namespace in guards.own_namespaces:
        return policy
    return replace(policy, safeguards=replace(guards, own_namespaces=(*guards.own_namespaces, namespace)))


def config_hash(policy: Policy) -> str:
    """Twelve hex digits that change when anything of the policy does; in every audit line."""
    text = json.dumps(plain(policy), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
