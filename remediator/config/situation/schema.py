"""The situation file's shape: one node at one moment, with everything that a decision looks at.

Pods, workloads, budgets and Services stand under their names, so that none can stand twice. What is left out has a
default that changes nothing by itself (docs/situations.md). Becomes a `Question`; nothing is decided here.
"""

from collections.abc import Mapping
from types import GenericAlias
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, StrictStr, create_model, field_validator, model_validator

from remediator.config.schema import PolicyFile
from remediator.config.sections import Count, Section, Size, Text
from remediator.config.situation.derived import built, fields_of
from remediator.config.situation.values import LevelName, Moment, Ref, moment, workload_ref
from remediator.core.model import (
    BudgetFacts,
    MemoryFacts,
    NodeFacts,
    PodFacts,
    PodUsage,
    ServiceFacts,
    Signal,
    SignalKind,
    SilenceFacts,
    WorkloadFacts,
)
from remediator.core.reason import Reason
from remediator.core.state import NodeState, OperatorSpec

DEFAULT_NOW = 1_767_225_600.0
"""2026-01-01T00:00:00Z: the time of a file that names none."""
SOURCES = ("memory", "cluster", "usages", "silences", "levels")


def camel(name: str) -> str:
    """`level_since` -> `levelSince`, as a NodeRemediation has it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def active(name: str) -> str:
    """The silences of `silences` are the active ones."""
    return "active" if name == "silences" else name


class _Bare(Section):
    """A bare value stands for a mapping with one key."""

    bare: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _mapped(cls, given: object) -> object:
        return {cls.bare: given} if isinstance(given, str | int | float) else given


class _BareUsage(_Bare):
    bare = "working_set_bytes"


class _BareNode(_Bare):
    bare = "name"


class _BareGap(_Bare):
    bare = "why"


def _two_parts(key: str) -> str:
    if len(parts := key.split("/")) != 2 or not all(parts):
        raise ValueError(f"{key!r} is not NAMESPACE/NAME, for example shop/web-1")
    return key


def _ref_key(key: str) -> str:
    workload_ref(key)
    return key


def section(name: str, of: type, base: type[Section] = Section, *, without: tuple[str, ...] = (), **more: Any) -> Any:
    """A section with the fields of a core dataclass: some left out, some written otherwise."""
    fields = {**fields_of(of, without=(*without, *more)), **more}
    return create_model(name, __base__=base, __doc__=of.__doc__, **fields)


def by_name(key: Any, value: Any) -> Any:
    """A mapping from names to sections."""
    return GenericAlias(dict, (key, value))


_OBJECT = ("namespace", "name")
_MOMENT: Any = (Moment | None, None)
ObjectKey = Annotated[StrictStr, AfterValidator(_two_parts)]
RefKey = Annotated[StrictStr, AfterValidator(_ref_key)]
Node = section("NodeSection", NodeFacts, _BareNode)
Peer = section("PeerSection", NodeFacts, without=("name",))
Memory = section("MemorySection", MemoryFacts, sampled_at=_MOMENT)
Usage = section("UsageSection", PodUsage, _BareUsage, releasable_bytes=(Size | None, None), sampled_at=_MOMENT)
_POD: dict[str, Any] = {
    "uid": (Text | None, None),
    "node": (StrictStr | None, None),
    "created_at": _MOMENT,
    "workload": (Ref | None, None),
    "usage": (Usage | None, None),
}
Pod = section("PodSection", PodFacts, without=_OBJECT, **_POD)
_REPLICAS: dict[str, Any] = {"ready_replicas": (Count, 2), "desired_replicas": (Count | None, None)}
Workload = section("WorkloadSection", WorkloadFacts, without=("ref",), **_REPLICAS)
Budget = section("BudgetSection", BudgetFacts, without=_OBJECT)
Service = section("ServiceSection", ServiceFacts, without=_OBJECT)
Nudge = section("SignalSection", Signal, without=("node",), kind=(SignalKind, SignalKind.TIMER))
_RECORD: dict[str, Any] = {
    "spec": (built(OperatorSpec, camel), OperatorSpec()),
    "status": (built(NodeState, camel), NodeState()),
}


class _Record(Section):
    @field_validator("status", mode="before", check_fields=False)
    @classmethod
    def _as_kubectl_shows_it(cls, given: object) -> object:
        """Beside the state stands what `kubectl get nrem` prints."""
        return {k: v for k, v in given.items() if k != "summary"} if isinstance(given, Mapping) else given


Record: Any = create_model("RecordSection", __base__=_Record, **_RECORD)
_GAP: dict[str, Any] = {"why": (Text, ...), "source": (Text, ""), "reason": (Reason, Reason.DATA_UNKNOWN)}
Gap: Any = create_model("UnknownSection", __base__=_BareGap, **_GAP)
_GAPS: dict[str, Any] = dict.fromkeys(SOURCES, (Gap | None, None))
Gaps: Any = create_model("UnknownSections", __base__=Section, **_GAPS)


class _Whole(Section):
    """What has to go together in a file."""

    @model_validator(mode="after")
    def _memory_or_why_not(self) -> Self:
        given = self.given()
        gaps = given["unknown"].given() if given.get("unknown") else {}
        if (given.get("memory") is not None) is (gaps.get("memory") is not None):
            raise ValueError("needs either `memory` or, where nobody knew it, `unknown: {memory: WHY}`")
        uids = [section.given().get("uid") or key for key, section in given.get("pods", {}).items()]
        if len(set(uids)) < len(uids):
            twice = next(uid for uid in uids if uids.count(uid) > 1)
            raise ValueError(f"two pods have the uid {twice}: give each its own, or leave it out")
        return self


_FILE: dict[str, Any] = {
    "now": (Moment, DEFAULT_NOW),
    "node": (Node, ...),
    "signal": (Nudge | None, None),
    "memory": (Memory | None, None),
    "pods": (by_name(ObjectKey, Pod), {}),
    "usages": (by_name(Text, Usage), {}),
    "workloads": (by_name(RefKey, Workload | None), {}),
    "budgets": (by_name(ObjectKey, Budget), {}),
    "services": (by_name(ObjectKey, Service), {}),
    "peers": (by_name(Text, Peer) | None, None),
    "silences": (built(SilenceFacts, active), SilenceFacts()),
    "levels": (by_name(Text, LevelName) | None, None),
    "record": (Record | None, None),
    "records": (by_name(Text, Record), {}),
    "unknown": (Gaps | None, None),
    "policy": (PolicyFile, PolicyFile()),
}
SituationFile: type[Section] = create_model("SituationFile", __base__=_Whole, **_FILE)
"""One node at one moment, and everything that a decision about it looks at."""


def now_of(document: object) -> float:
    """The file's own time, by which its relative times are read; a bad one is told by the schema."""
    try:
        return moment(document.get("now", DEFAULT_NOW), None) if isinstance(document, Mapping) else DEFAULT_NOW
    except ValueError:
        return DEFAULT_NOW
