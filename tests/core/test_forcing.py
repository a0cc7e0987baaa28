"""Force deletion: off by default, only ours, only while memory is needed, never of a StatefulSet, once."""

from dataclasses import replace
from typing import Any

import pytest
from core_world import GI, T0, look, memory, observation, pod, policy, usage

from remediator.core.model import Isolation, Level, Matcher, Mode, Phase, Silence, SilenceFacts
from remediator.core.planner import after_actions
from remediator.core.policy import Policy, Safeguards
from remediator.core.reason import Reason
from remediator.core.state import ActionKind, ActionResult, ActionStatus, Decision, EvictionRecord, NodeState

RED = memory(Level.RED, 64 * GI, 2 * GI)
STUCK = pod("spark-1", ns="batch", kind="Job", terminating_since=T0 - 200)
OURS = EvictionRecord("batch", "spark-1", STUCK.uid, "batch/Job/spark", "n1", "p", T0 - 200, GI, episode_id="e1")


def allowing(**kw: Any) -> Policy:
    """A policy that lets stuck pods be forced."""
    return policy(safeguards=Safeguards(force_delete=True, min_pod_share_ratio=0), **kw)


def decided(stuck=STUCK, record=OURS, pol: Policy | None = None, mem=RED, **kw: Any) -> Decision:
    """One look at a node on which a pod is terminating for 200 s."""
    other = pod("web-1")
    pods = [other, *([stuck] if stuck else [])]
    obs = observation(pods, {p.uid: usage(20 * GI) for p in pods}, mem)
    state = NodeState(
        evictions=(record,),
        episode_id="e1",
        level=Level.RED,
        level_since=T0 - 600,
        phase=Phase.SETTLING,
        acted_at=T0 - 10,
        isolation=Isolation.CORDONED_BY_US,
        rounds=1,
    )
    return look(replace(obs, **kw), pol or allowing(), state)


def forced(decision: Decision) -> list[str]:
    """Pods whose deletion is to be forced."""
    actions = decision.plan.actions if decision.plan else ()
    return [action.pod_uid for action in actions if action.kind is ActionKind.FORCE_DELETE]


def test_a_pod_of_ours_that_outlived_its_grace_is_forced_where_the_policy_says_so() -> None:
    """By its UID, in its episode."""
    assert forced(decided()) == [STUCK.uid]


PAUSE = SilenceFacts((Silence("s1", (Matcher("alertname", "MemoryRemediation"),)),))


@pytest.mark.parametrize(
    "kw",
    [
        {"pol": policy(safeguards=Safeguards(min_pod_share_ratio=0))},
        {"pol": allowing(mode=Mode.APPROVE)},
        {"pol": allowing(mode=Mode.OBSERVE)},
        {"stuck": replace(STUCK, workload=replace(STUCK.workload, kind="StatefulSet"))},
        {"stuck": replace(STUCK, terminating_since=None)},
        {"stuck": None},
        {"record": replace(OURS, at=T0 - 80)},
        {"record": replace(OURS, forced=True)},
        {"record": replace(OURS, observed_only=True)},
        {"record": replace(OURS, uid="another")},
        {"mem": memory(Level.RED, 64 * GI, 30 * GI)},
        {"silences": PAUSE},
    ],
    ids=[
        "off",
        "approve",
        "observe",
        "stateful",
        "alive",
        "gone",
        "in-time",
        "once",
        "observed",
        "not-ours",
        "well",
        "silenced",
    ],
)
def test_nobody_is_forced_otherwise(kw: dict[str, Any]) -> None:
    """Off by default, a human's or a silence's word, other people's pods: nothing is forced."""
    assert forced(decided(**kw)) == []


@pytest.mark.parametrize("status", [ActionStatus.DONE, ActionStatus.FAILED, ActionStatus.SKIPPED])
def test_it_is_asked_for_once_whatever_came_of_it(status: ActionStatus) -> None:
    """The phase goes on as it was, and the next look does not force it again."""
    decision = decided()
    assert decision.plan is not None
    (action,) = decision.plan.actions
    after = after_actions(decision.next_state, [ActionResult(action, status, Reason.ACCEPTED, T0)], T0)
    assert after.phase is decision.next_state.phase
    assert [record.forced for record in after.evictions] == [True]
