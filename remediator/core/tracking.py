"""What a pass learns before it decides anything: level and since when, who is gone, whose mark is there.

Folds an observation into the remembered state. An Unknown source changes nothing, except that it stops the
clock of calm: a node nobody sees is not calm.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from remediator.core.lifecycle import IsolationEvent, isolation_after
from remediator.core.model import (
    ClusterFacts,
    Isolation,
    Level,
    MemoryFacts,
    Mode,
    NodeFacts,
    Phase,
    PodFacts,
)
from remediator.core.modes import mode_of
from remediator.core.policy import Policy
from remediator.core.state import EvictionRecord, NodeState, Observation

CORDONED_BY = "remediator.io/cordoned-by"
CORDONED_AT = "remediator.io/cordoned-at"
KEPT_OUTCOMES = 10


def track(state: NodeState, observation: Observation, policy: Policy, now: float) -> NodeState:
    """The state with everything folded in that does not need a decision."""
    state = _level(state, observation, policy, now)
    state = _clean(replace(state, mode=mode_of(observation, policy)), policy, now)
    if isinstance(observation.cluster, ClusterFacts):
        state = _pods(state, {pod.uid: pod for pod in observation.cluster.pods}, now)
        state = _ledgers(state, observation.cluster.node, now)
        state = _isolation(state, observation.cluster.node, observation.at, policy, now)
    return state


def _level(state: NodeState, observation: Observation, policy: Policy, now: float) -> NodeState:
    """`level_since`: at this level *or above* since; so a fall keeps it, a rise starts it anew."""
    memory = observation.memory
    fresh = policy.safeguards.max_sample_age_seconds
    if not isinstance(memory, MemoryFacts) or now - memory.sampled_at > fresh:
        return replace(state, green_since=None)
    since = state.level_since
    if state.level is None or since is None or memory.level > state.level or memory.level is Level.GREEN:
        since = now if state.level is not memory.level or since is None else since
    green = memory.level is Level.GREEN
    green_since = (state.green_since if state.green_since is not None else now) if green else None
    return replace(state, level=memory.level, level_since=since, green_since=green_since)


def _clean(state: NodeState, policy: Policy, now: float) -> NodeState:
    """Forget what no rule can ask for any more."""
    hour = policy.timers.hour_seconds
    kept = tuple(e for e in state.evictions if now - e.at < hour or e.gone_at is None)
    hands_off = state.hands_off_until
    observing = state.mode is Mode.OBSERVE
    return replace(
        state,
        drained=tuple(r for r in state.drained if observing or not r.observed_only),
        scaled=tuple(r for r in state.scaled if observing or not r.observed_only),
        evictions=kept,
        outcomes=state.outcomes[-KEPT_OUTCOMES:],
        hands_off_until=hands_off if hands_off is not None and now < hands_off else None,
    )


def _pods(state: NodeState, pods: Mapping[str, PodFacts], now: float) -> NodeState:
    """Who is gone (by UID, a successor of the same name is somebody else), and who never left."""
    evictions = tuple(e for old in state.evictions if (e := _eviction(old, pods, now)) is not None)
    drained = tuple(record for record in state.drained if record.uid in pods)
    return replace(state, evictions=evictions, drained=drained)


def _eviction(record: EvictionRecord, pods: Mapping[str, PodFacts], now: float) -> EvictionRecord | None:
    if record.gone_at is not None:
        return record
    pod = pods.get(record.uid)
    if pod is None:
        return replace(record, gone_at=now, uncertain=False)
    if pod.terminating_since is not None:
        return replace(record, uncertain=False)
    return None if record.uncertain else record


def _ledgers(state: NodeState, node: NodeFacts, now: float) -> NodeState:
    """Since when a Koordinator ledger has been at zero."""
    before = dict(state.ledger_zero_since)
    zero = sorted(name for name, size in node.extended_allocatable.items() if size <= 0)
    return replace(state, ledger_zero_since=tuple((name, before.get(name, now)) for name in zero))


def _isolation(state: NodeState, node: NodeFacts, seen_at: float, policy: Policy, now: float) -> NodeState:
    """Adopt our own mark; notice that a human lifted it."""
    ours = CORDONED_BY in node.annotations
    # The mark alone may be left over from a cordon that a human lifted, and the cordon be somebody else's.
    tainted = any(t.key == policy.taint.key and t.effect == policy.taint.effect for t in node.taints)
    if state.isolation is Isolation.NONE:
        free = state.hands_off_until is None and state.phase is not Phase.ACTING
        return _adopted(state, node, now) if ours and tainted and node.unschedulable and free else state
    if state.isolation_observed:
        return _no_longer_observed(state)
    if state.phase is Phase.ACTING or node.unschedulable or seen_at <= (state.isolated_at or 0.0):
        return state
    lifted = replace(
        state,
        released_at=now,
        isolation=isolation_after(state.isolation, IsolationEvent.LIFTED),
        isolated_at=None,
        isolation_episode_id="",
        release_asked_at=None,
        release_granted="",
    )
    # Our own undo takes the mark away with the cordon; a human's uncordon leaves it there.
    by_us = not ours and state.isolation is Isolation.RELEASABLE
    return lifted if by_us else replace(lifted, hands_off_until=now + policy.timers.node_cooldown_seconds)


def _no_longer_observed(state: NodeState) -> NodeState:
    """An isolation that was only recorded does not outlive observe mode."""
    if state.mode is Mode.OBSERVE:
        return state
    return replace(
        state,
        isolation=isolation_after(state.isolation, IsolationEvent.RELEASED),
        isolation_observed=False,
        isolated_at=None,
        isolation_episode_id="",
        release_asked_at=None,
        release_granted="",
    )


def _adopted(state: NodeState, node: NodeFacts, now: float) -> NodeState:
    return replace(
        state,
        isolation=isolation_after(state.isolation, IsolationEvent.ADOPTED),
        isolated_at=_unix(node.annotations.get(CORDONED_AT, "")) or now,
        isolation_episode_id=node.annotations[CORDONED_BY],
    )


def _unix(value: str) -> float | None:
    """The annotation (RFC 3339) as unix seconds; None when it cannot be read (then the clock starts now)."""
    try:
        return datetime.fromisoformat(value).timestamp()
    except ValueError:
        return None
