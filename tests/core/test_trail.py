"""Pages of several servers' records: each record once, the newest first, whoever has it and however far one gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediator.core.trail import KINDS, Part, Position, TrailFilter, TrailQuestion, merged, part
from remediator.core.trail_parameters import TrailParameterError, as_parameters, from_parameters

START = 1_796_421_973.0
Servers = dict[str, list[tuple[float, dict]]]


@st.composite
def servers(draw: st.DrawFn) -> Servers:
    """What each server has, newest first: writers of its own, and perhaps another's."""
    found: Servers = {}
    written: Servers = {}
    for writer in ("a", "b", "c"):
        times = sorted(draw(st.lists(st.integers(0, 5), max_size=8)), reverse=True)
        written[writer] = [(START + at, {"replica": writer, "id": f"{writer}{n}"}) for n, at in enumerate(times)]
    for name, writers in {"s0": "a", "s1": draw(st.sampled_from(["b", "ab"])), "s2": "c"}.items():
        lines = [line for writer in writers for line in written[writer]]
        found[name] = sorted(lines, key=lambda line: -line[0])
    return found


@given(has=servers(), limit=st.integers(1, 5), looks=st.sampled_from([1, 2, 64]))
def test_all_pages_together_are_everything_once(monkeypatch_module, has: Servers, limit: int, looks: int) -> None:
    """However small the pages, and however little a server gets to look at in its time: nothing twice, nothing lost."""
    monkeypatch_module.setattr("remediator.core.trail._LINES_BETWEEN_LOOKS_AT_THE_TIME", looks)
    given_so_far, place, pages = [], Position(), 0
    while place is not None:
        asked = TrailQuestion(limit=limit, position=place)
        parts = []
        for name, lines in has.items():
            rest = [line for line in lines if line[0] <= place.at]
            parts.append(part(name, rest, asked, lambda: True))
        page = merged(parts, asked)
        assert len(page.records) <= limit
        given_so_far += page.records
        place, pages = page.next, pages + 1
        assert pages < 200
    ids = [record["id"] for record in given_so_far]
    wanted = {record["id"]: at for lines in has.values() for at, record in lines}
    assert sorted(ids) == sorted(wanted)
    assert [wanted[each] for each in ids] == sorted(wanted.values(), reverse=True)


@pytest.fixture(scope="module")
def monkeypatch_module():
    """One that Hypothesis may use for all its examples."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


EVICTION = {
    "kind": "result",
    "node": "n1",
    "episode_id": "e1",
    "plan_id": "p1",
    "action": {"kind": "evict", "namespace": "batch", "pod": "spark-1", "workload": "batch/Job/spark"},
}
DECISION = {
    "kind": "decision",
    "node": "n1",
    "state": {"episode_id": "e1"},
    "plan": {"id": "p1", "actions": [EVICTION["action"], {"kind": "cordon", "namespace": None, "pod": None}]},
    "ranking": [{"namespace": "shop", "pod": "api-1", "workload": "shop/Deployment/api"}],
}
OUTCOME = {"kind": "outcome", "node": "n1", "episode_id": "e1", "workloads": ["batch/Job/spark"]}
WORD = {"kind": "operator", "node": "n1", "operator": "ann", "plan": "p1", "verdict": "approved"}
ALL = (EVICTION, DECISION, OUTCOME, WORD)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ALL),
        ({"node": "n1"}, ALL),
        ({"node": "n"}, ()),
        ({"episode": "e1"}, (EVICTION, DECISION, OUTCOME)),
        ({"plan": "p1"}, (EVICTION, DECISION, WORD)),
        ({"kinds": ("result", "outcome")}, (EVICTION, OUTCOME)),
        ({"action": "evict"}, (EVICTION, DECISION)),
        ({"action": "cordon"}, (DECISION,)),
        ({"pod": "spark-1"}, (EVICTION, DECISION)),
        ({"pod": "api-1"}, (DECISION,)),
        ({"pod": "api-1", "action": "evict"}, ()),
        ({"namespace": "batch"}, (EVICTION, DECISION, OUTCOME)),
        ({"namespace": "batch", "pod": "api-1"}, ()),
        ({"workload": "spark"}, (EVICTION, DECISION, OUTCOME)),
        ({"workload": "Job/spark"}, (EVICTION, DECISION, OUTCOME)),
        ({"workload": "batch/Job/spark", "kinds": ("result",)}, (EVICTION,)),
        ({"workload": "park"}, ()),
    ],
)
def test_a_filter_finds_what_it_names(wanted: dict, found: tuple) -> None:
    """All that is given must hold, and hold of one and the same pod."""
    assert tuple(record for record in ALL if TrailFilter(**wanted).wants(record)) == found


JSON = st.recursive(st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
NAMED = st.sampled_from(["kind", "node", "action", "plan", "state", "ranking", "workloads", "actions", "replica"])


@given(record=st.dictionaries(NAMED, JSON | st.dictionaries(NAMED, JSON)), wanted=st.sampled_from(["node", "pod"]))
def test_whatever_a_record_holds_it_can_be_asked_about(record: dict, wanted: str) -> None:
    """A record that somebody edited is not found; it breaks nothing."""
    assert not TrailFilter(**{wanted: "\x00never"}).wants(record)


TEXT = st.text(min_size=1, max_size=20)
QUESTIONS = st.builds(
    TrailQuestion,
    st.builds(
        TrailFilter,
        node=st.just("") | TEXT,
        pod=st.just("") | TEXT,
        workload=st.just("") | TEXT,
        action=st.sampled_from(["", "evict"]),
        kinds=st.lists(st.sampled_from(KINDS), unique=True).map(tuple),
        since=st.none() | st.floats(0, 1e10),
        until=st.none() | st.floats(0, 1e10),
    ),
    st.integers(1, 1000),
    st.just(Position()) | st.builds(Position, st.floats(0, 1e10), st.dictionaries(TEXT, st.integers(1, 9))),
    st.booleans(),
)


@given(asked=QUESTIONS)
def test_a_question_survives_its_way_over_http(asked: TrailQuestion) -> None:
    """What a server sends to its peers is read as it was meant."""
    assert from_parameters(as_parameters(asked)) == asked


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([("nodes", "a")], "'nodes' is no parameter; there are node, "),
        ([("node", "a"), ("node", "b")], "node is given twice"),
        ([("node", "")], "node is empty"),
        ([("pod", "x" * 513)], "pod is too long"),
        ([("kind", "results")], "kind='results' is not known; write one of decision, "),
        ([("action", "kill")], "action='kill' is not known; write one of cordon, "),
        ([("replica", "all")], "replica='all' is not known; write one of local"),
        ([("limit", "0")], "limit='0' is no whole number from 1 to 1000"),
        ([("limit", "²")], "limit"),
        ([("since", "yesterday")], "since='yesterday' is no time; write unix seconds"),
        ([("until", "2026-12-04T22:06:13")], "until"),
        ([("until", "nan")], "until"),
        ([("cursor", "x")], "cursor is not one of ours"),
    ],
)
def test_a_parameter_that_is_not_understood_is_named_with_the_fix(pairs: list, says: str) -> None:
    """A typo never becomes a default."""
    with pytest.raises(TrailParameterError, match=says.replace("(", r"\(")):
        from_parameters(pairs)


@given(word=st.text(max_size=60) | st.binary(max_size=40).map(lambda raw: raw.hex()))
def test_no_cursor_breaks_anything(word: str) -> None:
    """Anything given as a cursor is a position or a refusal."""
    try:
        assert from_parameters([("cursor", word)]).position
    except TrailParameterError as refused:
        assert "cursor" in str(refused)


def test_what_two_servers_have_of_one_writer_counts_once() -> None:
    """Servers that share a directory do not double its records."""
    line = (START, {"replica": "a"})
    page = merged([Part("s0", [line], None), Part("s1", [line], None)], TrailQuestion())
    assert (len(page.records), page.servers, page.next) == (1, ("s0", "s1"), None)
