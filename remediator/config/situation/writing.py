"""A question as a situation file: facts that are at their default are left out, the policy is written in full.

Only typed facts are written, and of annotations only those that decisions read: no environment, no command lines,
no last-applied configuration, nothing that nobody asked for.
"""

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import yaml

from remediator.config.policy_file import policy_document
from remediator.config.situation.schema import active, camel
from remediator.core.business import TIER_ANNOTATION
from remediator.core.candidates import GRACE_ANNOTATION
from remediator.core.koordinator import POLICY_ANNOTATION
from remediator.core.model import ClusterFacts, Level, PodFacts, Unknown, WorkloadRef
from remediator.core.protection import AUTOSCALER_ANNOTATION, EVICT_ANNOTATION, HELM_HOOK_ANNOTATION
from remediator.core.question import Question
from remediator.core.score import STARTUP_ANNOTATION
from remediator.core.state import NodeState, Observation, OperatorSpec
from remediator.core.tracking import CORDONED_AT, CORDONED_BY

Json = dict[str, Any]
KEPT_ANNOTATIONS = frozenset(
    {
        AUTOSCALER_ANNOTATION,
        CORDONED_AT,
        CORDONED_BY,
        EVICT_ANNOTATION,
        GRACE_ANNOTATION,
        HELM_HOOK_ANNOTATION,
        POLICY_ANNOTATION,
        STARTUP_ANNOTATION,
        TIER_ANNOTATION,
    }
)
"""What decisions read (docs/situations.md lists them)."""
_MIB = 2**20
_HEAD = """\
# A situation of the remediator: everything that the decision about one node looked at (docs/situations.md).
# Decide it again:  remediator explain --situation FILE
"""


def situation_text(question: Question) -> str:
    """The file. Times are unix seconds of Prometheus' clock."""
    return _HEAD + yaml.dump(
        situation_document(question), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120
    )


class _Dumper(yaml.SafeDumper):
    """No anchors, and whatever does not print is escaped: PyYAML would fold a NEL within quotes into a blank."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def text(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if data.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.text)


def situation_document(question: Question) -> Json:
    """The file as plain values."""
    seen = question.observation
    signal = {key: value for key, value in _plain(question.signal).items() if key != "node"}
    document: Json = {"now": seen.at, "node": {"name": seen.node}, "signal": signal}
    if not isinstance(seen.memory, Unknown):
        document["memory"] = _plain(seen.memory)
    if isinstance(seen.cluster, ClusterFacts):
        document |= _cluster(seen.cluster, seen)
    if not isinstance(seen.usages, Unknown):
        beside = {pod.uid for pod in seen.cluster.pods} if isinstance(seen.cluster, ClusterFacts) else set()
        document["usages"] = {uid: _plain(usage) for uid, usage in seen.usages.items() if uid not in beside}
    if not isinstance(seen.silences, Unknown):
        document["silences"] = _plain(seen.silences, active)
    document |= _fleet(question)
    document["unknown"] = _gaps(seen)
    kept = {key: value for key, value in document.items() if value != {} or key in ("peers", "levels")}
    return {**kept, "policy": policy_document(question.policy)}


def _cluster(cluster: ClusterFacts, seen: Observation) -> Json:
    usages = {} if isinstance(seen.usages, Unknown) else seen.usages
    workloads: Json = {
        str(ref): {**_without(_plain(facts), "ref"), "ready_replicas": facts.ready_replicas}
        for ref, facts in cluster.workloads.items()
    }
    owners = {str(pod.workload) for pod in cluster.pods if pod.workload is not None}
    node = {**_plain(cluster.node), "name": seen.node, "allocatable_bytes": _size(cluster.node.allocatable_bytes)}
    return {
        "node": node,
        "pods": {pod.key: _pod(pod, _plain(usages[pod.uid]) if pod.uid in usages else None) for pod in cluster.pods},
        "workloads": {**workloads, **dict.fromkeys(sorted(owners - set(workloads)))},
        "budgets": _by_name(cluster.budgets),
        "services": _by_name(cluster.services),
        "peers": {
            peer.name: {**_without(_plain(peer), "name"), "allocatable_bytes": _size(peer.allocatable_bytes)}
            for peer in cluster.peers
        },
    }


def _pod(pod: PodFacts, usage: Json | None) -> Json:
    said = {**_without(_plain(pod), "namespace", "name"), "node": pod.node, "created_at": pod.created_at}
    return {**said, "workload": pod.workload and str(pod.workload), **({"usage": usage} if usage else {})}


def _by_name(objects: Any) -> Json:
    return {f"{each.namespace}/{each.name}": _without(_plain(each), "namespace", "name") for each in objects}


def _fleet(question: Question) -> Json:
    fleet, node = question.observation.fleet, question.observation.node
    spec = question.observation.spec
    found: Json = {} if isinstance(fleet.levels, Unknown) else {"levels": {**_plain(fleet.levels)}}
    if node in fleet.states or question.state != NodeState() or spec != OperatorSpec():
        found["record"] = {"spec": _plain(spec, camel), "status": _plain(question.state, camel)}
    others = {name: state for name, state in fleet.states.items() if name != node}
    return {**found, "records": {name: {"status": _plain(state, camel)} for name, state in others.items()}}


def _gaps(seen: Observation) -> Json:
    sources = {
        "memory": seen.memory,
        "cluster": seen.cluster,
        "usages": seen.usages,
        "silences": seen.silences,
        "levels": seen.fleet.levels,
    }
    return {
        name: {"why": gap.why, "source": gap.source, "reason": str(gap.reason)}
        for name, gap in sources.items()
        if isinstance(gap, Unknown)
    }


def _without(document: Json, *keys: str) -> Json:
    return {key: value for key, value in document.items() if key not in keys}


def _plain(value: Any, naming: Callable[[str], str] = str) -> Any:
    """As the sections read it: dataclasses without what is at its default, enums by name, references as text."""
    if isinstance(value, WorkloadRef):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            naming(field.name): _field(field.name, found, naming)
            for field in dataclasses.fields(value)
            if (found := getattr(value, field.name)) != _default(field)
        }
    if isinstance(value, Enum):
        return value.name.lower() if isinstance(value, Level) else value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item, naming) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(item, naming) for item in value] if isinstance(value, tuple | list) else value


def _field(name: str, value: Any, naming: Callable[[str], str]) -> Any:
    if name == "annotations":
        return {key: text for key, text in value.items() if key in KEPT_ANNOTATIONS}
    is_size = isinstance(value, int) and (name == "bytes" or name.endswith("_bytes"))
    return _size(value) if is_size else _plain(value, naming)


def _default(field: "dataclasses.Field[Any]") -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _size(size: int) -> int | str:
    """`512Mi` where that is exact, else bytes."""
    if size <= 0 or size % _MIB:
        return size
    return f"{size // 2**30}Gi" if size % 2**30 == 0 else f"{size // _MIB}Mi"
