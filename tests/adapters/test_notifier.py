"""Notices on their way to people: Apprise and signed webhooks over real HTTP; nobody is held up."""

import hashlib
import hmac
import json
import logging
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from remediator.adapters import notifier
from remediator.adapters.notifier import LogNotifier, RoutedNotifier
from remediator.core.routing import NotificationTarget
from remediator.core.state import Notice
from tests.adapters.canned import Answer

RED = Notice("level:RED", "critical", "Node n1 is RED", "evict batch/spark-1\nevict batch/<b>spark</b>-2")
CONTEXT = {"node": "n1", "mode": "enforce", "episode_id": "n1-abc", "actions": []}


@pytest.fixture
def addressed(tmp_path):
    """A target whose file holds this address."""

    def target(url: str, name: str = "ops", **more) -> NotificationTarget:
        file = tmp_path / name
        file.write_text(f"# the address\n{url}\n")
        return NotificationTarget(name, url_file=str(file), **more)

    return target


def told(*targets: NotificationTarget, notice: Notice = RED) -> None:
    """One notice, sent until the end."""
    people = RoutedNotifier(lambda: targets)
    people.notify(notice, CONTEXT)
    people.close()


def failed(name: str) -> float:
    """How many notices this target did not take."""
    return REGISTRY.get_sample_value("remediator_notices_failed_total", {"target": name}) or 0.0


def test_apprise_gets_title_steps_and_where_it_came_from(canned, addressed, caplog):
    """And the log gets every notice, whoever else does."""
    server = canned(lambda asked: {})
    with caplog.at_level(logging.INFO):
        told(addressed(server.url.replace("http://", "json://")))
    (asked,) = server.asked
    assert asked.body["title"] == RED.title
    assert "evict batch/spark-1" in asked.body["message"]
    assert "n1-abc" in asked.body["message"]
    assert "Node n1 is RED" in caplog.text


def test_a_webhook_s_json_is_signed_with_its_time(canned, addressed, tmp_path):
    """HMAC-SHA256 over `TIMESTAMP.BODY`: whoever has the key can tell that it is ours, and fresh."""
    server = canned(lambda asked: {})
    (tmp_path / "key").write_text("of-a-test\n")
    told(addressed(server.url, kind="webhook", secret_file=str(tmp_path / "key")))
    (asked,) = server.asked
    assert (asked.body["title"], asked.body["context"]["node"]) == (RED.title, "n1")
    headers = {name.lower(): value for name, value in asked.headers.items()}
    body = json.dumps(asked.body).encode()
    at = headers["x-remediator-timestamp"]
    digest = hmac.new(b"of-a-test", f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers["x-remediator-signature"] == f"sha256={digest}"


@pytest.mark.parametrize("kind", ["webhook", "apprise"])
def test_a_target_that_fails_is_tried_thrice_counted_and_named_without_its_address(canned, addressed, caplog, kind):
    """Addresses hold tokens: neither they nor an error's words are logged."""
    server = canned(lambda asked: Answer(500))
    before = failed("down")
    url = server.url if kind == "webhook" else server.url.replace("http://", "json://")
    told(addressed(f"{url}/secret-token", "down", kind=kind))
    assert len(server.asked) == 3
    assert failed("down") == before + 1
    assert "not taken by down" in caplog.text
    assert "secret-token" not in "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("remediator")
    )


@pytest.mark.parametrize("content", [None, "", "no-scheme-at-all"], ids=["no-file", "empty", "nonsense"])
def test_an_address_that_is_none_is_counted(addressed, tmp_path, content):
    """The others are told all the same."""
    target = addressed("x", "odd")
    Path(target.url_file).unlink() if content is None else Path(target.url_file).write_text(content)
    before = failed("odd")
    told(target)
    assert failed("odd") == before + 1


def test_a_target_that_hangs_holds_up_neither_acting_nor_the_others(canned, addressed, monkeypatch):
    """Its queue fills and is counted; the other target has got everything."""
    monkeypatch.setattr(notifier, "QUEUE_LENGTH", 2)
    monkeypatch.setattr(notifier, "_TIMEOUT_SECONDS", 0.2)
    slow, quick = canned(lambda asked: Answer(hang=True)), canned(lambda asked: {})
    targets = [addressed(slow.url, "slow", kind="webhook"), addressed(quick.url, "quick", kind="webhook")]
    people = RoutedNotifier(lambda: targets)
    for number in range(2):
        people.notify(Notice(f"k{number}", "info", "t", "x"), {})
    for _ in range(20):
        people._sender("slow").put((targets[0], (RED, {})))
    people.close()
    assert len(quick.asked) == 2
    assert REGISTRY.get_sample_value("remediator_notices_dropped_total", {"target": "slow"}) > 0


def test_the_log_alone_needs_no_end():
    """Where nobody else is told there is nothing to close."""
    assert LogNotifier().close() is None
