"""From a checked situation file to the question that a decision answers, defaults filled in."""

from collections.abc import Mapping
from typing import Any

from remediator.config.schema import PolicyFile
from remediator.config.sections import Section
from remediator.config.situation.schema import DEFAULT_NOW
from remediator.config.situation.values import workload_ref
from remediator.core.model import (
    BudgetFacts,
    ClusterFacts,
    Level,
    MemoryFacts,
    NodeFacts,
    PodFacts,
    PodUsage,
    ServiceFacts,
    Signal,
    SignalKind,
    SilenceFacts,
    Unknown,
    WorkloadFacts,
    WorkloadRef,
)
from remediator.core.question import Question
from remediator.core.state import FleetFacts, NodeState, Observation, OperatorSpec

Given = Mapping[str, Any]
_SOURCE_NAMES = {"cluster": "kubernetes", "silences": "alertmanager"}
DEFAULT_AGE_SECONDS = 3600.0
DEFAULT_PEERS = ("peer-1", "peer-2")


def question(file: Section) -> Question:
    """The whole of a file as the core's values."""
    given = file.given()
    now, node = given.get("now", DEFAULT_NOW), given["node"].given()
    memory = _memory(given, now)
    gaps = {name: _unknown(name, gap.given()) for name, gap in _given(given, "unknown").items() if gap is not None}
    usages = _usages(given, now)
    record = _given(given, "record")
    state = record.get("status", NodeState())
    signal = {"kind": SignalKind.TIMER, **_given(given, "signal"), "node": node["name"]}
    observation = Observation(
        node=node["name"],
        at=now,
        memory=memory or gaps["memory"],
        cluster=gaps.get("cluster") or _cluster(given, node, memory, now),
        usages=gaps.get("usages") or usages,
        silences=gaps.get("silences") or given.get("silences", SilenceFacts()),
        fleet=_fleet(given, node["name"], memory, gaps.get("levels")),
        spec=record.get("spec", OperatorSpec()),
    )
    return Question(state, Signal(**signal), observation, given.get("policy", PolicyFile()).to_policy())


def _given(given: Given, name: str) -> dict[str, Any]:
    """What a section says; nothing where it is left out."""
    section = given.get(name)
    return {} if section is None else section.given()


def _unknown(source: str, gap: Given) -> Unknown:
    return Unknown(**{**gap, "source": gap.get("source") or _SOURCE_NAMES.get(source, "prometheus")})


def _memory(given: Given, now: float) -> MemoryFacts | None:
    values = _given(given, "memory")
    return MemoryFacts(**{"sampled_at": now, **values}) if values else None


def _usages(given: Given, now: float) -> dict[str, PodUsage]:
    """By UID: those that stand beside their pod, then those of pods that are not there."""
    found = {}
    for key, section in given.get("pods", {}).items():
        pod = section.given()
        if pod.get("usage") is not None:
            found[pod.get("uid") or key] = _usage(pod["usage"], now)
    return {**found, **{uid: _usage(section, now) for uid, section in given.get("usages", {}).items()}}


def _usage(section: Section, now: float) -> PodUsage:
    values = section.given()
    return PodUsage(**{"releasable_bytes": values["working_set_bytes"], "sampled_at": now, **values})


def _cluster(given: Given, node: Given, memory: MemoryFacts | None, now: float) -> ClusterFacts:
    size = memory.total_bytes if memory else 0
    facts = NodeFacts(**{"allocatable_bytes": size, **node})
    pods = tuple(_pod(key, section.given(), facts.name, now) for key, section in given.get("pods", {}).items())
    peers = given.get("peers")
    others = (
        {name: {} for name in DEFAULT_PEERS} if peers is None else {name: each.given() for name, each in peers.items()}
    )
    return ClusterFacts(
        node=facts,
        pods=pods,
        workloads=_workloads(given.get("workloads", {}), pods),
        budgets=tuple(BudgetFacts(*key.split("/"), **each.given()) for key, each in given.get("budgets", {}).items()),
        services=tuple(
            ServiceFacts(*key.split("/"), **each.given()) for key, each in given.get("services", {}).items()
        ),
        peers=tuple(
            NodeFacts(name, **{"allocatable_bytes": facts.allocatable_bytes, **each}) for name, each in others.items()
        ),
    )


def _pod(key: str, given: Given, node: str, now: float) -> PodFacts:
    namespace, name = key.split("/")
    defaults = {
        "uid": key,
        "node": node,
        "created_at": now - DEFAULT_AGE_SECONDS,
        "workload": WorkloadRef(namespace, "Deployment", name),
    }
    return PodFacts(namespace, name, **{**defaults, **{k: v for k, v in given.items() if k != "usage"}})


def _workloads(given: Mapping[str, Section | None], pods: tuple[PodFacts, ...]) -> dict[WorkloadRef, WorkloadFacts]:
    """Those of the file, null standing for one that was not found; healthy ones for pods whose owner is not named."""
    named = {workload_ref(key): section for key, section in given.items()}
    found = {ref: _workload(ref, section.given()) for ref, section in named.items() if section is not None}
    owners = [pod.workload for pod in pods if pod.workload is not None and pod.workload not in named]
    return {**found, **{ref: _workload(ref, {}) for ref in owners}}


def _workload(ref: WorkloadRef, given: Given) -> WorkloadFacts:
    ready = given.get("ready_replicas", 2)
    return WorkloadFacts(**{"ref": ref, "ready_replicas": ready, "desired_replicas": ready, **given})


def _fleet(given: Given, node: str, memory: MemoryFacts | None, gap: Unknown | None) -> FleetFacts:
    states = {name: record.given().get("status", NodeState()) for name, record in given.get("records", {}).items()}
    if given.get("record") is not None:
        states = {**states, node: _given(given, "record").get("status", NodeState())}
    levels = given.get("levels")
    if levels is None:
        peers = given.get("peers")
        others = DEFAULT_PEERS if peers is None else peers
        levels = {**({node: memory.level} if memory else {}), **dict.fromkeys(others, Level.GREEN)}
    return FleetFacts(gap or levels, states)
