"""Silences as a real Alertmanager told them, of all peers together."""

import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from remediator.adapters.alertmanager import AlertmanagerSilences
from remediator.core.model import Level, SilenceFacts, Unknown
from tests.adapters.canned import Answer

CAPTURES = Path(__file__).parent / "captures"
SILENCES = json.loads((CAPTURES / "am_api_silences.json").read_text())
ALERTS = json.loads((CAPTURES / "am_api_alerts.json").read_text())
HELD = next(alert for alert in ALERTS if alert["status"]["silencedBy"])


def real(asked):
    return SILENCES if asked.path.endswith("/silences") else ALERTS


def level_of(alert):
    return Level[alert["labels"]["level"].upper()]


def test_the_triggering_alert_is_found_with_its_labels_and_its_silence(canned):
    """silencedBy, and the labels as Alertmanager has them, external ones like `cluster` included."""
    server = canned(real)
    labels = HELD["labels"]
    facts = AlertmanagerSilences([server.url + "/"]).read(labels["node"], labels["alertname"], level_of(HELD))
    assert isinstance(facts, SilenceFacts)
    assert facts.alert_silenced_by == tuple(HELD["status"]["silencedBy"])
    assert facts.alert_labels["cluster"] == "lab"
    (silence,) = [found for found in facts.silences if found.id in facts.alert_silenced_by]
    assert {matcher.name for matcher in silence.matchers} == {"node", "remediate"}
    assert (silence.comment, silence.created_by) == ("kernel upgrade", "alice")


def test_an_alert_of_another_level_or_node_is_not_taken_for_it(canned):
    """A silenced YELLOW does not silence RED."""
    server = canned(real)
    silences = AlertmanagerSilences([server.url])
    labels = HELD["labels"]
    other = next(level for level in Level if level is not level_of(HELD) and level is not Level.GREEN)
    assert silences.read(labels["node"], labels["alertname"], other).alert_silenced_by == ()
    assert silences.read("worker-9", labels["alertname"], level_of(HELD)).alert_silenced_by == ()


def test_peers_out_of_step_count_together(canned):
    """A silence that only one peer knows is in force; a peer that is away does not matter."""
    first = canned(lambda asked: [])
    second = canned(real)
    away = canned(lambda asked: Answer(503))
    labels = HELD["labels"]
    peers = AlertmanagerSilences([first.url, away.url, second.url])
    facts = peers.read(labels["node"], labels["alertname"], level_of(HELD))
    assert facts.alert_silenced_by == tuple(HELD["status"]["silencedBy"])


def test_a_silence_that_has_expired_holds_nothing(canned):
    """silencedBy lags behind: only silences that are active count."""
    expired = [{**found, "status": {"state": "expired"}} for found in SILENCES]
    server = canned(lambda asked: expired if asked.path.endswith("/silences") else ALERTS)
    labels = HELD["labels"]
    facts = AlertmanagerSilences([server.url]).read(labels["node"], labels["alertname"], level_of(HELD))
    assert facts == SilenceFacts((), (), HELD["labels"])


@pytest.mark.parametrize("answer", [{"not": "a list"}, [{"id": "x"}], b"<html>", b"[", Answer(200, [[]])])
def test_what_cannot_be_understood_is_unknown(canned, answer):
    """Garbage is not "nothing is silenced"."""
    server = canned(lambda asked: answer if isinstance(answer, Answer) else Answer(body=answer))
    assert isinstance(AlertmanagerSilences([server.url]).read("n1", "a", None), Unknown)


def test_labels_are_quoted_in_filters_and_headers_are_sent(canned):
    """A node's name cannot leave its quotes; a token goes along."""
    server = canned(lambda asked: [])
    peers = AlertmanagerSilences([server.url], headers={"Authorization": "Bearer t"})
    peers.read('n1",x="', "NodeMemoryPressure", None)
    (asked,) = [found for found in server.asked if found.path.endswith("/alerts")]
    assert unquote(asked.query["filter"][1]) == 'node="n1\\",x=\\""'
    assert asked.headers["Authorization"] == "Bearer t"


def test_the_last_answer_serves_at_red_only_where_the_policy_says_so(canned):
    """Off by default; switched on it serves at RED, and nowhere else."""
    server = canned(real)
    kept, strict = (
        AlertmanagerSilences([server.url], keep_for_red_seconds=lambda: 600),
        AlertmanagerSilences([server.url]),
    )
    for silences in (kept, strict):
        silences.read("n1", "a", None)
    server.answer = lambda asked: Answer(503)
    assert isinstance(strict.read("n1", "a", Level.RED), Unknown)
    assert isinstance(kept.read("n1", "a", Level.ORANGE), Unknown)
    assert {found.id for found in kept.read("n1", "a", Level.RED).silences} >= set(HELD["status"]["silencedBy"])


def test_no_peer_configured_is_unknown():
    """Without anybody to ask nothing is known."""
    assert isinstance(AlertmanagerSilences([]).read("n1", "a", None), Unknown)
    assert AlertmanagerSilences([]).ready()
