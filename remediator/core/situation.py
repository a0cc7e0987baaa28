"""One look at one node with everything a rule may use, as a single frozen value.

Made once per pass by `survey`; guards, filters and the planner read it and change nothing. Values that
several of them need (the mode in force, the release target, pending releases) are computed here and nowhere
else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from remediator.core.koordinator import Demand, demands
from remediator.core.model import (
    ClusterFacts,
    Level,
    MemoryFacts,
    Mode,
    PodFacts,
    PodUsage,
    Signal,
    SilenceFacts,
    Unknown,
)
from remediator.core.modes import breaker_tripped, mode_of
from remediator.core.oom import storm
from remediator.core.policy import LadderStep, Policy
from remediator.core.state import EvictionRecord, NodeState, Observation, Refusal

BACK_OFF_RESYNCS = 4
"""A failing act is tried again after this many resync periods at the latest."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Inputs of a pass, narrowed: a source that was Unknown is None here and kept in `observation`."""

    state: NodeState
    signal: Signal
    observation: Observation
    policy: Policy
    now: float
    mode: Mode
    memory: MemoryFacts | None = None
    cluster: ClusterFacts | None = None
    usages: Mapping[str, PodUsage] | None = None
    silences: SilenceFacts | None = None
    target_bytes: int = 0
    """Bytes still to release to reach the safe level, pending releases credited."""
    pending_bytes: int = 0
    demands: tuple[Demand, ...] = ()
    """What Koordinator's strategies ask for, beside the pressure target."""
    oom_storm: str | None = None
    breaker_until: float | None = None

    @property
    def node(self) -> str:
        """Name of the node."""
        return self.observation.node

    @property
    def level(self) -> Level:
        """Level in force; GREEN when nobody knows (and then nothing is done anyway)."""
        return self.memory.level if self.memory else Level.GREEN

    @property
    def step(self) -> LadderStep:
        """What this level may do."""
        return self.policy.ladder[self.level]

    @property
    def first_target_bytes(self) -> int:
        """What the episode set out to release: scores do not change because a part of it is done."""
        mine = (e for e in self.state.evictions if e.episode_id and e.episode_id == self.state.episode_id)
        return self.target_bytes + sum(e.bytes for e in mine)

    @property
    def strategy_bytes(self) -> int:
        """Everything that Koordinator's strategies ask for."""
        return sum(demand.bytes for demand in self.demands)

    @property
    def at_ease(self) -> bool:
        """GREEN as measured, and no strategy asks for anything: an episode has nothing left to do."""
        return self.memory is not None and self.level is Level.GREEN and self.strategy_bytes == 0

    @property
    def leaving(self) -> str:
        """A sentence when the level is only latched: what is measured is below its exit. Empty: it is not, or RED.

        RED has entries beside its threshold (fault storms), so its latch is never second-guessed.
        """
        memory = self.memory
        if memory is None or not Level.GREEN < memory.level < Level.RED:
            return ""
        measured = memory.used_ratio if self.policy.profile != "score" else (memory.score or 0.0) / 100
        leaves_at = memory.thresholds.get(f"{memory.level.name.lower()}/exit", 0.0)
        figures = f"{100 * measured:.1f} % is below its exit of {100 * leaves_at:.1f} %"
        return f"{memory.level.name} is about to end: {figures}" if measured < leaves_at else ""

    @property
    def observing(self) -> bool:
        """Whether acts are only recorded."""
        return self.mode is Mode.OBSERVE

    @property
    def pods(self) -> tuple[PodFacts, ...]:
        """Pods of the node; none when the cluster did not answer."""
        return self.cluster.pods if self.cluster else ()

    def backing_off(self, key: str) -> tuple[Refusal, float] | None:
        """(what failed, until when) while a failed round, or undo, is not tried again."""
        refusal = next((r for r in self.state.refused if r.key == key), None)
        if refusal is None:
            return None
        timers = self.policy.timers
        wait = min(timers.retry_seconds * 2 ** min(refusal.times - 1, 10), BACK_OFF_RESYNCS * timers.resync_seconds)
        return (refusal, refusal.at + wait) if self.now < refusal.at + wait else None

    def with_state(self, state: NodeState) -> "Situation":
        """The same look with another state."""
        return replace(self, state=state)


def release_target(memory: MemoryFacts, policy: Policy) -> int:
    """`max(0, used - safe_used_ratio * total)`, in bytes."""
    return max(0, round(memory.used_bytes - policy.safe_used_ratio * memory.total_bytes))


def pending_release(state: NodeState, memory: MemoryFacts, now: float, deadline_seconds: float) -> int:
    """Bytes of pods evicted and not yet gone, or gone after the sample was taken.

    A pod that outlived the deadline is stuck: nobody counts on its memory any more.
    """
    return sum(e.bytes for e in state.evictions if _is_pending(e, memory, now, deadline_seconds))


def _is_pending(e: EvictionRecord, memory: MemoryFacts, now: float, deadline_seconds: float) -> bool:
    if e.observed_only:
        return False
    if e.gone_at is None:
        return now - e.at <= deadline_seconds
    return memory.sampled_at <= e.gone_at


def survey(state: NodeState, signal: Signal, observation: Observation, policy: Policy, now: float) -> Situation:
    """Gather one pass's inputs; `state` is already tracked (tracking.py)."""
    memory = None if isinstance(observation.memory, Unknown) else observation.memory
    cluster = None if isinstance(observation.cluster, Unknown) else observation.cluster
    usages = None if isinstance(observation.usages, Unknown) else observation.usages
    silences = None if isinstance(observation.silences, Unknown) else observation.silences
    pending = pending_release(state, memory, now, policy.timers.gone_deadline_seconds) if memory else 0
    breaker = breaker_tripped(observation.fleet, policy, now)
    pods = [(pod, (usages or {}).get(pod.uid)) for pod in cluster.pods] if cluster else []
    return Situation(
        state=state,
        signal=signal,
        observation=observation,
        policy=policy,
        now=now,
        mode=mode_of(observation, policy),
        memory=memory,
        cluster=cluster,
        usages=usages,
        silences=silences,
        target_bytes=max(0, release_target(memory, policy) - pending) if memory else 0,
        pending_bytes=pending,
        demands=demands(cluster.node, cluster.pods, memory, state, policy, now, pending) if cluster and memory else (),
        oom_storm=storm(pods, state, now, policy.timers.oom_window_seconds),
        breaker_until=breaker[0] if breaker else None,
    )
