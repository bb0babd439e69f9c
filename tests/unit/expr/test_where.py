from __future__ import annotations

from decimal import Decimal as Number

import pyarrow as pa
import pytest

from indextables.errors import InvalidError
from indextables.expr.binding import bind
from indextables.expr.evaluate import evaluate
from indextables.expr.where import parse_partition_where, parse_where
from indextables.model.types import Atomic, Decimal, Field, Struct

SCHEMA = Struct(
    (
        Field("Year", Atomic("integer")),
        Field("name", Atomic("string")),
        Field("day", Atomic("date")),
        Field("ok", Atomic("boolean")),
        Field("price", Decimal(5, 2)),
        Field("when", Atomic("timestamp")),
        Field("who", Struct((Field("age", Atomic("long")), Field("Home.Town", Atomic("string"))))),
    )
)
ROWS = 4
VALUES = {
    ("Year",): pa.array([9, 10, 2024, None], pa.int32()),
    ("name",): pa.array(["a", "ab", "it's", None]),
    ("day",): pa.array([0, 1, 19723, None], pa.int32()).cast(pa.date32()),
    ("ok",): pa.array([True, False, None, True]),
    ("price",): pa.array([Number(1), Number(2), Number(3), None], pa.decimal128(5, 2)),
    ("who", "age"): pa.array([1, 2, None, 4], pa.int64()),
    ("who", "Home.Town"): pa.array(["Rome", "Oslo", None, None]),
    ("when",): pa.array([0, 1_000_000, 2, None], pa.int64()).cast(pa.timestamp("us", tz="UTC")),
}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("year > 9", [1, 2]),
        ("9 < Year", [1, 2]),
        ("year > 9.5", [1, 2]),
        ("year = 9.5 OR 10.0 = year", [1]),
        ("year <> 9.5", [0, 1, 2]),
        ("year IN (9, 10.25)", [0]),
        ("year BETWEEN 8.5 AND 10.75", [0, 1]),
        ("year IS DISTINCT FROM -9.5", [0, 1, 2, 3]),
        ("who.age >= 2", [1, 3]),
        ("WHO.AGE > 1.5 AND who.`Home.Town` = 'Oslo'", [1]),
        ("who.`home.town` IS NULL", [2, 3]),
        ("`Year` = '10'", [1]),
        ("year != 10", [0, 2]),
        ("year <> 10 AND name LIKE 'a%'", [0]),
        ("year IN (9, 2024) OR name = 'ab'", [0, 1, 2]),
        ("NOT (year IN (9))", [1, 2]),
        ("year NOT IN (9)", [1, 2]),
        ("year BETWEEN 9 AND 10", [0, 1]),
        ("year NOT BETWEEN 9 AND 10", [2]),
        ("year IS NULL", [3]),
        ("year IS NOT NULL", [0, 1, 2]),
        ("year = NULL", []),
        ("year <=> NULL", [3]),
        ("year IS NOT DISTINCT FROM NULL", [3]),
        ("year IS DISTINCT FROM NULL", [0, 1, 2]),
        ("year IS DISTINCT FROM 9", [1, 2, 3]),
        ("name = 'it\\'s'", [2]),
        ("startswith(name, 'a')", [0, 1]),
        ("name NOT LIKE 'a%'", [2]),
        ("name ILIKE 'A%'", [0, 1]),
        ("name NOT ILIKE '%B%'", [0, 2]),
        ("name ILIKE 'aB' OR name ILIKE 'I%S'", [1, 2]),
        ("name ILIKE '%'", [0, 1, 2]),
        ("name ILIKE ''", []),
        ("name NOT ILIKE ''", [0, 1, 2]),
        ("day >= '1970-01-02'", [1, 2]),
        ("day = DATE '2024-01-01'", [2]),
        ("when = TIMESTAMP '1970-01-01 00:00:01'", [1]),
        ("ok", [0, 3]),
        ("not ok", [1]),
        ("ok = false", [1]),
        ("price >= 1.50", [1, 2]),
        ("year > -1 and -1 < year", [0, 1, 2]),
        ("year >= 1e1 AND year < 2.0e+3", [1]),
        ("year > 9.5e0 AND year < 20240E-1", [1]),
        ("year > 95e-1 AND Year <> 10L", [2]),
        ("price > 1.5BD AND price < .3e1", [1]),
        ("price IN (1., 2.0D)", [0, 1]),
    ],
)
def test_rows_are_chosen(text, rows):
    truth = evaluate(bind(parse_where(text, SCHEMA), SCHEMA), VALUES, ROWS)
    assert [i for i, value in enumerate(truth.to_pylist()) if value] == rows


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nope = 1", "there is no column `nope`"),
        ("year =", "expected a column or a value"),
        ("year", "expected a comparison"),
        ("1 = 1", "one side of a test must be a column"),
        ("year = day", "two columns cannot be compared here"),
        ("year = 'x'", "`x` is not a value of type integer"),
        ("year = '1.5'", "`1.5` is not a value of type integer"),
        ("who = 1", "a nested column is not compared as a whole"),
        ("who.nope = 1", "`who` has no member `nope`"),
        ("year.x = 1", "`Year` has no members"),
        ("name = 5", "`5` is not a value of type string"),
        ("day = '2024-02-30'", "`2024-02-30` is not a value of type date"),
        ("year >< 1", "`><` is not a comparison"),
        ("year = = 1", "expected a column or a value, found `=`"),
        ("year = 1e", "expected a number, found `1e`"),
        ("year = 1.5.2", "expected a number, found `1`"),
        ("year = 1 extra", "expected the end, found `extra`"),
        ("(year = 1", "expected `)`"),
        ("year NOT = 1", "expected IN, BETWEEN, LIKE, ILIKE or RLIKE"),
        ("length(name) = 1", "the function `length` is not understood here"),
        ("name ILIKE 'é%'", "ILIKE takes a text of ASCII characters here"),
    ],
)
def test_bad_predicate_is_named(text, problem):
    with pytest.raises(InvalidError) as caught:
        parse_where(text, SCHEMA)
    assert caught.value.code == "CONDITION_INVALID"
    assert f"Invalid condition: {text}" in str(caught.value)
    assert problem in str(caught.value)


def test_a_bad_choice_of_partitions_is_named():
    with pytest.raises(InvalidError) as caught:
        parse_partition_where("year NOT = 1", SCHEMA)
    assert caught.value.code == "PARTITION_PREDICATE"
    assert "Invalid partition predicate: year NOT = 1 (expected IN" in str(caught.value)
