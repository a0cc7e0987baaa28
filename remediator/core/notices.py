"""What people are told, and that they are told it once.

Every notice has a key; keys already told are in `NodeState.told`. A level is told anew after the node was
quiet; episodes, plans and outcomes carry their own id in the key.
"""

from collections.abc import Iterator

from remediator.core.figures import duration, percent, size
from remediator.core.guards import kubelet_eviction, red_nodes
from remediator.core.isolation import undo_actions
from remediator.core.model import Isolation, Level, MemoryFacts, Phase, Unknown
from remediator.core.modes import breaker_tripped
from remediator.core.reason import SENTENCES, Reason
from remediator.core.situation import Situation
from remediator.core.state import Action, ActionKind, NodeState, Notice, OutcomeKind, Reasoned
from remediator.core.turn import Turn

KEPT = 100
OTHERS_TOO = 1.25
"""Beyond this multiple of what the evicted pods held, memory of others ended meanwhile."""
LASTING = (
    "early:",
    "approve:",
    "rejected:",
    "plan:",
    "outcome:",
    "escalated:",
    "stood-down:",
    "forgotten:",
    "stuck:",
    "hands-off:",
)
SEVERITY = {Level.YELLOW: "info", Level.ORANGE: "warning", Level.RED: "critical"}
WORTH_TELLING = frozenset(
    {
        Reason.DATA_UNKNOWN,
        Reason.DATA_STALE,
        Reason.DATA_PARTIAL,
        Reason.NODE_UNKNOWN,
        Reason.NODE_AMBIGUOUS,
        Reason.NON_POD_MEMORY,
        Reason.IMPLAUSIBLE,
        Reason.SILENCED,
        Reason.SILENCES_UNKNOWN,
        Reason.CAP_NODES_ACTING,
        Reason.CAP_NODES_CORDONED,
        Reason.CAP_EVICTIONS_CLUSTER,
        Reason.CAP_EVICTIONS_NAMESPACE,
        Reason.NO_CANDIDATE,
        Reason.ROUNDS_SPENT,
        Reason.PLAN_EXPIRED,
    }
)
FAR_FROM_YELLOW = 0.10
"""An early warning is told anew once the used ratio was this far below YELLOW."""
EARLY_WARNINGS = ("NodeMemoryExhaustionPredicted", "NodeSwapGrowing")


def notices_of(before: NodeState, turn: Turn, reasons: tuple[Reasoned, ...]) -> tuple[Notice, ...]:
    """Everything there is to tell in this turn, told already or not, each key once."""
    found: dict[str, Notice] = {}
    for notice in _all(before, turn, reasons):
        found.setdefault(notice.key, notice)
    return tuple(found.values())


def remembered(state: NodeState, current: tuple[Notice, ...], s: Situation) -> tuple[str, ...]:
    """The keys to remember: once the node is quiet, only lasting ones and what still holds."""
    told = dict.fromkeys([*state.told, *(notice.key for notice in current)])
    if s.memory is not None and s.memory.used_ratio < s.memory.thresholds.get("yellow/enter", 0.0) - FAR_FROM_YELLOW:
        told = {key: None for key in told if not key.startswith("early:")}
    quiet = state.phase is Phase.WATCHING and not state.episode_id and state.level is Level.GREEN
    if quiet and s.memory is not None and state.isolation is Isolation.NONE:
        holds = {notice.key for notice in current}
        told = dict.fromkeys(key for key in told if key.startswith(LASTING) or key in holds)
    return tuple(told)[-KEPT:]


def _all(before: NodeState, turn: Turn, reasons: tuple[Reasoned, ...]) -> Iterator[Notice]:
    s = turn.situation
    yield from _level(s)
    yield from _early(s)
    yield from _plan(turn)
    yield from _rejected(s)
    yield from _outcome(turn)
    yield from _held(s, reasons)
    yield from _fleet(s, reasons)
    yield from _incidents(before, s, reasons)
    yield from _isolation(before, s)
    yield from _stuck(s)
    yield from _developers(turn)


def _water(memory: MemoryFacts | None) -> str:
    if memory is None:
        return "memory unknown"
    return f"{percent(memory.used_ratio)} used, {size(memory.available_bytes)} available"


def _level(s: Situation) -> Iterator[Notice]:
    """Each level once; during the cooldown RED is told as well."""
    if s.memory is not None and s.step.notify and s.level > Level.GREEN:
        title = f"Node {s.node} is {s.level.name}: {_water(s.memory)}"
        text = f"{size(s.target_bytes)} above the safe level of {percent(s.policy.safe_used_ratio)}"
        yield Notice(f"level:{s.level.name}", SEVERITY[s.level], title, text)
        if s.level is Level.RED and s.state.phase is Phase.COOLING_DOWN:
            yield Notice(
                f"cooling-red:{s.state.episode_id}",
                "critical",
                f"Node {s.node} is RED again while it cools down",
                "nothing is done until the cooldown is over",
            )


def _early(s: Situation) -> Iterator[Notice]:
    name = s.signal.alertname
    if name in EARLY_WARNINGS and s.signal.firing:
        yield Notice(f"early:{name}", "info", f"Node {s.node}: {name}", _water(s.memory))


def describe_action(action: Action) -> str:
    """`evict batch/spark-1 (offline, 9.0 GiB, score 94.3)`."""
    what = action.kind.value.replace("_", " ")
    if action.pod:
        figures = [str(action.tier or "by label")]
        if action.kind is ActionKind.EVICT:
            figures.append(size(action.expected_bytes))
            figures += [f"score {action.score:.1f}"] if action.score is not None else []
        return f"{what} {action.namespace}/{action.pod} ({', '.join(figures)})"
    return f"{what} {action.workload}" if action.workload else f"{what} {action.node}"


def _step(action: Action, turn: Turn) -> str:
    """A step with the parts of its score."""
    row = next((row for row in turn.draft.ranking if row.uid == action.pod_uid), None)
    if row is None or row.score is None or action.kind is not ActionKind.EVICT:
        return describe_action(action)
    p = row.score
    parts = f"business {p.business:.0f}, memory {p.memory:.0f}, restart {p.restart:.0f}, QoS {p.qos:.0f}"
    return f"{describe_action(action)}: {parts}"


def _plan(turn: Turn) -> Iterator[Notice]:
    s, plan = turn.situation, turn.plan
    waiting = s.state.plan if s.state.phase in (Phase.AWAITING_APPROVAL, Phase.ESCALATED) else None
    if waiting is not None:
        steps = "\n".join(_step(action, turn) for action in waiting.actions)
        patch = f'{{"spec":{{"approvedPlan":"{waiting.id}"}}}}'
        kubectl = f"kubectl patch nrem {s.node} --type merge -p '{patch}'"
        how = f"to approve: remediator approve {waiting.id}, the status page, or {kubectl}"
        title = f"Plan {waiting.id} for node {s.node} waits for approval: {_water(s.memory)}"
        yield Notice(f"approve:{waiting.id}", "warning", title, f"{steps}\n{how}")
    if plan is not None and any(not action.undo for action in plan.actions):
        steps = "\n".join(_step(action, turn) for action in plan.actions)
        title = f"{'Would act' if s.observing else 'Acting'} on node {s.node}: {_water(s.memory)}"
        yield Notice(f"plan:{plan.id}", "warning", title, steps)
    elif plan is not None:
        steps = "\n".join(describe_action(action) for action in plan.actions)
        title = f"{'Would give back' if s.observing else 'Giving back'} on node {s.node}"
        yield Notice(f"plan:{plan.id}", "info", title, steps)


def _rejected(s: Situation) -> Iterator[Notice]:
    for each in s.state.rejected:
        until = duration(each.until - s.now)
        text = f"the same pods are not proposed again for {until}, unless the level rises; other plans are"
        title = f"Plan {each.plan_id} for node {s.node} was rejected by {each.by}"
        if each.until > s.now:
            yield Notice(f"rejected:{each.plan_id}", "info", title, text)


def _outcome(turn: Turn) -> Iterator[Notice]:
    outcome = turn.outcome
    if outcome is None:
        return
    s, good = turn.situation, outcome.kind in (OutcomeKind.RELIEVED, OutcomeKind.PARTLY)
    title = f"Node {s.node}: {outcome.kind}, {_water(s.memory)}"
    used = f"used {percent(outcome.used_ratio_before)} -> {percent(outcome.used_ratio_after)}"
    beyond = "; other memory ended too" if outcome.released_bytes > OTHERS_TOO * outcome.expected_bytes else ""
    came = f"{size(outcome.released_bytes)} came free, {size(outcome.expected_bytes)} of pods were expected"
    text = f"{came}{beyond}; {used}"
    key = f"outcome:{outcome.episode_id}:{outcome.at:.3f}"
    yield Notice(key, "info" if good else "warning", title, text)


def _held(s: Situation, reasons: tuple[Reasoned, ...]) -> Iterator[Notice]:
    """Why nothing is done about a node under pressure, or about one that nobody sees."""
    for reason in reasons:
        if reason.reason in (Reason.LEDGER_UNKNOWN, Reason.STRATEGY_REFUSED):
            title = f"Node {s.node}: {SENTENCES[reason.reason]}"
            yield Notice(f"held:{reason.reason}", "warning", title, reason.detail)
    blind = isinstance(s.observation.memory, Unknown)
    # While a round settles, or with nothing left to free, the same reasons hold nobody back.
    idle = s.state.phase is Phase.SETTLING or any(each.reason is Reason.RECOVERED for each in reasons)
    if not blind and (s.level < Level.ORANGE or idle):
        return
    for reason in reasons:
        if reason.reason in WORTH_TELLING:
            title = f"Node {s.node}: {SENTENCES[reason.reason]}"
            yield Notice(f"held:{reason.reason}", "warning", title, reason.detail)


def _fleet(s: Situation, reasons: tuple[Reasoned, ...]) -> Iterator[Notice]:
    """Cluster-wide brakes are told by one node for all."""
    given = {reason.reason: reason.detail for reason in reasons}
    red = red_nodes(s)
    if Reason.STORM_BRAKE in given and red and red[0] == s.node:
        text = f"{given[Reason.STORM_BRAKE]}: nothing is evicted anywhere"
        yield Notice("storm-brake", "critical", "Storm brake: many nodes are RED at once", text)
    breaker = breaker_tripped(s.observation.fleet, s.policy, s.now)
    if breaker is not None and breaker[1] == s.node:
        yield Notice(
            f"outcome:breaker:{breaker[0]:.3f}",
            "critical",
            "Circuit breaker: plans need approval for a while, on every node",
            SENTENCES[Reason.CIRCUIT_BREAKER],
        )


def _incidents(before: NodeState, s: Situation, reasons: tuple[Reasoned, ...]) -> Iterator[Notice]:
    found = kubelet_eviction(s)
    if s.state.phase is Phase.STOOD_DOWN and before.phase is not Phase.STOOD_DOWN and found is not None:
        title = f"Severe: the kubelet evicts on node {s.node}; we stand down"
        yield Notice(f"stood-down:{found[0]:.3f}", "critical", title, f"{found[1]}; {_water(s.memory)}")
    elif s.cluster is not None and s.cluster.node.memory_pressure and found is None:
        title = f"Node {s.node} reports MemoryPressure"
        yield Notice("held:memory-pressure", "warning", title, _water(s.memory))
    for reason in reasons:
        if reason.reason is Reason.ESCALATED:
            key = f"escalated:{s.state.episode_id}"
            title = f"Incident: node {s.node} does not get well; a human is asked"
            yield Notice(key, "critical", title, f"{reason.detail}; {_water(s.memory)}")
    if s.oom_storm is not None:
        title = f"OOM-kill storm on node {s.node}: closed for maintenance"
        yield Notice("held:oom-storm", "critical", title, s.oom_storm)


def _isolation(before: NodeState, s: Situation) -> Iterator[Notice]:
    state = s.state
    if state.isolation is Isolation.RELEASABLE and not undo_actions(s):
        title = f"Node {s.node} is calm: may it take pods again?"
        text = f"remediator release {s.node}"
        yield Notice(f"outcome:release:{state.isolation_episode_id}:{state.release_asked_at}", "info", title, text)
    since, limit = state.isolated_at, s.policy.timers.forgotten_cordon_seconds
    if state.isolation is not Isolation.NONE and since is not None and s.now - since >= limit:
        times = int((s.now - since) // limit)
        title = f"Node {s.node} has been cordoned by us for {duration(s.now - since)}"
        key = f"forgotten:{state.isolation_episode_id}:{times}"
        yield Notice(key, "warning", title, f"remediator release {s.node}")
    if state.hands_off_until is not None and before.hands_off_until is None:
        title = f"Somebody opened node {s.node}: we leave its isolation alone for now"
        until = duration(state.hands_off_until - s.now)
        yield Notice(f"hands-off:{state.hands_off_until:.3f}", "info", title, f"for {until}")


def _stuck(s: Situation) -> Iterator[Notice]:
    """Pods of ours that do not go away; nothing is forced."""
    pods = {pod.uid: pod for pod in s.pods}
    for eviction in s.state.evictions:
        overdue = s.now - eviction.at > s.policy.timers.gone_deadline_seconds
        pod = pods.get(eviction.uid)
        if eviction.gone_at is None and overdue and pod is not None:
            held = ", ".join(pod.finalizers) or "no finalizer"
            title = f"Pod {pod.key} does not go away on node {s.node}"
            yield Notice(f"stuck:{pod.uid}", "warning", title, f"terminating; {held}")


def _developers(turn: Turn) -> Iterator[Notice]:
    """Limit-OOMs are nobody's fault but the limit's: told to those who can raise it."""
    for row in turn.draft.ranking:
        if row.reason is Reason.LIMIT_OOM:
            title = f"{row.workload or row.pod} is OOM-killed at its own limit"
            text = f"{row.detail}: raise the limit, tune the heap, or look for a leak"
            key = f"outcome:limit-oom:{row.workload or row.pod}"
            yield Notice(key, "warning", title, text, audience="developers", namespace=row.namespace)
