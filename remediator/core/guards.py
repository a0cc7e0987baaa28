"""The guards, in their order, and what each of them stops.

A guard is a small function from the situation to a reason with figures, or None. Guards stop things, they
never start any; notifications are stopped by none, undo only by `off`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag, auto

from remediator.core.figures import duration, percent, size
from remediator.core.fleet import closed_nodes, fleet_evictions
from remediator.core.incidents import ended_at, evicted_for_memory
from remediator.core.model import Isolation, Level, Mode, Phase, Unknown
from remediator.core.modes import breaker_sentence
from remediator.core.reason import Reason
from remediator.core.silences import act_labels, alert_labels, describe, silenced_by
from remediator.core.situation import Situation
from remediator.core.state import Reasoned

IMPLAUSIBLE_POD_SUM = 1.1
"""Pods and node are not sampled at the same instant."""
NO_STALL_RATIO = 0.05


class Stops(Flag):
    """What a guard stops."""

    CORDON = auto()
    DRAIN = auto()
    SCALE = auto()
    EVICT = auto()
    UNDO = auto()
    UNATTENDED = auto()
    """Acting without asking a human first."""
    ISOLATION = CORDON | DRAIN | SCALE
    ACTING = ISOLATION | EVICT
    RELEASES = EVICT | SCALE
    """What ends pods."""
    EVERYTHING = ACTING | UNDO


NOTHING = Stops(0)


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard."""

    name: str
    stops: Stops
    check: Callable[[Situation], Reasoned | None]


@dataclass(frozen=True, slots=True)
class Stopped:
    """What all guards together stop, and why."""

    stops: Stops
    reasons: tuple[tuple[Stops, Reasoned], ...]

    def why(self, what: Stops) -> Reasoned | None:
        """The first reason that stops all of `what`."""
        return next((reason for stops, reason in self.reasons if what in stops), None)


def mode_off(s: Situation) -> Reasoned | None:
    """A human said: leave it alone."""
    if s.mode is Mode.OFF:
        return Reasoned(Reason.MODE_OFF, "mode off")
    return Reasoned(Reason.PAUSED, "spec.paused is true") if s.observation.spec.paused else None


def recovered(s: Situation) -> Reasoned | None:
    """Nothing left to release: a latched level alone justifies nothing."""
    if s.memory is None or s.target_bytes > 0 or s.oom_storm or s.strategy_bytes > 0:
        return None
    pending = f", {size(s.pending_bytes)} of evicted pods still on their way" if s.pending_bytes else ""
    used, safe = percent(s.memory.used_ratio), percent(s.policy.safe_used_ratio)
    return Reasoned(Reason.RECOVERED, f"{used} used, the safe level is {safe}{pending}")


def node_unknown(s: Situation) -> Reasoned | None:
    """The alert's labels lead to no node, or to several."""
    cluster = s.observation.cluster
    known = (Reason.NODE_UNKNOWN, Reason.NODE_AMBIGUOUS)
    if isinstance(cluster, Unknown) and cluster.reason in known:
        return Reasoned(cluster.reason, cluster.why)
    return None


def data_unknown(s: Situation) -> Reasoned | None:
    """A source that did not answer, answered in part, or answers with the past."""
    for source in (s.observation.memory, s.observation.cluster, s.observation.usages):
        if isinstance(source, Unknown):
            return Reasoned(source.reason, f"{source.source}: {source.why}")
    levels = s.observation.fleet.levels
    if isinstance(levels, Unknown):
        return Reasoned(levels.reason, f"{levels.source}: {levels.why}")
    return stale(s)


def stale(s: Situation) -> Reasoned | None:
    """Node samples too old, or from before the last eviction was over."""
    if s.memory is None:
        return None
    age, most = s.now - s.memory.sampled_at, s.policy.safeguards.max_sample_age_seconds
    if age > most:
        return Reasoned(Reason.DATA_STALE, f"node samples are {duration(age)} old, more than {duration(most)}")
    gone = [e.gone_at for e in s.state.evictions if e.gone_at is not None and not e.observed_only]
    if gone and s.memory.sampled_at <= max(gone):
        return Reasoned(Reason.DATA_STALE, "node samples are older than the end of the last eviction")
    return None


def pods_bytes(s: Situation) -> tuple[int, int]:
    """(working sets, releasable bytes) of the pods now on the node."""
    running = (pod for pod in s.pods if pod.phase == "Running")
    found = [u for pod in running if (u := (s.usages or {}).get(pod.uid)) is not None]
    return sum(u.working_set_bytes for u in found), sum(u.releasable_bytes for u in found)


def non_pod_memory(s: Situation) -> Reasoned | None:
    """The memory is not in pods, so evicting pods is not the cure."""
    if s.memory is None or s.usages is None or not s.memory.used_bytes:
        return None
    share = pods_bytes(s)[0] / s.memory.used_bytes
    if share >= s.policy.safeguards.min_pod_share_ratio:
        return None
    biggest = sorted(s.memory.system_slices.items(), key=lambda item: (-item[1], item[0]))[:3]
    named = ", ".join(f"{path} {size(held)}" for path, held in biggest)
    detail = f"pods hold {percent(share)} of {size(s.memory.used_bytes)} used"
    return Reasoned(Reason.NON_POD_MEMORY, f"{detail}; {named}" if named else detail)


def implausible(s: Situation) -> Reasoned | None:
    """Figures that contradict each other."""
    memory = s.memory
    if memory is None:
        return None
    stalled = (memory.stall_full_ratio or 0.0) >= NO_STALL_RATIO
    if memory.free_bytes is not None and memory.available_bytes < memory.free_bytes / 2 and not stalled:
        figures = f"available {size(memory.available_bytes)}, free {size(memory.free_bytes)}, no stall"
        return Reasoned(Reason.IMPLAUSIBLE, figures)
    held = pods_bytes(s)[1]
    if held > IMPLAUSIBLE_POD_SUM * memory.used_bytes:
        detail = f"pods are said to hold {size(held)}, the node uses {size(memory.used_bytes)}"
        return Reasoned(Reason.IMPLAUSIBLE, detail)
    return None


def silenced(s: Situation, action: str = "") -> Reasoned | None:
    """A silence holds the alert, the node, or this kind of action on the node."""
    if s.silences is None:
        unknown = s.observation.silences
        why = unknown.why if isinstance(unknown, Unknown) else ""
        return Reasoned(Reason.SILENCES_UNKNOWN, f"Alertmanager did not answer: {why}".rstrip(": "))
    if s.silences.alert_silenced_by:
        ids = ", ".join(s.silences.alert_silenced_by)
        return Reasoned(Reason.SILENCED, f"the alert is silenced by {ids}")
    for labels in (
        alert_labels(s.signal, s.memory.level if s.memory else None, s.silences, s.policy),
        act_labels(s.policy, s.silences, node=s.node, action=action),
    ):
        silence = silenced_by(s.silences.silences, labels)
        if silence is not None:
            return Reasoned(Reason.SILENCED, describe(silence))
    return None


def node_cooldown(s: Situation) -> Reasoned | None:
    """An episode has just ended here."""
    until = s.state.cooldown_until
    if s.state.phase is Phase.COOLING_DOWN and until is not None and s.now < until:
        return Reasoned(Reason.NODE_COOLDOWN, f"for another {duration(until - s.now)}")
    return None


def kubelet_eviction(s: Situation) -> tuple[float, str] | None:
    """(when, what) of the latest memory eviction by the kubelet within the stand-down time, else None.

    Evicted pods pile up for days: only recent ones count. Where the API does not say when, one counts while
    the node reports MemoryPressure.
    """
    pressure = s.cluster is not None and s.cluster.node.memory_pressure
    found = []
    for pod in s.pods:
        if evicted_for_memory(pod):
            at = ended_at(pod) or (s.now if pressure else 0.0)
            found.append((at, f"the kubelet evicted {pod.key} for memory"))
    recent = [item for item in found if s.now - item[0] < s.policy.timers.stand_down_seconds]
    return max(recent) if recent else None


def kubelet_evicting(s: Situation) -> Reasoned | None:
    """Two evictors on one node are one too many."""
    found = kubelet_eviction(s)
    if found is not None:
        return Reasoned(Reason.KUBELET_EVICTING, f"{found[1]} {duration(max(0.0, s.now - found[0]))} ago")
    until = s.state.stood_down_until
    if s.state.phase is Phase.STOOD_DOWN and until is not None and s.now < until:
        return Reasoned(Reason.KUBELET_EVICTING, f"stood down for another {duration(until - s.now)}")
    return None


def red_nodes(s: Situation) -> list[str]:
    """Names of the nodes that are RED now, this one as it was just read."""
    levels = s.observation.fleet.levels
    known = {} if isinstance(levels, Unknown) else dict(levels)
    if s.memory is not None:
        known[s.node] = s.memory.level
    return sorted(node for node, level in known.items() if level >= Level.RED)


def cluster_size(s: Situation) -> int:
    """Number of nodes, by the API or by the rules, whichever knows more."""
    levels = s.observation.fleet.levels
    by_rules = 0 if isinstance(levels, Unknown) else len({*levels, s.node})
    return max(by_rules, 1 + len(s.cluster.peers) if s.cluster else 1)


def storm_brake(s: Situation) -> Reasoned | None:
    """Many nodes at once is an outage of something else; at least 2, on 1-3 nodes more than half."""
    red, nodes = len(red_nodes(s)), cluster_size(s)
    limit = 0.5 if nodes <= 3 else s.policy.caps.storm_red_ratio
    if red < 2 or red <= limit * nodes:
        return None
    return Reasoned(Reason.STORM_BRAKE, f"{red} of {nodes} nodes are RED at once")


def cap_nodes_acting(s: Situation) -> Reasoned | None:
    """Places for nodes in the acting or settling phase of an episode."""
    busy = (Phase.ACTING, Phase.SETTLING)
    if s.state.phase in busy:
        return None
    others = [n for n, state in s.observation.fleet.states.items() if n != s.node and state.phase in busy]
    if len(others) < s.policy.caps.nodes_acting:
        return None
    return Reasoned(Reason.CAP_NODES_ACTING, f"{len(others)} other nodes are being relieved: {_names(others)}")


def cap_nodes_cordoned(s: Situation) -> Reasoned | None:
    """At most max(1, 10 %) of the nodes are cordoned by us."""
    if s.state.isolation is not Isolation.NONE:
        return None
    cordoned = closed_nodes(s)
    most = max(1, int(s.policy.caps.nodes_cordoned_ratio * cluster_size(s)))
    if len(cordoned) < most:
        return None
    return Reasoned(Reason.CAP_NODES_CORDONED, f"{_names(cordoned)} cordoned by us already, at most {most} may be")


def cap_evictions(s: Situation) -> Reasoned | None:
    """Evictions an hour over the cluster."""
    done, most = evictions_last_hour(s), s.policy.caps.evictions_per_hour
    return Reasoned(Reason.CAP_EVICTIONS_CLUSTER, f"{done} of {most} an hour are spent") if done >= most else None


def evictions_last_hour(s: Situation, namespace: str = "") -> int:
    """Our evictions of the last hour, everywhere or in one namespace."""
    since = s.now - s.policy.timers.hour_seconds
    found = [e for e in fleet_evictions(s) if e.at > since and (not namespace or e.namespace == namespace)]
    return len(found)


def circuit_breaker(s: Situation) -> Reasoned | None:
    """Two bad outcomes within an hour: a human approves each plan, cluster-wide."""
    if s.mode is not Mode.ENFORCE or s.breaker_until is None:
        return None
    return Reasoned(Reason.CIRCUIT_BREAKER, breaker_sentence(s.breaker_until, s.now))


def _names(nodes: list[str]) -> str:
    return ", ".join(sorted(nodes)[:5])


# "Moved, not freed" is judged per workload (disturbance.workload_cooldown), for that is what it stops.
GUARDS: tuple[Guard, ...] = (
    Guard("off_or_paused", Stops.EVERYTHING, mode_off),
    Guard("recovered", Stops.ACTING, recovered),
    Guard("node_unknown", Stops.ACTING, node_unknown),
    Guard("data_unknown", Stops.ACTING, data_unknown),
    Guard("non_pod_memory", Stops.RELEASES, non_pod_memory),
    Guard("implausible", Stops.ACTING, implausible),
    Guard("silenced", Stops.ACTING, silenced),
    Guard("node_cooldown", Stops.ACTING, node_cooldown),
    Guard("kubelet_evicting", Stops.ACTING, kubelet_evicting),
    Guard("storm_brake", Stops.RELEASES, storm_brake),
    Guard("cap_nodes_acting", Stops.ACTING, cap_nodes_acting),
    Guard("cap_nodes_cordoned", Stops.CORDON, cap_nodes_cordoned),
    Guard("cap_evictions", Stops.EVICT, cap_evictions),
    Guard("circuit_breaker", Stops.UNATTENDED, circuit_breaker),
)


def run(s: Situation) -> Stopped:
    """All guards in order; every one that bites is named."""
    stops, reasons = NOTHING, []
    for guard in GUARDS:
        said = guard.check(s)
        if said is not None:
            stops |= guard.stops
            reasons.append((guard.stops, said))
    return Stopped(stops, tuple(reasons))
