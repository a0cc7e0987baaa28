"""A policy file that changes under a running remediator."""

from pathlib import Path

import pytest

from remediator.config import load_policy
from remediator.config.watched import Reload, WatchedPolicy
from remediator.core.model import Mode, Unknown

OBSERVE, ENFORCE, BAD = "mode: observe\n", "mode: enforce\n", "mode: enforse\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A policy file in observe mode."""
    found = tmp_path / "policy.yaml"
    found.write_text(OBSERVE)
    return found


def watch(file: Path) -> WatchedPolicy:
    """Started with what the file holds now."""
    return WatchedPolicy(load_policy(file), file, lambda: 100.0)


def test_a_good_file_replaces_the_policy_and_its_hash(file: Path) -> None:
    """Once; the same content again is no news."""
    watched = watch(file)
    before = watched.config_hash
    file.write_text(ENFORCE)
    assert [watched.reload(), watched.reload()] == [Reload.REPLACED, Reload.UNCHANGED]
    assert watched.policy.mode is Mode.ENFORCE
    assert watched.config_hash != before


@pytest.mark.parametrize("content", [BAD, "mode: [", "\x00", None], ids=["typo", "no-yaml", "garbage", "gone"])
def test_a_bad_file_keeps_the_last_good_policy_and_says_why(file: Path, content: str | None) -> None:
    """A typo never becomes a default, a vanished file neither; told once, until it is mended."""
    file.write_text(ENFORCE)
    watched = watch(file)
    file.unlink() if content is None else file.write_text(content)
    assert [watched.reload(), watched.reload()] == [Reload.REFUSED, Reload.UNCHANGED]
    assert watched.policy.mode is Mode.ENFORCE
    assert str(file) in watched.problems[0]
    file.write_text(ENFORCE)
    assert (watched.reload(), watched.problems) == (Reload.MENDED, ())


def test_a_file_that_is_bad_in_another_way_is_told_again(file: Path) -> None:
    """Whoever mends it wants to know what is left."""
    watched = watch(file)
    file.write_text(BAD)
    watched.reload()
    file.write_text("mode: observe\nundeclared: everybody\n")
    assert watched.reload() is Reload.REFUSED
    assert "undeclared" in watched.problems[0]


@pytest.mark.parametrize(
    ("content", "field"),
    [("taint: {key: other}\n", "taint"), ("timers: {resync_seconds: 30}\n", "timers.resync_seconds")],
)
def test_what_cannot_change_while_running_is_refused_with_the_way_out(file: Path, content: str, field: str) -> None:
    """It is not silently ignored: restart, says the problem."""
    watched = watch(file)
    file.write_text(content)
    assert watched.reload() is Reload.REFUSED
    assert field in watched.problems[0]
    assert "restart" in watched.problems[0]


def test_a_swapped_link_is_seen(tmp_path: Path) -> None:
    """As a mounted ConfigMap changes: the file is a link to a link that is swapped."""
    for name, content in (("one", OBSERVE), ("two", ENFORCE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text(content)
    (tmp_path / "data").symlink_to("one")
    (tmp_path / "policy.yaml").symlink_to("data/policy.yaml")
    watched = watch(tmp_path / "policy.yaml")
    (tmp_path / "fresh").symlink_to("two")
    (tmp_path / "fresh").rename(tmp_path / "data")
    assert watched.reload() is Reload.REPLACED


def test_without_a_file_nothing_changes() -> None:
    """The shipped policy is in force."""
    watched = WatchedPolicy(load_policy(Path("/dev/null")), None, lambda: 0.0)
    assert watched.reload() is Reload.UNCHANGED


KOORDINATOR = "koordinator: {strategies: [BEMemoryEvict], config_map: koordinator-system/slo-controller-config}\n"


class ConfigMaps:
    """The one ConfigMap, as it is read."""

    def __init__(self, text: str | Unknown | None) -> None:
        self.text, self.asked = text, []

    def __call__(self, name: str) -> str | Unknown | None:
        self.asked.append(name)
        return self.text


def from_config_map(tmp_path: Path, text: str | Unknown | None) -> tuple[WatchedPolicy, ConfigMaps]:
    """A policy whose thresholds come from the ConfigMap."""
    file, live = tmp_path / "policy.yaml", ConfigMaps(text)
    file.write_text(KOORDINATOR)
    return WatchedPolicy(load_policy(file), file, lambda: 100.0, live), live


def percent(watched: WatchedPolicy) -> float | None:
    """Threshold in force over the cluster; None: no strategy runs."""
    found = watched.policy.koordinator
    return found.cluster.memory_evict_threshold_percent if found.strategies else None


def test_koordinators_config_map_is_followed(tmp_path: Path) -> None:
    """Nothing runs before it was read; a change is in force with the next look."""
    watched, live = from_config_map(tmp_path, '{"clusterStrategy": {"memoryEvictThresholdPercent": 71}}')
    assert percent(watched) is None
    assert (watched.reload(), percent(watched)) == (Reload.REPLACED, 71)
    live.text = '{"clusterStrategy": {"memoryEvictThresholdPercent": 75}}'
    assert (watched.reload(), percent(watched), watched.reload()) == (Reload.REPLACED, 75, Reload.UNCHANGED)
    assert set(live.asked) == {"koordinator-system/slo-controller-config"}


@pytest.mark.parametrize(
    "text", ["{", "[]", None, Unknown("kubernetes", "gone")], ids=["no-json", "no-object", "no-map", "unreadable"]
)
def test_a_config_map_that_cannot_be_read_keeps_the_last_good_thresholds(
    tmp_path: Path, text: str | Unknown | None
) -> None:
    """Told once, by its name; without a last good one no strategy runs."""
    watched, live = from_config_map(tmp_path, '{"clusterStrategy": {"memoryEvictThresholdPercent": 71}}')
    watched.reload()
    live.text = text
    assert (watched.reload(), percent(watched), watched.reload()) == (Reload.REFUSED, 71, Reload.UNCHANGED)
    assert "koordinator-system/slo-controller-config" in watched.problems[0]
    fresh, _ = from_config_map(tmp_path, text)
    assert (fresh.reload(), percent(fresh)) == (Reload.REFUSED, None)
