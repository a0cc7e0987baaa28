"""What a bench says at its end."""

import json

import pytest

from tests.bench import verdict


@pytest.mark.parametrize(
    ("ratios", "status", "said"),
    [
        ({"cpu": 0.5}, 0, "ok  "),
        ({"cpu": 0.7}, 0, "ok  "),
        ({"cpu": 0.71}, 1, "MISS"),
        ({}, 0, "n/a  not measured: cpu"),
    ],
)
def test_a_missed_bound_is_said_and_ends_with_status_1(ratios, status, said, tmp_path, monkeypatch, capsys):
    """At the bound holds; what could not be measured is said, and is no failure."""
    monkeypatch.setattr(verdict, "BUILD", tmp_path)
    assert verdict.conclude("x", {"seconds": 1}, ratios, {"cpu": 0.7}, not_compared={"c": "no compiler"}) == status
    assert said in capsys.readouterr().out
    written = json.loads((tmp_path / "x.json").read_text())
    assert (written["ratios"], written["must"], written["figures"]["seconds"]) == (ratios, {"cpu": 0.7}, 1)
    assert written["not_compared"] == {"c": "no compiler"}
    assert "| x | cpu |" in verdict.table()
