"""Periods as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediator.core.report.period import PeriodError, period

NOW = 1_796_428_800.0
DAY = 86_400.0


@pytest.mark.parametrize(
    ("since", "until", "wanted"),
    [
        ("14d", None, (NOW - 14 * DAY, NOW)),
        ("1.5h", None, (NOW - 5400, NOW)),
        ("2w", "1796420000", (1796420000 - 14 * DAY, 1796420000)),
        ("2026-12-04T00:00:00Z", None, (1796342400.0, NOW)),
        ("1796342400", "2026-12-04T12:00:00+01:00", (1796342400.0, 1796382000.0)),
    ],
)
def test_a_period_is_a_length_or_two_moments(since: str, until: str | None, wanted: tuple[float, float]) -> None:
    """A length counts back from the end; moments carry their zone."""
    assert period(since, until, NOW) == wanted


@pytest.mark.parametrize(
    ("since", "until", "names"),
    [
        ("yesterday", None, "since="),
        ("14", None, "longer than a year"),
        ("2026-12-04T00:00:00", None, "since="),
        ("-3d", None, "since="),
        ("14d", "3d", "until="),
        ("0d", None, "not before"),
        ("2030-01-01T00:00:00Z", None, "not before"),
        ("900d", None, "longer than a year"),
    ],
)
def test_what_is_no_period_is_refused_with_what_to_write(since: str, until: str | None, names: str) -> None:
    """The sentence names the part, and shows how it is written."""
    with pytest.raises(PeriodError, match=names):
        period(since, until, NOW)


@given(since=st.text(max_size=50), until=st.none() | st.text(max_size=50))
def test_any_text_is_a_period_or_refused(since: str, until: str | None) -> None:
    """Nothing else comes out."""
    try:
        begin, end = period(since, until, NOW)
    except PeriodError as refused:
        assert str(refused)
    else:
        assert begin < end
