"""The report: what a period of watching (or acting) came to, in figures that a person decides by.

All frozen, all additive figures over the period asked for. Times are unix seconds, sizes bytes, levels by their names.
A *spell* is the time from a node's rise above GREEN until it is GREEN again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

LEVELS = ("YELLOW", "ORANGE", "RED")
STRIP = 96
"""Into so many parts the period is cut to be drawn."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which nobody watched."""

    since: float
    until: float


@dataclass(frozen=True, slots=True)
class Replica:
    """One process' lines; `starts` counts its beginnings."""

    name: str
    first_at: float
    last_at: float
    lines: int
    starts: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the period the audit really tells about."""

    since: float
    until: float
    asked_seconds: float
    """Length of the period."""
    covered_seconds: float
    covered_ratio: float
    """0..1 of what was asked."""
    blind_seconds: float
    """Of these: Prometheus did not tell the levels."""
    gaps: tuple[Gap, ...]
    """The longest ones, in their order; `gaps_total` counts all."""
    gaps_total: int
    lines: int
    unreadable_lines: int
    late_lines: int
    """Lines older than one read before them: their files' clocks differ, or a file was sorted wrongly."""
    replicas: tuple[Replica, ...]
    modes: tuple[str, ...]
    config_hashes: tuple[str, ...]
    nodes: int
    """Most nodes that a roll call counted; 0: there was none."""


@dataclass(frozen=True, slots=True)
class NodePressure:
    """A node that was above GREEN."""

    node: str
    spells: int
    times: Mapping[str, int]
    """Level -> how often it rose to it or past it."""
    seconds: Mapping[str, float]
    """Level -> how long it stood at just this level."""
    worst_used_ratio: float | None
    worst_at: float | None
    last_at: float
    strip: tuple[int, ...]
    """For each of `STRIP` equal parts of the period the highest level (0..3)."""


@dataclass(frozen=True, slots=True)
class UndeclaredWorkload:
    """A workload of which nobody said what it is worth, and which was on a node under pressure."""

    workload: str
    spells: int
    top_spells: int
    """Spells in which it held more than anything else that could not be touched on its node."""
    most_bytes: int
    mean_bytes: float
    """What its pods on one node would have given: at most, and on average over spells."""
    pods: int
    nodes: tuple[str, ...]
    highest_level: str
    last_at: float
    suggested_tier: str
    suggested_because: str


@dataclass(frozen=True, slots=True)
class WorkloadActs:
    """What was done, or would have been, to one workload (or node)."""

    kind: str
    workload: str | None
    """None: to the node."""
    tier: str | None
    observed: bool
    """Only recorded: this is what would have been done."""
    nodes: tuple[str, ...]
    times: int
    done: int
    not_done: Mapping[str, int]
    """Reason -> how often it was refused, skipped or failed."""
    pods: int
    """Distinct ones: in observe mode the same pod is chosen again and again."""
    expected_bytes: int
    """Of each distinct pod once."""
    harm: float
    """Start-up seconds by importance (docs/harm.md), of each distinct pod once."""
    first_at: float
    last_at: float


@dataclass(frozen=True, slots=True)
class Rounds:
    """What rounds of evictions came to where they were really carried out."""

    outcomes: Mapping[str, int]
    released_bytes: int
    expected_bytes: int


@dataclass(frozen=True, slots=True)
class Held:
    """A reason that held a node's remediation back."""

    reason: str
    sentence: str
    spells: int
    nodes: tuple[str, ...]
    last_at: float
    advice: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A reason for which pods were left alone while their node was under pressure."""

    reason: str
    sentence: str
    spells: int
    workloads: int
    most_bytes: int
    """At most this much on one node at one time."""
    largest: str
    advice: str


@dataclass(frozen=True, slots=True)
class Said:
    """What the remediator had said about a node before a death there."""

    seconds_before: float
    text: str


@dataclass(frozen=True, slots=True)
class Death:
    """A pod that was killed, or evicted by the kubelet, all the same."""

    at: float
    node: str
    cause: str
    namespace: str
    pod: str
    workload: str | None
    tier: str | None
    level: str | None
    warned_seconds: float | None
    """So long before it the node had risen above GREEN; None: it was GREEN, or nobody knew."""
    planned_seconds: float | None
    """So long before it evictions from the node had been planned in that spell; None: none were."""
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class CauseCount:
    """Deaths of one cause; `warned`, `planned`: how many of them had been warned of, and had a plan before."""

    cause: str
    deaths: int
    warned: int
    planned: int
    workloads: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to do next, and the figure that says so."""

    id: str
    text: str
    figure: str


@dataclass(frozen=True, slots=True)
class Report:
    """All of it."""

    summary: str
    caveats: tuple[str, ...]
    """What the figures cannot say, and why."""
    coverage: Coverage
    undeclared: tuple[UndeclaredWorkload, ...]
    business: str
    """Rows for the policy that would declare them (YAML), empty when there is none."""
    nodes: tuple[NodePressure, ...]
    acts: tuple[WorkloadActs, ...]
    given_back: int
    rounds: Rounds
    held: tuple[Held, ...]
    kept: tuple[Kept, ...]
    causes: tuple[CauseCount, ...]
    deaths: tuple[Death, ...]
    """The latest ones."""
    recommendations: tuple[Recommendation, ...]
