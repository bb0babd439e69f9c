from __future__ import annotations

import pytest

from indextables.expr.binding import bind
from indextables.expr.calendar import DAY_MICROS
from indextables.expr.predicate import (
    FALSE,
    UNKNOWN,
    And,
    Approximate,
    Bound,
    Missing,
    Not,
    OneOf,
    Opaque,
    Or,
    Range,
    parse_predicate,
)
from indextables.model.types import Atomic, Decimal, Field, Struct, parse_type

SCHEMA = Struct(
    (
        Field("n", Atomic("integer")),
        Field("big", Atomic("long")),
        Field("x", Atomic("float")),
        Field("d", Atomic("date")),
        Field("at", Atomic("timestamp")),
        Field("m", Decimal(6, 2)),
        Field("s", Atomic("string")),
        Field("ci", Atomic("string collate UTF8_LCASE")),
    )
)


def lit(value, kind):
    return {"lit": value, "type": kind}


def cast(column, kind):
    return {"op": "CAST", "args": [{"col": [column]}], "type": kind}


def bound(op, left, right):
    return bind(parse_predicate({"op": op, "args": [left, right]}), SCHEMA)


def col(name):
    return {"col": [name]}


def at_least(column, value):
    return Range((column,), SCHEMA.get(column).type, Bound(value, inclusive=True), None)


def never(column):
    return OneOf((column,), SCHEMA.get(column).type, ())


def test_casts_to_double_become_bounds_on_the_column():
    assert bound(">", cast("n", "double"), lit(1.5, "double")) == at_least("n", 2)
    assert bound("=", cast("n", "double"), lit(1.5, "double")) == never("n")
    assert bound("<", cast("n", "double"), lit("NaN", "double")) == Range(
        ("n",), Atomic("integer"), None, None
    )


def test_longs_near_a_double_are_all_found():
    found = bound("=", cast("big", "double"), lit(float(2**53), "double"))
    assert isinstance(found, Range)
    assert (found.lower.value, found.upper.value) == (2**53, 2**53 + 1)


def test_literals_beyond_the_column_need_no_index():
    assert bound("=", cast("n", "long"), lit(2**40, "long")) == never("n")
    assert bound("<", cast("n", "long"), lit(2**40, "long")) == Range(
        ("n",), Atomic("integer"), None, None
    )


def test_floats_are_compared_with_the_float_beside_a_double():
    found = bound("<", cast("x", "double"), lit(0.1, "double"))
    # the nearest float is above 0.1
    assert found.upper.inclusive is False
    assert found.upper.value > 0.1
    assert bound("=", cast("x", "double"), lit(0.1, "double")) == never("x")


def test_decimals_are_moved_to_the_columns_scale():
    found = bound("<=", cast("m", "decimal(10,4)"), lit("1.0050", "decimal(10,4)"))
    assert str(found.upper.value) == "1.00"


def test_times_cast_by_a_time_zone_are_narrowed_to_a_day_around():
    found = bound("=", cast("at", "date"), lit(1, "date"))
    assert isinstance(found, Approximate)
    assert (found.true.lower.value, found.true.upper.value) == (0, 3 * DAY_MICROS - 1)
    assert found.false == Range(("at",), Atomic("timestamp"), None, None)
    below = bound("<", cast("at", "date"), lit(1, "date"))
    assert below.true.upper.value == 2 * DAY_MICROS - 1
    assert below.false.lower.value == 0


def test_times_cast_in_utc_are_solved():
    value = {"op": "=", "args": [cast("at", "date"), lit(1, "date")]}
    found = bind(parse_predicate(value), SCHEMA, "UTC")
    assert (found.lower.value, found.upper.value) == (DAY_MICROS, 2 * DAY_MICROS - 1)


def test_years_become_ranges_of_days():
    year = {"op": "EXTRACT", "args": [col("d")], "field": "YEAR"}
    found = bound("=", year, lit(1970, "integer"))
    assert (found.lower.value, found.upper.value) == (0, 364)
    month = {"op": "EXTRACT", "args": [col("d")], "field": "MONTH"}
    assert isinstance(bound("=", month, lit(1, "integer")), Opaque)


@pytest.mark.parametrize("kind", ["integer", "date", "double"])
def test_casts_of_text_are_left_to_spark(kind):
    assert isinstance(bound("=", cast("s", kind), lit(1, kind)), Opaque)


def test_collated_text_is_left_to_spark():
    assert isinstance(bound("=", col("ci"), lit("a", "string collate UTF8_LCASE")), Opaque)


def test_null_literals_decide_alone():
    assert bound("=", col("n"), lit(None, "integer")) == UNKNOWN
    assert bound("<=>", col("n"), lit(None, "integer")) == Missing(("n",), Atomic("integer"))


def test_null_safe_equality_is_never_unknown():
    found = bound("<=>", col("n"), lit(1, "integer"))
    kind = Atomic("integer")
    assert found == And((Not(Missing(("n",), kind)), OneOf(("n",), kind, (1,))))


def test_membership_in_nothing_is_false():
    assert bind(parse_predicate({"op": "IN", "args": [col("n")]}), SCHEMA) == FALSE


@pytest.mark.parametrize(
    ("subject", "kind", "values"),
    [
        (col("n"), "integer", [3, 1, 3]),
        (col("n"), "long", [3, 2**40]),
        (cast("n", "long"), "long", [3, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**40, 3]),
        (cast("n", "long"), "long", [2**40]),
        (cast("n", "decimal(12,1)"), "decimal(12,1)", ["3.0", "3.5"]),
        (col("d"), "date", [3, 4]),
        (col("at"), "timestamp", [3, 4]),
        (col("m"), "decimal(6,2)", ["1.50", "2.00"]),
        (col("x"), "float", [0.0, -0.0, 0.1]),
        (col("s"), "string", ["a", "", {"base64": "/w=="}, "a"]),
        (col("ci"), "string collate UTF8_LCASE", ["a", "A"]),
        (col("missing"), "long", [1, 2]),
    ],
)
def test_keys_of_joins_are_bound_like_a_list_of_literals(subject, kind, values):
    keys = {"op": "IN", "args": [subject], "type": kind, "values": values}
    items = {"op": "IN", "args": [subject, *(lit(value, kind) for value in values)]}
    assert bind(parse_predicate(keys), SCHEMA) == bind(parse_predicate(items), SCHEMA)


def test_timestamps_of_a_join_find_the_dates_that_may_begin_with_them():
    midnight = 100 * DAY_MICROS
    keys = {
        "op": "IN",
        "args": [cast("d", "timestamp")],
        "keys": 2,
        "type": "timestamp",
        "values": [midnight, midnight + 1],
    }
    date = Atomic("date")
    assert bind(parse_predicate(keys), SCHEMA, "UTC") == OneOf(("d",), date, (100,))
    elsewhere = bind(parse_predicate(keys), SCHEMA, "Asia/Kolkata")
    assert isinstance(elsewhere, Approximate)
    assert elsewhere.true == OneOf(("d",), date, (99, 100, 101))


def test_a_null_among_the_keys_matches_rows_without_a_value():
    keys = {"op": "IN", "args": [col("n")], "type": "integer", "values": [1, None]}
    kind = Atomic("integer")
    expected = Or((OneOf(("n",), kind, (1,)), Missing(("n",), kind)))
    assert bind(parse_predicate(keys), SCHEMA) == expected


def test_types_come_as_text_or_as_json():
    struct = '{"type":"struct","fields":[]}'
    for written in ("long", '"long"', struct, {"type": "struct", "fields": []}):
        value = {"op": "IS_NULL", "args": [lit(None, written)]}
        assert bind(parse_predicate(value), SCHEMA).value is True
    assert parse_type("long") == Atomic("long")


def test_unknown_columns_and_functions_are_opaque_and_say_what_they_touch():
    found = bound("=", {"op": "UPPER", "args": [col("s")]}, lit("A", "string"))
    assert found == Opaque("UPPER", frozenset({("s",)}))
    assert isinstance(bound("=", col("_score"), lit(1.0, "float")), Opaque)
