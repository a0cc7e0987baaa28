"""Wants: what was expected, compared with what was seen."""

from typing import Any

import pytest

from remediator.drill.scenario import WantSpec
from remediator.drill.wants import NOTHING, evaluate

REPORT = {
    "levels": {"red_at": 470.0, "orange_at": None},
    "evicted": [{"name": "b", "score": 90.0}, {"name": "a", "score": 80.0}],
    "reasons": ["storm_brake", "recovered"],
    "calm": True,
}


@pytest.mark.parametrize(
    ("want", "seen", "ok"),
    [
        ({"what": "levels.red_at", "between": ["7m30s", "8m"]}, 470.0, True),
        ({"what": "levels.red_at", "between": [0, 60]}, 470.0, False),
        ({"what": "levels.orange_at", "equals": None}, None, True),
        ({"what": "levels.orange_at", "between": [0, 60]}, None, False),
        ({"what": "evicted.count", "equals": 2}, 2, True),
        ({"what": "evicted.name", "equals": ["a", "b"]}, ["b", "a"], False),
        ({"what": "evicted.name", "members": ["a", "b"]}, ["b", "a"], True),
        ({"what": "evicted.name", "members": ["a", "b", "b"]}, ["b", "a"], False),
        ({"what": "evicted.score", "descending": True}, [90.0, 80.0], True),
        ({"what": "evicted.nothing", "descending": True}, [None, None], False),
        ({"what": "reasons", "contains": "storm_brake"}, ["storm_brake", "recovered"], True),
        ({"what": "reasons", "contains": "silenced"}, ["storm_brake", "recovered"], False),
        ({"what": "levels.red_at", "at_most": 469}, 470.0, False),
        ({"what": "levels.red_at", "at_least": 470}, 470.0, True),
        ({"what": "calm", "at_least": 0}, True, False),
        ({"what": "levels.rde_at", "equals": None}, NOTHING, False),
    ],
)
def test_comparisons(want: dict[str, Any], seen: Any, ok: bool) -> None:
    """Each comparison holds exactly when it should; a path that is not there fails every one of them."""
    (result,) = evaluate([WantSpec.model_validate(want)], [(600.0, REPORT)])
    assert (result.seen, result.ok) == (seen, ok)


def test_moment_takes_the_first_snapshot_at_or_after_it() -> None:
    """`at` asks what was known then, and no `at` asks the final report."""
    snapshots = [(60.0, {"n": 1}), (120.0, {"n": 2}), (300.0, {"n": 3})]
    wants = [WantSpec.model_validate({"what": "n", "at": at, "equals": 2}) for at in ("1m1s", "2m", "1m")]
    last = WantSpec.model_validate({"what": "n", "equals": 3})
    assert [result.ok for result in evaluate([*wants, last], snapshots)] == [True, True, False, True]
