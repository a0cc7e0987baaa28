"""Our matching of silences against a real Alertmanager's own: its `silencedBy` is the oracle."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from remediator.adapters.alertmanager import AlertmanagerSilences
from remediator.core.matchers import matcher_holds, parse_matchers, read_alike
from remediator.core.model import Matcher, Silence, SilenceFacts
from remediator.core.silences import silence_holds
from remediator.drill.processes import Processes, answers, free_port
from tests.rules.conftest import find_tool

pytestmark = pytest.mark.acceptance
VECTORS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "core" / "silences.yaml").read_text(encoding="utf-8")
)
Labels = Mapping[str, str]


class Oracle:
    """An Alertmanager that is given silences and alerts, and says which silence holds which alert."""

    def __init__(self, url: str) -> None:
        self.url, self._session = url, requests.Session()

    def silence(self, matchers: Sequence[Matcher], starts_in: float = 0, lasts: float = 3600) -> str | None:
        """Its ID; None when Alertmanager refuses it."""
        start = datetime.now(UTC) + timedelta(seconds=starts_in)
        written = [{"name": m.name, "value": m.value, "isRegex": m.is_regex, "isEqual": m.is_equal} for m in matchers]
        times = {"startsAt": start.isoformat(), "endsAt": (start + timedelta(seconds=lasts)).isoformat()}
        body = {"matchers": written, **times, "createdBy": "ann", "comment": "why"}
        answer = self._session.post(f"{self.url}/api/v2/silences", json=body, timeout=5)
        assert answer.status_code in (200, 400), answer.text
        return str(answer.json()["silenceID"]) if answer.ok else None

    def end(self, silences: Sequence[str]) -> None:
        """Expire them."""
        for silence in silences:
            self._session.delete(f"{self.url}/api/v2/silence/{silence}", timeout=5).raise_for_status()

    def held(self, alerts: Sequence[Labels]) -> list[set[str]]:
        """The silences that hold each of these alerts."""
        marked = [{**labels, "vector": str(number)} for number, labels in enumerate(alerts)]
        posted = [{"labels": labels} for labels in marked]
        self._session.post(f"{self.url}/api/v2/alerts", json=posted, timeout=5).raise_for_status()
        found = self._session.get(f"{self.url}/api/v2/alerts", timeout=5).json()
        by_labels = {frozenset(alert["labels"].items()): alert["status"]["silencedBy"] for alert in found}
        wanted = [frozenset((name, value) for name, value in labels.items() if value) for labels in marked]
        return [set(by_labels[labels]) for labels in wanted]


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """One Alertmanager for all tests here."""
    directory, port = tmp_path_factory.mktemp("oracle"), free_port()
    config = directory / "alertmanager.yml"
    config.write_text("route: {receiver: none}\nreceivers: [{name: none}]\n")
    url = f"http://127.0.0.1:{port}"
    with Processes(directory / "logs") as processes:
        command = [str(find_tool("alertmanager")), f"--config.file={config}", f"--storage.path={directory}/data"]
        command += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=", "--log.level=error"]
        processes.start("alertmanager", command)
        processes.wait_for("alertmanager", lambda: answers(f"{url}/-/ready"))
        yield Oracle(url)


def hits(matchers: Sequence[Matcher], labels: Labels) -> bool:
    """Our rule: a positive matcher names a label that is there."""
    return any(matcher.is_equal and labels.get(matcher.name) for matcher in matchers)


def read(matchers: Sequence[Matcher], labels: Labels) -> bool:
    """Every expression is one that Python reads as RE2 does."""
    return all(read_alike(m.value, labels.get(m.name, "")) for m in matchers if m.is_regex)


def compare(matchers: Sequence[Matcher], labels: Labels, theirs: bool) -> None:
    """The same verdict, but for the two documented differences, which are exactly these."""
    told = f"{matchers} on {labels}: Alertmanager says {theirs}"
    ours = all(matcher_holds(matcher, labels) for matcher in matchers)
    assert ours == theirs or (ours and not read(matchers, labels)), told
    assert silence_holds(Silence("s", tuple(matchers)), labels) == (ours and hits(matchers, labels)), told


def test_the_vectors_are_alertmanager_s_own(oracle: Oracle) -> None:
    """What the shared vectors say of Alertmanager is what it says, and where we differ, they say why."""
    parsed = [[m for text in vector["matchers"] for m in parse_matchers(text)] for vector in VECTORS]
    made = [oracle.silence(matchers) for matchers in parsed]
    held = oracle.held([vector["labels"] for vector in VECTORS])
    for vector, matchers, silence, holding in zip(VECTORS, parsed, made, held, strict=True):
        theirs = "refused" if silence is None else silence in holding
        assert theirs == vector.get("theirs", vector["holds"]), vector
        if silence is not None:
            compare(matchers, vector["labels"], silence in holding)
        assert vector.get("why") in {
            None if theirs in (vector["holds"], "refused") else "",
            "no label hit" if not hits(matchers, vector["labels"]) else "",
            "not read" if not read(matchers, vector["labels"]) else "",
        }, vector
    oracle.end([silence for silence in made if silence])


NAMES = st.sampled_from(["alertname", "node", "namespace", "team"])
VALUES = st.sampled_from(["", "a", "b", "ab", "A", "worker-1", "worker-2", "1", "ä", "K", "a\n", "(a)", 'q"\\'])
PIECES = st.sampled_from(
    [
        *(
            "a",
            "b",
            "A",
            "ä",
            "k",
            "worker",
            "-",
            "1",
            "|",
            ".",
            "*",
            "+",
            "?",
            "(",
            ")",
            "(?:",
            "(?i)",
            "(?s)",
            "^",
            "$",
        ),
        *(r"\d", r"\w", r"\S", r"\W", r"\b", r"\pL", r"\z", "[a-z]", "[^a]", "[[:digit:]]", "{1,2}", "{,2}", "(?P<n>"),
        *(r"\.", "()", "[]a]", "*?", "(?i:", "(?-s)", r"\x61", r"\Qa.\E"),
    ]
)
r"""An open \Q is left out: Alertmanager 0.25 takes such a silence, and then fails to match any of its silences."""
REGEXES = st.lists(PIECES, max_size=6).map("".join) | VALUES | st.sampled_from([".*", ".+", "a|b", "worker-.*"])
MATCHERS = st.builds(Matcher, NAMES, VALUES, st.just(False), st.booleans()) | st.builds(
    Matcher, NAMES, REGEXES, st.just(True), st.booleans()
)
LABELS = st.dictionaries(NAMES, VALUES, max_size=4)


# Not shrunk: the message names the one silence and the one alert of the batch that differ.
@settings(max_examples=12, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(
    silences=st.lists(st.lists(MATCHERS, min_size=1, max_size=3), min_size=25, max_size=40),
    alerts=st.lists(LABELS, min_size=20, max_size=30),
)
def test_any_silence_holds_any_alert_as_in_alertmanager(
    oracle: Oracle, silences: list[list[Matcher]], alerts: list[dict[str, str]]
) -> None:
    """Every silence against every alert: Alertmanager's own verdict, but for the documented differences."""
    made = {silence: matchers for matchers in silences if (silence := oracle.silence(matchers))}
    held = oracle.held(alerts)
    oracle.end(list(made))
    for labels, holding in zip(alerts, held, strict=True):
        for silence, matchers in made.items():
            compare(matchers, labels, silence in holding)


def test_pending_and_expired_silences_do_not_count(oracle: Oracle) -> None:
    """Only what is in force now, of three that name the same node."""
    node = (Matcher("node", "worker-9"),)
    made = [oracle.silence(node), oracle.silence(node, starts_in=600), oracle.silence(node)]
    oracle.end([str(made[2])])
    found = AlertmanagerSilences([oracle.url]).read("worker-9", "NodeMemoryPressure", None)
    assert isinstance(found, SilenceFacts)
    assert [silence.id for silence in found.silences] == [made[0]]
    assert REGISTRY.get_sample_value("remediator_silences_active") == 1
    oracle.end([str(made[0]), str(made[1])])


@pytest.mark.parametrize(
    ("words", "labels", "holds"),
    [
        (["namespace=payments"], {"alertname": "MemoryRemediation", "namespace": "payments"}, True),
        (["namespace=payments"], {"alertname": "MemoryRemediation", "namespace": "pay"}, False),
        (["alertname=MemoryRemediation"], {"alertname": "MemoryRemediation"}, True),
        (["node=~worker-[12]", "action=evict"], {"node": "worker-1", "action": "evict"}, True),
        (["node=~worker-[12]", "action=evict"], {"node": "worker-1", "action": "cordon"}, False),
        (['node="wor\\"ker"'], {"node": 'wor"ker'}, True),
    ],
)
def test_silences_that_amtool_adds_are_read_as_meant(
    oracle: Oracle, words: list[str], labels: dict[str, str], holds: bool
) -> None:
    """As the documentation writes them on the command line."""
    command = [str(find_tool("amtool")), f"--alertmanager.url={oracle.url}", "silence", "add", *words, "-d1h", "-cwhy"]
    made = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    found = AlertmanagerSilences([oracle.url]).read("n", "a", None)
    assert isinstance(found, SilenceFacts)
    (silence,) = [each for each in found.silences if each.id == made]
    assert silence_holds(silence, labels) is holds
    oracle.end([made])
