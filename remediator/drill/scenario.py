"""A scenario: nodes, workloads, memory over time, faults, and what the story is wanted to show.

The shape of scenario files, closed so that a typo is refused with its line and the nearest key. Nothing runs
here. All durations are scenario seconds.
"""

import re
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictStr, model_validator

from remediator.config.positions import dotted
from remediator.config.problems import ConfigError, Problem
from remediator.config.reading import parse_yaml, validated
from remediator.config.schema import PolicyFile
from remediator.config.sections import Count, Duration, Labels, Section, Size, Text
from remediator.drill.apiserver.faults import Fault
from remediator.drill.references import misfits

SHIPPED = resources.files("remediator.drill") / "scenarios"


class Point(Section):
    """Bytes at a moment; between two points memory moves in a straight line."""

    at: Duration
    bytes: Size


def _in_order(points: tuple[Point, ...]) -> tuple[Point, ...]:
    for before, after in pairwise(points):
        if after.at < before.at:
            raise ValueError(f"the point at {after.at:g}s stands after the one at {before.at:g}s: put them in order")
    return points


Points = Annotated[tuple[Point, ...], AfterValidator(_in_order)]


class NodeSpec(Section):
    """`count` nodes; `{n}` in the name counts from 1."""

    name: Text
    count: Annotated[int, Field(ge=1)] = 1
    memory: Size
    system: Size = 0
    """Held by the daemons in /system.slice."""
    kernel: Size = 0
    """Held by the kernel itself: in no cgroup."""
    labels: Labels = Field(default_factory=dict)
    hugepages: Size = 0
    page_cache: Size = 2 * 1024**3
    swap: Size = 0
    extended: dict[Text, Size] = Field(default_factory=dict)
    """Further allocatable resources, e.g. kubernetes.io/batch-memory."""
    extended_points: dict[Text, Points] = Field(default_factory=dict)
    """How such a resource changes, in steps: from each point on it has its bytes."""

    @model_validator(mode="after")
    def _room_for_pods(self) -> "NodeSpec":
        if self.system + self.kernel + self.hugepages >= self.memory:
            raise ValueError("system, kernel and hugepages leave no memory: make memory larger")
        if self.count > 1 and "{n}" not in self.name:
            raise ValueError(f"{self.count} nodes would all be called {self.name}: put {{n}} into the name")
        return self


class TolerationSpec(Section):
    """A pod's toleration, as in its manifest."""

    key: StrictStr = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: StrictStr = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""


class WorkloadSpec(Section):
    """A controller and what its pods do with memory."""

    kind: Literal["Deployment", "StatefulSet", "Job", "DaemonSet"]
    namespace: Text
    name: Text
    replicas: Count = 1
    request: Size = 0
    limit: Size | None = None
    usage: Size = 0
    """What a pod holds and cannot give back while it runs."""
    usage_points: Points = ()
    """Instead of `usage`: memory of every pod over scenario time."""
    shmem: Size = 0
    """The part of `usage` that is shared memory or tmpfs."""
    page_cache: Size = 0
    """Files that a pod reads again and again: in its working set, yet the kernel can take them back."""
    startup: Duration = 5.0
    grace: Duration = 30.0
    shutdown: Duration = 4.0
    """How long a pod takes to give its memory back after SIGTERM."""
    shutdown_rise: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share by which memory rises first at shutdown (a last full collection)."""
    priority: int | None = None
    priority_class: StrictStr = ""
    service: StrictBool = False
    serving_label: StrictBool = False
    volumes: tuple[Literal["pvc", "emptyDir", "hostPath"], ...] = ()
    labels: Labels = Field(default_factory=dict)
    annotations: Labels = Field(default_factory=dict)
    extended_requests: dict[Text, Size] = Field(default_factory=dict)
    placement: dict[Text, Count] = Field(default_factory=dict)
    """Pods that start on a node; the others start spread over nodes that are not named here."""
    node_selector: Labels = Field(default_factory=dict)
    tolerations: tuple[TolerationSpec, ...] = ()
    backoff_limit: Count = 6
    """Of a Job: how many of its pods may fail before it fails."""

    @model_validator(mode="after")
    def _consistent(self) -> "WorkloadSpec":
        if self.usage and self.usage_points:
            raise ValueError("give usage or usage_points, not both")
        if (placed := sum(self.placement.values())) > self.replicas:
            raise ValueError(f"placement names {placed} pods, and there are {self.replicas} replicas")
        if self.serving_label and not self.service:
            raise ValueError("serving_label belongs to a Service's selector: set service, too")
        return self

    @property
    def id(self) -> str:
        """namespace/Kind/name."""
        return f"{self.namespace}/{self.kind}/{self.name}"


class ConfigMapSpec(Section):
    """A ConfigMap that is there from the beginning, e.g. Koordinator's."""

    namespace: Text
    name: Text
    data: dict[Text, StrictStr] = Field(default_factory=dict)


class BudgetSpec(Section):
    """A PodDisruptionBudget over the pods of one workload."""

    namespace: Text
    workload: Text
    min_available: Count | None = None
    max_unavailable: Count | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> "BudgetSpec":
        if (self.min_available is None) == (self.max_unavailable is None):
            raise ValueError("give either min_available or max_unavailable")
        return self


class HostProcessSpec(Section):
    """Memory of a process that is no pod."""

    node: Text
    name: Text = "script"
    slice: Literal["system", "user"] = "system"
    """The systemd slice that it runs in."""
    points: Annotated[Points, Field(min_length=1)]


class FaultSpec(Section):
    """Something that goes wrong from `at` until `until`."""

    at: Duration = 0.0
    until: Duration | None = None
    api: dict[str, Any] | None = None
    """A fault of the API server, see remediator/drill/apiserver/faults.py."""
    metrics: Literal["exporter", "node-exporter", "cadvisor", "kube-state-metrics"] | None = None
    """An endpoint that goes wrong: answers 503, or as the next keys say."""
    node: StrictStr = ""
    """The endpoint of this node only; empty: of all."""
    drop: StrictStr = ""
    """Samples whose line matches this regular expression are missing."""
    duplicate: StrictBool = False
    """Every sample stands there twice, the second with `copy="2"`, as two replicas of an exporter give."""
    frozen: StrictBool = False
    """The page stays as it was when the fault began: samples that look fresh and are old."""

    @model_validator(mode="after")
    def _one_of_them(self) -> "FaultSpec":
        if (self.api is None) == (self.metrics is None):
            raise ValueError("a fault is either api or metrics: give one of the two")
        if self.until is not None and self.until <= self.at:
            raise ValueError("until must be later than at")
        if self.metrics is None and (self.drop or self.duplicate or self.frozen or self.node):
            raise ValueError("drop, duplicate, frozen and node belong to a fault of metrics")
        if self.api is not None:
            Fault.parse(self.api)
        try:
            re.compile(self.drop)
        except re.error as error:
            raise ValueError(f"drop is no regular expression: {error}") from error
        return self

    @property
    def down(self) -> bool:
        """The endpoint does not answer at all."""
        return self.metrics is not None and not (self.drop or self.duplicate or self.frozen)


class SilenceSpec(Section):
    """A silence set in Alertmanager."""

    at: Duration = 0.0
    until: Duration
    matchers: Annotated[tuple[Text, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _lasts(self) -> "SilenceSpec":
        if self.until <= self.at:
            raise ValueError("until must be later than at")
        return self


class OperatorSpec(Section):
    """What the drill does as the operator."""

    release_after: Duration | None = 10.0
    """Answer a request for release after this long; null: never."""
    approve_after: Duration | None = None
    """Approve a plan that has waited for this long; null: never."""


class WantSpec(Section):
    """One expectation of the report, or of what it said at a moment."""

    what: Text
    """Dotted path into the report."""
    at: Duration | None = None
    """Scenario time of the snapshot; the final report when left out."""
    equals: Any = None
    members: tuple[Any, ...] | None = None
    """Exactly these, in any order."""
    contains: Any = None
    """This and perhaps others."""
    between: tuple[Any, Any] | None = None
    at_most: float | None = None
    at_least: float | None = None
    descending: StrictBool = False
    note: StrictStr = ""

    @model_validator(mode="after")
    def _one_comparison(self) -> "WantSpec":
        kinds = ("equals", "members", "contains", "between", "at_most", "at_least", "descending")
        if len(self.model_fields_set.intersection(kinds)) != 1:
            raise ValueError(f"give exactly one of {', '.join(kinds)}")
        return self


class Scenario(Section):
    """One story."""

    name: Text
    title: Text
    description: StrictStr = ""
    seed: int = 1
    duration: Duration
    focus: Text
    """The node that the story is about."""
    policy: PolicyFile = PolicyFile()
    kubelet_threshold: Size = 100 * 1024**2
    """memory.available below which the simulated kubelet evicts."""
    nodes: Annotated[tuple[NodeSpec, ...], Field(min_length=1)]
    workloads: tuple[WorkloadSpec, ...]
    budgets: tuple[BudgetSpec, ...] = ()
    config_maps: tuple[ConfigMapSpec, ...] = ()
    host_processes: tuple[HostProcessSpec, ...] = ()
    faults: tuple[FaultSpec, ...] = ()
    silences: tuple[SilenceSpec, ...] = ()
    operator: OperatorSpec = OperatorSpec()
    wants: tuple[WantSpec, ...] = ()

    @property
    def node_names(self) -> tuple[str, ...]:
        """All nodes, numbered ones expanded."""
        return tuple(name for spec in self.nodes for name in expanded(spec))


def expanded(spec: NodeSpec) -> tuple[str, ...]:
    """Names of a node spec."""
    return tuple(spec.name.replace("{n}", str(n)) for n in range(1, spec.count + 1))


def shipped() -> dict[str, str]:
    """Names of the shipped scenarios, and their titles."""
    files = sorted((f for f in SHIPPED.iterdir() if f.name.endswith(".yaml")), key=lambda f: f.name)
    found = [read(f.read_text(encoding="utf-8"), f.name) for f in files]
    return {scenario.name: scenario.title for scenario in found}


def read(text: str, source: str) -> Scenario:
    """A scenario of a YAML text; ConfigError with all problems, each with its line."""
    document, where = parse_yaml(text, source)
    scenario = validated(Scenario, document, where, source)
    problems = [Problem(dotted(path), message, where.line(path)) for path, message in misfits(scenario)]
    if problems:
        raise ConfigError(source, problems)
    return scenario


def policy_text(name_or_file: str) -> dict[str, Any]:
    """The scenario's `policy:` as it stands in the file, to be handed to the product."""
    text, source = source_of(name_or_file)
    document, _ = parse_yaml(text, source)
    policy: dict[str, Any] = document.get("policy", {}) if isinstance(document, dict) else {}
    return policy


def load(name_or_file: str) -> Scenario:
    """A shipped scenario by name, or one of a file; ConfigError when there is neither."""
    text, source = source_of(name_or_file)
    return read(text, source)


def source_of(name_or_file: str) -> tuple[str, str]:
    """Text of a scenario, and what to call it in messages."""
    path = Path(name_or_file)
    if path.suffix in (".yaml", ".yml") or path.exists():
        try:
            return path.read_text(encoding="utf-8"), str(path)
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ConfigError(str(path), [Problem("", f"cannot be read: {why}")]) from error
    file = SHIPPED / f"{name_or_file}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(f.name.removesuffix(".yaml") for f in SHIPPED.iterdir() if f.name.endswith(".yaml")))
        raise ConfigError(name_or_file, [Problem("", f"is no scenario: give a file, or one of {known}")])
    return file.read_text(encoding="utf-8"), file.name


__all__ = ["Scenario", "load", "policy_text", "read", "shipped"]
