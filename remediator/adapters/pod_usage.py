"""From the rows of `pod_query` to usages by pod UID. Pure.

Source of a pod, best first: its cgroup as our exporter reads it, else the sum of its containers as cAdvisor gives
them. Whoever has neither is not in the answer, and so no candidate.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from remediator.core.model import PodUsage

Labels = Mapping[str, str]
Container = tuple[str, str, str]
"""(namespace, pod, container)."""
AGREEMENT_RATIO = 0.01
"""Pods come and go: two scrapes still agree when what vanished held no more than this share of the pods' memory."""
OUTLIVED_SECONDS = 60.0
"""A container whose last sample is so much older than its pod's newest has ended; its series only lives on."""
_UID = re.compile(r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})\b")


class PodsUnknownError(Exception):
    """Nobody knows the node's pods, or two scrapes do not agree on them."""


class PodsDisagreeError(PodsUnknownError):
    """Pods that held memory one scrape ago are missing from the newest."""


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float
    bytes: float


def pod_usages(node: str, samples: Iterable[tuple[Labels, float]]) -> dict[str, PodUsage]:
    """Usages by pod UID; `namespace/name` stands for a UID that nobody gives.

    Raises PodsDisagreeError when a scrape was partial, PodsUnknownError when there is no source at all.
    """
    parts: dict[str, list[tuple[Labels, float]]] = {}
    for labels, value in samples:
        parts.setdefault(labels["what"], []).append((labels, value))
    exported = _by_uid(parts)
    agree(_named(parts, "previous", "uid"), exported.keys())
    measured = _from_cadvisor(parts)
    agree(_named(parts, "cadvisor_previous", "namespace", "pod"), _named(parts, "cadvisor", "namespace", "pod").keys())
    if not exported and not measured and "exported" not in parts:
        raise PodsUnknownError(
            f"nobody measures the pods of {node}: neither our exporter nor cAdvisor has a series of it"
        )
    return {**measured, **exported}


def agree(before: Mapping[str, float], now: Iterable[str]) -> None:
    """Raise PodsDisagreeError when pods that mattered one scrape ago are not in the newest.

    A scrape that gave only some of the pods must not decide whom the ranking leaves out; new pods do no harm.
    """
    vanished = sorted(set(before) - set(now))
    missing, whole = sum(before[key] for key in vanished), sum(before.values())
    if missing > AGREEMENT_RATIO * whole:
        raise PodsDisagreeError(
            f"two scrapes disagree on the pods of the node: {len(before)} one scrape ago, {len(vanished)} of them are "
            f"missing now and held {missing / whole:.0%} of the pods' memory"
        )


def _named(parts: Mapping[str, list[tuple[Labels, float]]], what: str, *names: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for labels, value in parts.get(what, ()):
        key = "/".join(labels.get(name, "") for name in names)
        found[key] = found.get(key, 0.0) + value
    return found


def _by_uid(parts: Mapping[str, list[tuple[Labels, float]]]) -> dict[str, PodUsage]:
    names = ("working_set", "anon", "shmem", "growth", "max", "sampled_at")
    columns = {what: _named(parts, what, "uid") for what in names}
    return {uid: _exported(uid, columns) for uid in columns["working_set"]}


def _exported(uid: str, columns: Mapping[str, Mapping[str, float]]) -> PodUsage:
    working_set, anon = columns["working_set"][uid], columns["anon"].get(uid)
    # shmem counts as file to the kernel, so the working set holds it already.
    releasable = working_set if anon is None else anon + columns["shmem"].get(uid, 0.0)
    longest = columns["max"].get(uid)
    return PodUsage(
        working_set_bytes=int(working_set),
        releasable_bytes=int(releasable),
        sampled_at=columns["sampled_at"].get(uid, 0.0),
        source="exporter" if anon is not None else "exporter (working set)",
        growth_bytes_per_second=columns["growth"].get(uid),
        working_set_max_bytes=int(longest) if longest is not None else None,
    )


def _from_cadvisor(parts: Mapping[str, list[tuple[Labels, float]]]) -> dict[str, PodUsage]:
    """Per pod the sum of its containers; of several cgroups of one container only the newest counts."""
    uids = {
        (labels["namespace"], labels["pod"]): labels["uid"] for labels, _ in parts.get("info", ()) if "uid" in labels
    }
    times = {_cgroup(labels): value for labels, value in parts.get("cadvisor_at", ())}
    pods: dict[str, dict[str, _Sample]] = {}
    for labels, value in parts.get("cadvisor", ()):
        where = (labels.get("namespace", ""), labels.get("pod", ""))
        key = uid_of(labels.get("id", "")) or uids.get(where) or "/".join(where)
        sample = _Sample(times.get(_cgroup(labels), 0.0), value)
        containers = pods.setdefault(key, {})
        name = labels.get("container", "")
        containers[name] = _newer(containers.get(name), sample)
    return {key: _summed(list(containers.values())) for key, containers in pods.items()}


def _cgroup(labels: Labels) -> tuple[Container, str]:
    where = (labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", ""))
    return where, labels.get("id", "")


def _newer(one: _Sample | None, other: _Sample) -> _Sample:
    """The newer of two cgroups of one container; of one age (nested paths, two jobs) the larger."""
    return other if one is None else max(one, other, key=lambda sample: (sample.at, sample.bytes))


def _summed(containers: list[_Sample]) -> PodUsage:
    newest = max(sample.at for sample in containers)
    living = [sample for sample in containers if newest - sample.at <= OUTLIVED_SECONDS]
    working_set = int(sum(sample.bytes for sample in living))
    return PodUsage(working_set, working_set, min(sample.at for sample in living), source="cadvisor")


def uid_of(cgroup: str) -> str:
    """The pod UID in a cgroup's path (systemd writes it with underscores); empty when there is none."""
    found = _UID.search(cgroup)
    return found[1].replace("_", "-") if found else ""
