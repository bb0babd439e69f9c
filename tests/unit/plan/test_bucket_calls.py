"""Arguments of bucket functions are normalized, and errors are raised before any row is read."""

from __future__ import annotations

import pytest

from indextables.errors import IndexTablesError
from indextables.model.types import Atomic
from indextables.plan.bucket_calls import NOT_CONSTANT, BucketCall, check_call
from indextables.plan.intervals import parse_interval

LONG, TIME, TEXT = Atomic("long"), Atomic("timestamp"), Atomic("string")
HISTOGRAM, DATES, RANGE = (
    "indextables_histogram",
    "indextables_date_histogram",
    "indextables_range",
)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("5m", "5m"), ("1M", "1M"), ("1 month", "1M"), ("month", "1M"), ("MONTHS", "1M"),
        ("15 minutes", "15m"), ("2 quarters", "2q"), ("year", "1y"), ("1d", "1d"), ("day", "1d"),
        (" 90 Seconds ", "90s"), ("250ms", "250ms"), ("-1h", "-1h"), ("3w", "3w"),
    ],
)  # fmt: skip
def test_an_interval_has_one_spelling(text, spelled):
    assert str(parse_interval(text)) == spelled


@pytest.mark.parametrize(
    "text", ["", "5", "m", "M", "5 x", "1.5h", "1h30m", None, 5, "9999999999d"]
)
def test_what_is_not_an_interval_is_none(text):
    assert parse_interval(text) is None


@pytest.mark.parametrize(
    ("function", "kind", "given", "call"),
    [
        (HISTOGRAM, LONG, [10], BucketCall((10.0, 0.0))),
        (HISTOGRAM, LONG, [10, 2.5, 3], BucketCall((10.0, 2.5), 3)),
        (DATES, TIME, ["1 month"], BucketCall(("1M", "0ms"))),
        (DATES, Atomic("date"), ["day", "-1h", 1], BucketCall(("1d", "-1h"), 1)),
        (RANGE, LONG, ["low", None, 5, "high", 5, None],
         BucketCall(("low", None, 5.0, "high", 5.0, None))),
    ],
)  # fmt: skip
def test_a_call_is_completed(function, kind, given, call):
    assert check_call(function, kind, given) == call


@pytest.mark.parametrize(
    ("function", "kind", "given", "problem"),
    [
        (HISTOGRAM, LONG, [], "called with 1 arguments"),
        (HISTOGRAM, LONG, [1, 2, 3, 4], "called with 5 arguments"),
        (HISTOGRAM, LONG, [0], "above 0"),
        (HISTOGRAM, LONG, [-1], "above 0"),
        (HISTOGRAM, LONG, [None], "above 0"),
        (HISTOGRAM, LONG, [NOT_CONSTANT], "argument 2 must be a constant"),
        (HISTOGRAM, TEXT, [1], "must be a number, not string"),
        (HISTOGRAM, LONG, [1, 0, 1.5], "min_doc_count"),
        (HISTOGRAM, LONG, [1, 0, -1], "min_doc_count"),
        (HISTOGRAM, LONG, [1, 0, 0], "min_doc_count 0 asks for empty buckets"),
        (DATES, TIME, ["1h", "0h", 0], "min_doc_count 0 asks for empty buckets"),
        (DATES, LONG, ["1h"], "must be a date or timestamp, not long"),
        (DATES, TIME, ["0h"], "positive interval"),
        (DATES, TIME, ["soon"], "positive interval.*`soon`"),
        (DATES, TIME, ["1h", "1M"], "fixed length.*`1M`"),
        (RANGE, LONG, [], "called with 1 arguments"),
        (RANGE, LONG, ["a", 1], "called with 3 arguments"),
        (RANGE, LONG, ["a", 0, 10, "b", 9, 20], "`a` and `b` overlap"),
        (RANGE, LONG, ["a", 0, None, "b", 9, 20], "`a` and `b` overlap"),
        (RANGE, LONG, ["a", None, 1, "b", None, 0], "overlap"),
        (RANGE, LONG, ["a", 5, 5], "is empty"),
        (RANGE, LONG, [1, 0, 5], "must be a string"),
        (RANGE, LONG, ["a", "x", 5], "must be numbers or NULL"),
    ],
)
def test_what_is_wrong_with_a_call_is_said(function, kind, given, problem):
    with pytest.raises(IndexTablesError, match=rf"BUCKET_ARGUMENTS.*{problem}.*{function}\("):
        check_call(function, kind, given)
