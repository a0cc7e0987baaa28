"""Before against after: what a round of evictions came to.

Only counts what the node really gained (MemAvailable); what was expected is remembered beside it. The five
kinds are the ones people and the circuit breaker understand.
"""

from collections.abc import Iterable

from remediator.core.model import Level, MemoryFacts, Unknown, WorkloadFacts
from remediator.core.situation import Situation, release_target
from remediator.core.state import EvictionRecord, NodeState, Outcome, OutcomeKind

ENOUGH_RATIO = 0.5
"""Share of the expected bytes from which on a round counts as having had an effect."""


def round_evictions(state: NodeState) -> tuple[EvictionRecord, ...]:
    """Evictions of the round in hand."""
    since = state.round_started_at if state.round_started_at is not None else 0.0
    return tuple(e for e in state.evictions if e.episode_id == state.episode_id and e.at >= since)


def assess(s: Situation, memory: MemoryFacts) -> Outcome:
    """The outcome of the round in hand, by a sample taken after the last pod was gone."""
    evicted = round_evictions(s.state)
    before = s.state.available_bytes_before
    released = memory.available_bytes - (before if before is not None else memory.available_bytes)
    expected = sum(e.bytes for e in evicted)
    return Outcome(
        kind=_kind(s, memory, evicted, released, expected),
        episode_id=s.state.episode_id,
        at=s.now,
        released_bytes=released,
        expected_bytes=expected,
        used_ratio_before=s.state.used_ratio_before or 0.0,
        used_ratio_after=memory.used_ratio,
        level_before=s.state.level_before or Level.GREEN,
        level_after=memory.level,
        workloads=tuple(dict.fromkeys(e.workload for e in evicted)),
    )


def _kind(
    s: Situation, memory: MemoryFacts, evicted: tuple[EvictionRecord, ...], released: int, expected: int
) -> OutcomeKind:
    if moved_to(s, evicted):
        return OutcomeKind.MOVED
    if release_target(memory, s.policy) == 0:
        return OutcomeKind.RELIEVED
    enough = ENOUGH_RATIO * expected
    if released > 0 and released >= enough:
        return OutcomeKind.PARTLY
    return OutcomeKind.REBOUNDED if _grew_back(s, memory, evicted, released, enough) else OutcomeKind.NO_EFFECT


def _grew_back(
    s: Situation, memory: MemoryFacts, evicted: tuple[EvictionRecord, ...], released: int, enough: float
) -> bool:
    """The memory did come free, and was taken again: by a successor on this node, or by growth since."""
    if any(node == s.node for node, _ in successors(s, evicted)):
        return True
    gone = max((e.gone_at for e in evicted if e.gone_at is not None), default=s.now)
    growth = max(0.0, memory.growth_bytes_per_second or 0.0)
    return growth > 0 and released + growth * (s.now - gone) >= enough


def successors(s: Situation, evicted: Iterable[EvictionRecord]) -> list[tuple[str, WorkloadFacts]]:
    """(node, workload) of every pod that took the place of an evicted one."""
    if s.cluster is None:
        return []
    since = {e.workload: e.at for e in evicted}
    return [
        (pod.node, workload)
        for ref, workload in s.cluster.workloads.items()
        if str(ref) in since
        for pod in workload.pods
        if pod.node and pod.created_at >= since[str(ref)]
    ]


def moved_to(s: Situation, evicted: Iterable[EvictionRecord]) -> list[str]:
    """Other nodes that a successor runs on and that have risen to ORANGE since the eviction."""
    evicted = tuple(evicted)
    levels, first = s.observation.fleet.levels, min((e.at for e in evicted), default=s.now)
    if isinstance(levels, Unknown):
        return []
    raised = []
    for node, _ in successors(s, evicted):
        state = s.observation.fleet.states.get(node)
        since = state.level_since if state is not None else None
        high = levels.get(node, Level.GREEN) >= Level.ORANGE
        if node != s.node and high and (since is None or since >= first):
            raised.append(node)
    return sorted(set(raised))
