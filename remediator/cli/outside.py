"""Every outside system, connected from settings: the one place where adapters' constructors are called.

`reads_only` (explain) connects the readers alone: whatever would write is replaced by something that refuses to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click
from kubernetes.config.config_exception import ConfigException

from remediator.adapters import actuator, audit, cluster, events, leases, notifier, records
from remediator.adapters.actuator import KubernetesActuator, RecordingActuator
from remediator.adapters.alertmanager import AlertmanagerSilences
from remediator.adapters.audit_stdout import StdoutCopies
from remediator.adapters.cluster import KubernetesCluster
from remediator.adapters.kubernetes_api import KubernetesApi, configuration
from remediator.adapters.prometheus import PrometheusMetrics
from remediator.adapters.records import NodeRemediationRecords
from remediator.adapters.rights import Rights
from remediator.adapters.shipper import Bulk, Files, Shipper, Target
from remediator.config import Settings
from remediator.config.settings import header_lines
from remediator.core.model import Mode, Unknown
from remediator.core.policy import Policy
from remediator.core.state import Notice
from remediator.reconciler import Ports
from remediator.reconciler.ports import Actuator, Audit, Events, Leases, Notifier
from remediator.web.services import Check

_STDOUT = 1


@dataclass(frozen=True, slots=True)
class Outside:
    """The ports, what is told through, and how to ask whether all of it is there."""

    ports: Ports
    audit: Audit
    events: Events
    notifier: Notifier
    ready_checks: Mapping[str, Check] = field(default_factory=dict)
    closers: tuple[Callable[[], None], ...] = ()

    def close(self) -> None:
        """Send and flush what waits."""
        for close in self.closers:
            close()


def connect(settings: Settings, policy: Callable[[], Policy], *, reads_only: bool, at: float | None = None) -> Outside:
    """Adapters for these settings; `policy` gives the one in force; Prometheus is asked about `at` (None: now).

    A ClickException says what is wrong with the kubeconfig.
    """
    try:
        api = KubernetesApi(configuration(settings.kubeconfig))
    except ConfigException as error:
        where = f"--kubeconfig {settings.kubeconfig}" if settings.kubeconfig else "the cluster's configuration"
        hint = "" if settings.kubeconfig else "; name a file with --kubeconfig or KUBECONFIG"
        raise click.ClickException(f"{where} cannot be used: {error}{hint}") from error
    readers = _Readers(
        history(settings, at),
        KubernetesCluster(api, speed=settings.speed),
        AlertmanagerSilences(
            settings.alertmanager_urls,
            keep_for_red_seconds=lambda: policy().safeguards.silence_cache_for_red_seconds / settings.speed,
        ),
        NodeRemediationRecords(api),
    )
    return _only_reading(readers) if reads_only else _acting(readers, api, settings, policy)


def pod_names(kubeconfig: Path | None, node: str) -> Mapping[str, str] | str:
    """UID -> namespace/name of a node's pods, or why the cluster could not tell."""
    try:
        found = KubernetesCluster(KubernetesApi(configuration(kubeconfig))).snapshot(node)
    except ConfigException as error:
        return f"the cluster's configuration cannot be used: {error}"
    return found.why if isinstance(found, Unknown) else {pod.uid: pod.key for pod in found.pods}


def history(settings: Settings, at: float | None) -> PrometheusMetrics:
    """Prometheus, asked about one moment (None: now)."""
    return PrometheusMetrics(
        settings.prometheus_url,
        speed=settings.speed,
        headers=header_lines(settings.prometheus_header_file),
        scrape_seconds=settings.scrape_seconds,
        cadvisor_scrape_seconds=settings.cadvisor_scrape_seconds,
        at=at,
    )


@dataclass(frozen=True, slots=True)
class _Readers:
    metrics: PrometheusMetrics
    cluster: KubernetesCluster
    silences: AlertmanagerSilences
    records: NodeRemediationRecords

    def ports(self, kept: Leases, hands: Mapping[Mode, Actuator]) -> Ports:
        return Ports(self.metrics, self.cluster, self.silences, self.records, kept, hands)


def _acting(readers: _Readers, api: KubernetesApi, settings: Settings, policy: Callable[[], Policy]) -> Outside:
    recording, real = RecordingActuator(), KubernetesActuator(api, policy().taint)
    hands: dict[Mode, Actuator] = {
        Mode.OFF: recording,
        Mode.OBSERVE: recording,
        Mode.APPROVE: real,
        Mode.ENFORCE: real,
    }
    copies = StdoutCopies(_STDOUT) if settings.audit_stdout else None
    lines = audit.JsonLinesAudit(settings.audit_dir, settings.identity, copy=copies.put if copies else None)
    lines.begin()
    told = events.KubernetesEvents(api, settings.namespace, settings.identity)
    people = notifier.RoutedNotifier(lambda: policy().notifications)
    shipper = _shipper(settings, people)
    rights = Rights(api, lambda: needed_rights(policy()), settings.namespace)
    return Outside(
        ports=readers.ports(leases.KubernetesLeases(api, settings.namespace, settings.identity), hands),
        audit=lines,
        events=told,
        notifier=people,
        ready_checks={
            "prometheus": readers.metrics.ready,
            "alertmanager": readers.silences.ready,
            "cluster": readers.cluster.ready,
            "records": readers.records.ready,
            "rights": rights.ready,
            "audit": lines.ready,
        },
        closers=(
            *((shipper.close,) if shipper else ()),
            told.close,
            people.close,
            lines.close,
            *((copies.close,) if copies else ()),
        ),
    )


def _shipper(settings: Settings, people: Notifier) -> Shipper | None:
    """Started, where the settings ask for one. It sees the audit's files only: the writer does not know of it."""
    wanted = settings.elasticsearch
    if not wanted.urls:
        return None
    target = Target(wanted.urls, wanted.api_key_file, wanted.basic_auth_file, wanted.ca_file)
    files = Files(settings.audit_dir, settings.identity)
    shipper = Shipper(files, Bulk(target).send, wanted.index, lambda notice: people.notify(notice, {}))
    shipper.start()
    return shipper


def needed_rights(policy: Policy) -> list[dict[str, object]]:
    """What the service account must be allowed in this policy's modes; observe needs no right to act."""
    modes = {policy.mode, *(rule.mode for rule in policy.mode_rules)}
    rules = [*cluster.RBAC_RULES, *records.RBAC_RULES, *leases.RBAC_RULES, *events.RBAC_RULES]
    if policy.koordinator.config_map:
        rules.append(cluster.config_map_rule(policy.koordinator.config_map))
    if modes & {Mode.APPROVE, Mode.ENFORCE}:
        rules += actuator.RBAC_RULES
        if any(row.scale_on_pressure is not None for row in policy.business):
            rules += actuator.SCALE_RBAC_RULES
        if policy.safeguards.force_delete:
            rules += actuator.FORCE_DELETE_RBAC_RULES
    return rules


def _only_reading(readers: _Readers) -> Outside:
    nobody = _Nobody()
    return Outside(readers.ports(nobody, {}), nobody, nobody, nobody)


class _Nobody:
    """Stands where something would write: it never holds a lease, keeps a line, or tells anybody."""

    def acquire(self, name: str) -> bool:
        """No."""
        return False

    def release(self, name: str) -> None:
        """Nothing is held."""

    def write(self, record: Mapping[str, object]) -> None:
        """Not kept."""

    def notify(self, notice: Notice, context: Mapping[str, object]) -> None:
        """Nobody is told."""

    def emit(self, kind: str, name: str, namespace: str, uid: str, reason: str, message: str, warning: bool) -> None:
        """Nobody is told."""
