from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.expr.calendar import parse_date, parse_timestamp, render_date, render_timestamp


@given(st.integers(-(2**31), 2**31 - 1))
def test_every_day_survives_its_text(days):
    assert parse_date(render_date(days)) == days


@given(st.dates())
def test_days_are_those_of_the_calendar(day):
    number = (day - date(1970, 1, 1)).days
    assert render_date(number) == day.isoformat()
    assert parse_date(day.isoformat()) == number


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_moment_survives_its_text(micros):
    assert parse_timestamp(render_timestamp(micros)) == micros


@given(st.datetimes(timezones=st.just(UTC)))
def test_timestamps_of_other_writers_are_parsed(written):
    micros = (written - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert parse_timestamp(written.isoformat()) == micros


@pytest.mark.parametrize("text", ["", "2024", "2024-13-01", "2024-02-30", "x", "2024-01-01 25"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(ValueError):
        parse_timestamp(text)
