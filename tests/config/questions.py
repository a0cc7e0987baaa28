"""Questions of all kinds for Hypothesis, made from the core's own dataclasses by type and name."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any

from hypothesis import strategies as st

from remediator.config import parse_policy, scaled
from remediator.config.situation.writing import KEPT_ANNOTATIONS
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
    SilenceFacts,
    Unknown,
    WorkloadFacts,
    WorkloadRef,
)
from remediator.core.policy import Policy
from remediator.core.question import Question
from remediator.core.state import FleetFacts, NodeState, Observation, OperatorSpec

_SCALARS = st.characters(exclude_categories=["Cs"])
_TRICKY = st.sampled_from(
    ["yes", "off", "null", "~", "1e5", "0x1f", "12:30", "=", "now", "- a", "a: b", "#", "2026-12-01", "é\u2028"]
)
TEXT = st.text(_SCALARS, max_size=6) | _TRICKY
KEY = st.text(_SCALARS, min_size=1, max_size=6) | _TRICKY
NAME = KEY.filter(lambda name: "/" not in name)
NUMBER = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)  # no -0.0
POLICIES = [
    Policy(),
    parse_policy("mode: enforce\nsafe_used_ratio: 0.62\nladder: {orange: {cordon: true}}\ncluster: west"),
    scaled(
        parse_policy("undeclared: low\nmodes: [{nodeSelector: {pool: a}, mode: off}]\ntimers: {calm_seconds: 7}"), 7.3
    ),
    parse_policy(
        "business: [{tier: offline, namespace: batch, allow_volumes: [pvc], labels: {a: b}}]\n"
        "safeguards: {volumes_allowed: {low: []}, priority_ceiling: 5, own_namespaces: [mine]}\n"
        "koordinator: {strategies: [MemoryEvict], clusterStrategy: {evictEnabledPriorityThreshold: 5000},"
        " nodeStrategies: [{nodeSelector: {a: b}, memoryEvictThresholdPercent: 60}]}"
    ),
]


def of(kind: Any, **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A core dataclass with any content."""
    hints = typing.get_type_hints(kind)
    fields = {
        field.name: given[field.name] if field.name in given else field_of(field.name, hints[field.name])
        for field in dataclasses.fields(kind)
    }
    return st.builds(kind, **fields)


def field_of(name: str, hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if name == "annotations":
        return st.dictionaries(st.sampled_from(sorted(KEPT_ANNOTATIONS)), TEXT, max_size=2)
    if origin in (types.UnionType, typing.Union):
        return st.none() | field_of(name, next(a for a in arguments if a is not type(None)))
    return _collection(name, origin, arguments) if origin else _plain(name, hint)


def _collection(name: str, origin: Any, arguments: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(field_of(name, arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(field_of("", each) for each in arguments))
    if origin is frozenset:
        return st.frozensets(TEXT, max_size=2)
    return st.dictionaries(KEY, field_of("", arguments[1]), max_size=2)


def _plain(name: str, hint: Any) -> st.SearchStrategy[Any]:
    if hint is WorkloadRef:
        return st.builds(WorkloadRef, NAME, NAME, NAME)
    if dataclasses.is_dataclass(hint):
        return of(hint)
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    if hint is float:
        return st.floats(0, 1e10).map(abs) if name.endswith("_seconds") else NUMBER
    if hint is int:
        return st.integers(0, 2**50) | st.integers(0, 99).map(lambda n: n * 2**28)
    return {bool: st.booleans(), str: TEXT}[hint]


def _unique(kind: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    items = of(kind, namespace=NAME, name=NAME)
    return st.lists(items, max_size=2, unique_by=lambda each: (each.namespace, each.name)).map(tuple)


_PODS = st.lists(
    of(PodFacts, namespace=NAME, name=NAME, uid=KEY),
    max_size=3,
    unique_by=(lambda pod: pod.key, lambda pod: pod.uid),
).map(tuple)
_GAP = of(Unknown, why=KEY, source=KEY)


@st.composite
def clusters(draw: st.DrawFn, node: str) -> ClusterFacts:
    """A cluster around a node."""
    pods = draw(_PODS)
    refs = [pod.workload for pod in pods if pod.workload and draw(st.booleans())] + draw(
        st.lists(_plain("", WorkloadRef), max_size=2)
    )
    return ClusterFacts(
        node=draw(of(NodeFacts, name=st.just(node))),
        pods=pods,
        workloads={ref: draw(of(WorkloadFacts, ref=st.just(ref))) for ref in refs},
        budgets=draw(_unique(BudgetFacts)),
        services=draw(_unique(ServiceFacts)),
        peers=draw(st.lists(of(NodeFacts, name=KEY), max_size=2, unique_by=lambda peer: peer.name).map(tuple)),
    )


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Whatever could be asked."""
    node, state = draw(KEY), draw(st.just(NodeState()) | of(NodeState))
    cluster = draw(_GAP | clusters(node))
    uids = [pod.uid for pod in cluster.pods] if isinstance(cluster, ClusterFacts) else []
    keys = KEY | st.sampled_from(uids) if uids else KEY
    states = draw(st.dictionaries(KEY.filter(lambda name: name != node), of(NodeState), max_size=1))
    known = state != NodeState() or draw(st.booleans())
    observation = Observation(
        node=node,
        at=draw(NUMBER),
        memory=draw(_GAP | of(MemoryFacts)),
        cluster=cluster,
        usages=draw(_GAP | st.dictionaries(keys, of(PodUsage), max_size=3)),
        silences=draw(_GAP | of(SilenceFacts)),
        fleet=FleetFacts(
            draw(_GAP | st.dictionaries(KEY, field_of("", Level), max_size=2)),
            {**states, **({node: state} if known else {})},
        ),
        spec=draw(of(OperatorSpec)) if known else OperatorSpec(),
    )
    return Question(state, draw(of(Signal, node=st.just(node))), observation, draw(st.sampled_from(POLICIES)))


def exact(value: Any) -> Any:
    """A value with its types and orders, so that 1 is not 1.0 and the first pod stays the first."""
    if dataclasses.is_dataclass(value):
        return {field.name: exact(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return [(repr(key), exact(item)) for key, item in value.items()]
    if isinstance(value, tuple):
        return [exact(item) for item in value]
    return sorted(value) if isinstance(value, frozenset) else repr(value)


def in_order(question: Question) -> Question:
    """Usages are only looked up by UID: their order says nothing."""
    usages = question.observation.usages
    if isinstance(usages, Unknown):
        return question
    seen = dataclasses.replace(question.observation, usages=dict(sorted(usages.items())))
    return dataclasses.replace(question, observation=seen)
