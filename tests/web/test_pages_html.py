"""The pages as HTML: what they say of a node and of a plan, and that nothing they show becomes markup."""

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from remediator.core.model import (
    Isolation,
    Level,
    Matcher,
    Mode,
    Phase,
    Silence,
    SilenceFacts,
    Tier,
    Unknown,
    WorkloadRef,
)
from remediator.core.reason import Reason
from remediator.core.state import (
    Action,
    ActionKind,
    ActionStatus,
    EvictionRecord,
    NodeState,
    OperatorSpec,
    Outcome,
    OutcomeKind,
    Plan,
)
from tests.web.fakes import FakeRecord, Web

EVIL = "<evil onload=alert(1)>\"'><evil>&quot;</script>"
ID = "0123456789"


class Elements(HTMLParser):
    """Names of elements and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep it."""
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Keep it."""
        self.texts.append(data)

    @property
    def text(self) -> str:
        """Words, single-spaced."""
        return " ".join("".join(self.texts).replace("\N{NO-BREAK SPACE}", " ").split())


def plan(word: str) -> Plan:
    """A plan of two steps, one of them for a pod of this name."""
    evict = Action(
        ActionKind.EVICT,
        "a",
        "e1",
        namespace="batch",
        pod=word,
        pod_uid="u1",
        workload=WorkloadRef("batch", "Job", word),
        tier=Tier.OFFLINE,
        expected_bytes=9 * 2**30,
        score=94.25,
    )
    return Plan(ID, "a", "e1", Level.RED, 900.0, 1500.0, 2**30, (Action(ActionKind.CORDON, "a", "e1"), evict))


def world(word: str, phase: Phase) -> Web:
    """Everything that the pages can show, with this word wherever a text comes from outside."""
    state = NodeState(
        phase=phase,
        mode=Mode.APPROVE,
        isolation=Isolation.CORDONED_BY_US,
        plan=replace(plan(word), approved_by="" if phase is Phase.AWAITING_APPROVAL else word),
        results=(("cordon:a", ActionStatus.DONE, Reason.ACCEPTED), ("evict:u1", ActionStatus.FAILED, Reason.FORBIDDEN)),
        message=word,
        evictions=(EvictionRecord("batch", word, "u0", word, "a", "p", 950.0, 2**30, tier="offline"),),
        outcomes=(Outcome(OutcomeKind.PARTLY, "e0", 960.0, 1, 2, 0.9, 0.8, Level.RED, Level.ORANGE, (word,)),),
    )
    ranked = {
        "namespace": "batch",
        "pod": word,
        "tier": "offline",
        "score": {"total": 94.2, "business": 100, "memory": 90, "restart": 50, "qos": 50},
        "releasable_bytes": 2**30,
        "chosen": False,
        "eligible": True,
        "kubelet_rank": 3,
        "sentence": "it is silenced",
        "detail": word,
    }
    told: dict[str, Any] = {
        "verdict": "HOLD",
        "reasons": [{"sentence": word, "detail": word}],
        "ranking": [ranked],
        "memory": {"unknown": word},
    }
    return Web(
        records=[FakeRecord("a", state, OperatorSpec(paused=True, paused_by=word))],
        levels={"a": Level.RED, "b": Level.GREEN},
        used_ratios={"a": [(1.0, 0.5), (2.0, 0.93)]},
        silences=SilenceFacts((Silence("s", (Matcher("namespace", word),), word, word, word),)),
        explain=lambda node: told,
        config={"valid": False, "problems": [word], "file": word, "hash": word},
    )


@pytest.mark.parametrize("phase", [Phase.AWAITING_APPROVAL, Phase.ACTING])
@pytest.mark.parametrize("path", ["/", "/nodes/a"])
def test_nothing_that_is_shown_becomes_markup(path: str, phase: Phase) -> None:
    """Names, messages, comments and errors stay text, in attributes too; no handler, no style, no foreign address."""
    answer = world(EVIL, phase).client().get(path)
    found = Elements(answer.text)
    assert answer.status_code == 200 and "<evil onload=alert(1)>" in found.text
    assert "evil" not in found.names
    assert not {name for name in found.attributes if name.startswith("on") or name == "style"}
    assert "//" not in answer.text.replace("<!doctype", "")


def test_a_node_s_page_tells_the_episode_step_by_step() -> None:
    """Each step with what became of it and why, who approved, the ranking with parts and why-nots, the past."""
    text = Elements(world("spark-1", Phase.ACTING).client().get("/nodes/a").text).text
    for words in (
        f"Plan {ID}, running, by spark-1, to free 1.0 GiB",
        "cordon: done",
        "evict batch/spark-1 offline, 9.0 GiB, score 94.2: failed, we lack the right to do it",
        "paused by spark-1",
        "100 + 90 + 50 + 50",
        "it is silenced (spark-1)",
        "00:16:00 UTC partly, 90 % → 80 %",
        "00:15:50 UTC evicted batch/spark-1",
    ):
        assert words in text


def test_the_overview_offers_what_waits_and_no_token_field_where_none_is_asked() -> None:
    """Plan with expiry and command; on loopback without tokens there is nothing to enter."""
    page = world("spark-1", Phase.AWAITING_APPROVAL).client().get("/").text
    text = Elements(page).text
    assert "expires in 8 min 20 s" in text and f"remediator approve {ID}" in text
    assert 'id="token"' not in page
    assert "1 calm node" in text and 'namespace="spark-1"' in text


def test_sources_that_are_away_are_told_on_the_page() -> None:
    """Unknown silences stop acting and say so; an explanation that fails does not take the node's page down."""

    def broken(node: str) -> dict[str, Any]:
        raise OSError("no route")

    web = replace(world("x", Phase.ACTING), silences=Unknown("alertmanager", "no peer answers"), explain=broken)
    client = web.client()
    assert "Silences are unknown, so nothing is done: no peer answers" in Elements(client.get("/").text).text
    page = client.get("/nodes/a")
    assert page.status_code == 200 and "cannot be read: OSError" in page.text
    assert client.get("/nodes/UPPER").status_code == 404
