from __future__ import annotations

import json
import math
from decimal import Decimal as Number

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.plan.aggregate_oracle import alike, answer_of, constants, engine_batch, sql
from tests.unit.plan.generated import rows
from tests.unit.plan.log_files import files_of

from indextables.errors import IndexTablesError
from indextables.expr.aggregation import parse_aggregation
from indextables.model.types import Array, Atomic, Decimal, Field, Struct
from indextables.plan.aggregates import plan_aggregation
from indextables.plan.columns import describe_columns
from indextables.plan.finals import finish, plan_complete
from indextables.plan.partials import complete_partial, merge_partials, partials_from_log

SCHEMA = Struct(
    (
        Field("flag", Atomic("boolean")),
        Field("small", Atomic("short")),
        Field("n", Atomic("integer")),
        Field("price", Atomic("double")),
        Field("cost", Decimal(9, 2)),
        Field("name", Atomic("string")),
        Field("day", Atomic("date")),
        Field("message", Atomic("string")),
        Field("data", Atomic("binary")),
        Field("p", Atomic("integer")),
        Field("q", Atomic("string")),
    )
)
PARTITIONS = ("p", "q")
COLUMNS = describe_columns(
    SCHEMA, PARTITIONS, {"indextables.indexing": '{"message":{"role":"text"},"small":{},"cost":{}}'}
)
TEXT = Atomic("string")
COLLATED = Atomic("string collate UTF8_LCASE")
KEYS = ("message", "data", "flag", "n", "price", "name", "day", "p", "q")
NUMBERS = ("small", "n", "price", "cost", "p")
EXTREMES = (*NUMBERS, "flag", "name", "day", "q", "message", "data")


def function(op, column=None, distinct=False):
    if column is None:
        return {"agg": op}
    return {"agg": op, "args": [{"col": [column]}], "distinct": distinct}


def request(keys, functions):
    return parse_aggregation(
        {
            "group_by": [{"col": [name]} for name in keys],
            "functions": [function(*f) for f in functions],
        }
    )


FUNCTIONS = st.one_of(
    st.just(("COUNT_STAR", None, False)),
    st.tuples(st.just("COUNT"), st.sampled_from(EXTREMES), st.just(False)),
    st.tuples(st.just("SUM"), st.sampled_from(NUMBERS), st.just(False)),
    st.tuples(st.sampled_from(["MIN", "MAX"]), st.sampled_from(EXTREMES), st.just(False)),
)
AVERAGES = st.tuples(st.just("AVG"), st.sampled_from(["small", "n", "price"]), st.just(False))


@st.composite
def splits(draw):
    groups = draw(st.lists(st.lists(rows(SCHEMA), max_size=5), max_size=4))
    for group in groups:
        for row in group:
            row.update({name: group[0][name] for name in PARTITIONS})
            if row["price"] is not None and not math.isfinite(row["price"]):
                row["price"] = math.nan
            elif row["price"] is not None:
                # sums that do not depend on the order
                row["price"] = float(round(math.fmod(row["price"], 1000)))
    return [group for group in groups if group]


def partials(groups, plan):
    batches = [
        complete_partial(engine_batch(group, plan), plan, constants(group[0], SCHEMA, PARTITIONS))
        for group in groups
    ]
    return pa.Table.from_batches(batches, plan.schema)


def assert_same(table, keys, expected):
    found = answer_of(table, keys)
    assert found.keys() == expected.keys()
    for group, values in expected.items():
        assert all(alike(a, b) for a, b in zip(found[group], values, strict=True)), group


@settings(max_examples=150, deadline=None)
@given(
    splits(),
    st.lists(st.sampled_from(KEYS), max_size=3, unique=True),
    st.lists(FUNCTIONS, min_size=1, max_size=4),
)
def test_merged_partials_are_sqls_answer(groups, keys, functions):
    plan = plan_aggregation(request(keys, functions), COLUMNS)
    assert plan is not None
    merged = merge_partials(partials(groups, plan), plan)
    everything = [row for group in groups for row in group]
    if not groups and keys:
        assert merged.num_rows == 0
    else:
        assert_same(merged, len(keys), sql(everything, keys, functions))


@settings(max_examples=150, deadline=None)
@given(
    splits(),
    st.lists(st.sampled_from(KEYS), max_size=2, unique=True),
    st.lists(st.one_of(FUNCTIONS, AVERAGES), min_size=1, max_size=3),
    st.sampled_from(["name", "n", "price", "p", "day"]),
    st.lists(st.sampled_from(["COUNT", "SUM", "AVG"]), max_size=2),
)
def test_complete_answers_count_distinct_values_and_divide(groups, keys, functions, column, ops):
    if column in ("name", "day"):
        ops = [op for op in ops if op == "COUNT"]
    functions = [*functions, *((op, column, True) for op in ops)]
    plan = plan_complete(request(keys, functions), COLUMNS)
    assert plan is not None
    answer = finish(partials(groups, plan.partial), plan)
    everything = [row for group in groups for row in group]
    if not groups and keys:
        assert answer.num_rows == 0
    else:
        assert_same(answer, len(keys), sql(everything, keys, functions))


@settings(max_examples=100, deadline=None)
@given(
    splits(),
    st.lists(st.sampled_from(PARTITIONS), max_size=2, unique=True),
    st.lists(
        st.sampled_from([("COUNT_STAR", None, False), ("COUNT", "p", False), ("MIN", "q", False),
                         ("MAX", "p", False), ("SUM", "p", False)]), min_size=1, max_size=3),
)  # fmt: skip
def test_log_alone_answers_about_partitions(groups, keys, functions):
    plan = plan_aggregation(request(keys, functions), COLUMNS)
    assert plan is not None
    assert plan.from_log
    files = files_of(groups, SCHEMA, PARTITIONS)
    found = partials_from_log(files, plan, SCHEMA, PARTITIONS)
    everything = [row for group in groups for row in group]
    expected = sql(everything, keys, functions) if groups or not keys else {}
    assert_same(merge_partials(found, plan), len(keys), expected)


def test_log_counts_only_live_rows():
    plan = plan_aggregation(request([], [("COUNT_STAR", None)]), COLUMNS)
    files = pa.table(
        {
            "partitionValues": pa.array([[], []], pa.map_(pa.string(), pa.string())),
            "numRecords": pa.array([10, 5], pa.int64()),
            "deletionVector": pa.array([{"cardinality": 3}, None]),
        }
    )
    found = partials_from_log(files, plan, SCHEMA, PARTITIONS)
    assert merge_partials(found, plan).column(0).to_pylist() == [12]
    unknown = files.set_column(1, "numRecords", pa.array([10, None], pa.int64()))
    assert partials_from_log(unknown, plan, SCHEMA, PARTITIONS) is None


@pytest.mark.parametrize(
    "functions",
    [
        [("SUM", "name")],
        [("COUNT", "n", True)],
        [("STD", "n")],
    ],
)
def test_what_the_index_cannot_fold_is_left_to_spark(functions):
    assert plan_aggregation(request([], functions), COLUMNS) is None


def test_what_has_no_whole_value_is_no_group_key():
    nested = Struct((Field("a", Array(Atomic("long"))), Field("ci", COLLATED), Field("t", TEXT)))
    hidden = {"indextables.indexing": '{"t":{"role":"text","stored":false}}'}
    columns = describe_columns(nested, (), hidden)
    for name in ("a", "ci", "t"):
        assert plan_aggregation(request([name], []), columns) is None
        assert plan_aggregation(request([], [("MIN", name)]), columns) is None


def test_result_types_are_those_of_sparks_partial_aggregates():
    functions = [
        ("SUM", "small"),
        ("SUM", "price"),
        ("SUM", "cost"),
        ("MIN", "day"),
        ("COUNT", "n"),
    ]
    plan = plan_aggregation(request(["name"], functions), COLUMNS)
    assert plan.schema.types == [
        pa.string(),
        pa.int64(),
        pa.float64(),
        pa.decimal128(19, 2),
        pa.date32(),
        pa.int64(),
    ]


def test_same_function_is_asked_once():
    functions = [("SUM", "n"), ("COUNT_STAR", None), ("SUM", "n"), ("MAX", "p")]
    plan = plan_aggregation(request([], functions), COLUMNS)
    assert plan.request["functions"] == [{"op": "sum", "field": "n"}, {"op": "count_star"}]


def test_sums_beyond_a_long_fail_in_ansi_mode_and_wrap_otherwise():
    plan = plan_aggregation(request([], [("SUM", "n")]), COLUMNS)
    halves = pa.table({"agg_func_0": pa.array([2**62, 2**62], pa.int64())}, schema=plan.schema)
    assert merge_partials(halves, plan).column(0).to_pylist() == [-(2**63)]
    with pytest.raises(IndexTablesError, match="ARITHMETIC_OVERFLOW"):
        merge_partials(halves, plan, ansi=True)


def test_sums_of_partition_decimals_keep_their_scale():
    schema = Struct((Field("d", Decimal(5, 2)),))
    columns = describe_columns(schema, ("d",))
    plan = plan_aggregation(request([], [("SUM", "d")]), columns)
    files = pa.table(
        {
            "partitionValues": pa.array([[("d", "1.25")]], pa.map_(pa.string(), pa.string())),
            "numRecords": pa.array([4], pa.int64()),
        }
    )
    assert partials_from_log(files, plan, schema, ("d",)).column(0).to_pylist() == [Number("5.00")]


TIMES = describe_columns(
    Struct(
        (
            Field("at", Atomic("timestamp")),
            Field("day", Atomic("date")),
            Field("n", Atomic("long")),
            Field("x", Atomic("double")),
        )
    )
)


def lit(value, kind):
    return {"lit": value, "type": kind}


def bucket(op, column, *args, cast=None, zone=""):
    subject = {"col": [column]}
    if cast:
        subject = {"op": "CAST", "args": [subject], "type": cast}
    key = {"op": op, "args": [subject, *args]}
    plan = plan_aggregation(parse_aggregation({"group_by": [key]}), TIMES, time_zone=zone)
    return plan and plan.request["group_by"][0]


def test_buckets_are_asked_of_the_engine_where_they_mean_the_same():
    hour = bucket("indextables_date_histogram", "at", lit("1h", "string"))
    assert hour == {"date_histogram": {"field": "at", "interval_us": 3_600_000_000, "offset_us": 0}}
    quarters = bucket("indextables_date_histogram", "at", lit("2q", "string"), lit("-5m", "string"))
    assert quarters == {
        "date_histogram": {"field": "at", "interval_months": 6, "offset_us": -300_000_000}
    }
    year = bucket("TRUNC", "day", lit("yyyy", "string"))
    assert year == {"date_trunc": {"field": "day", "unit": "year"}}
    tens = bucket("indextables_histogram", "n", lit(10.0, "double"), cast="double")
    assert tens == {"histogram": {"field": "n", "interval": 10.0, "offset": 0.0}}
    low = (lit("low", "string"), lit(None, "double"), lit(9.5, "double"))
    assert bucket("indextables_range", "x", *low) == {
        "range": {"field": "x", "ranges": [{"name": "low", "from": None, "to": 9.5}]}
    }


def test_buckets_that_spark_sees_otherwise_are_left_to_spark():
    # these are rejected before Spark plans anything
    for interval in ("0m", "-1h", "1x", "1 x", "99999999999999d"):
        assert bucket("indextables_date_histogram", "at", lit(interval, "string")) is None
    assert bucket("indextables_date_histogram", "at", lit(None, "string")) is None
    for interval in (0.0, -1.0, float("nan"), None):
        assert bucket("indextables_histogram", "x", lit(interval, "double")) is None
    # a timestamp as a double is seconds, which the engine does not support
    assert bucket("indextables_histogram", "at", lit(9.0, "double"), cast="double") is None
    unnamed = (lit(None, "string"), lit(None, "double"), lit(9.5, "double"))
    assert bucket("indextables_range", "x", *unnamed) is None


def date_trunc(unit, zone, *clock):
    key = {"op": "date_trunc", "args": [lit(unit, "string"), {"col": ["at"]}, *clock]}
    plan = plan_aggregation(parse_aggregation({"group_by": [key]}), TIMES, time_zone=zone)
    return plan and plan.request["group_by"][0]["date_trunc"]


def test_times_are_cut_by_the_clock_that_is_given():
    day = {"field": "at", "unit": "day"}
    assert date_trunc("DAY", "UTC") == day
    clock = {"offset": 3208, "transitions": [[-2422054408, 3600]], "rules": []}
    given = lit(json.dumps(clock), "string")
    assert date_trunc("day", "UTC", given) == {**day, "clock": clock}
    assert date_trunc("day", "Europe/Berlin", given) == {**day, "clock": clock}
    assert date_trunc("DAY", "Europe/Berlin") is None
    assert date_trunc("SECOND", "Europe/Berlin", given) == {"field": "at", "unit": "second"}


def test_days_become_moments_only_in_a_known_zone():
    args = ("indextables_date_histogram", "day", lit("1d", "string"))
    assert bucket(*args, cast="timestamp") is None
    assert bucket(*args, cast="timestamp", zone="America/New_York") is None
    assert bucket(*args, cast="timestamp", zone="UTC") is not None
