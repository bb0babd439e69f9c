from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from tests.unit.plan.log_files import TEXTS

from indextables.expr.aggregation import parse_aggregation, parse_order
from indextables.expr.predicate import parse_predicate
from indextables.model.types import Atomic, Field, Struct
from indextables.plan.aggregates import plan_aggregation
from indextables.plan.columns import describe_columns
from indextables.plan.filters import plan_filters
from indextables.plan.prune import prune_splits
from indextables.plan.queries import split_queries
from indextables.plan.scan import ScanPlan, answers_itself, touched_bytes, width_of
from indextables.plan.topk import plan_top

SCHEMA = Struct(
    (
        Field("id", Atomic("long")),
        Field("name", Atomic("string")),
        Field("message", Atomic("string")),
        Field("day", Atomic("date")),
    )
)
COLUMNS = describe_columns(SCHEMA, ["day"], {"indextables.indexing": '{"message":{"role":"text"}}'})
FILES = pa.table(
    {
        "path": ["a", "b"],
        "partitionValues": pa.array([[("day", "2024-01-01")], [("day", "2024-01-02")]], TEXTS),
        "size": [1000, 2000],
        "numRecords": [100_000, 200_000],
        "minValues": pa.array([[], []], TEXTS),
        "maxValues": pa.array([[], []], TEXTS),
    }
)
ON_DAY = {"op": "=", "args": [{"col": ["day"]}, {"lit": 19723, "type": "date"}]}
BY_ID = {"op": "=", "args": [{"col": ["id"]}, {"lit": 7, "type": "long"}]}


def scan(*predicates, aggregation=None, **more):
    filters = plan_filters([parse_predicate(p) for p in predicates], COLUMNS)
    files, counters = prune_splits(FILES, filters.pruning, SCHEMA, ("day",), COLUMNS)
    queries, query_of = split_queries(filters, files, COLUMNS)
    aggregate = plan_aggregation(parse_aggregation(aggregation), COLUMNS) if aggregation else None
    return ScanPlan(
        files, SCHEMA.to_arrow_schema(), filters, tuple(queries), tuple(query_of), counters,
        aggregate, **more
    )  # fmt: skip


def test_a_count_by_day_is_answered_by_the_log():
    count = {"functions": [{"agg": "COUNT_STAR"}]}
    assert scan(aggregation=count).answered_by_log
    assert scan(ON_DAY, aggregation=count).answered_by_log
    assert not scan(BY_ID, aggregation=count).answered_by_log


def test_partition_tests_are_gone_from_what_a_split_is_asked():
    plan = scan(ON_DAY, BY_ID)
    assert plan.files.column("path").to_pylist() == ["a"]
    assert plan.queries == ({"type": "term", "field": "id", "value": 7},)
    assert plan.counters.pruned_by_partition == 1


def test_small_and_bounded_work_needs_no_job():
    limits = {"max_bytes": 1_000_000, "max_rows": 1000}
    assert answers_itself(scan(BY_ID), COLUMNS, **limits)
    assert answers_itself(scan(limit=10), COLUMNS, **limits)
    assert not answers_itself(scan(limit=5000), COLUMNS, **limits)
    assert not answers_itself(scan(), COLUMNS, **limits)
    assert not answers_itself(scan(BY_ID), COLUMNS, max_bytes=500, max_rows=1000)
    nothing = {"op": "=", "args": [{"col": ["day"]}, {"lit": 1, "type": "date"}]}
    assert answers_itself(scan(nothing), COLUMNS, max_bytes=0, max_rows=0)


def test_what_is_touched_depends_on_the_question():
    large = FILES.set_column(2, "size", pa.array([10**9, 10**9]))
    count = {"functions": [{"agg": "COUNT_STAR"}]}
    longest = {"functions": [{"agg": "MAX", "args": [{"col": ["message"]}]}]}
    groups = {"group_by": [{"col": ["name"]}], **count}

    def touched(*predicates, **more):
        plan = replace(scan(*predicates, **more), files=large)
        return touched_bytes(plan, COLUMNS) - 2 * (256 << 10)

    assert touched(aggregation=count) == 0
    assert touched(BY_ID, aggregation=count) == 300_000 * 8
    assert touched(aggregation=groups) == 300_000 * (8 + 64)
    # texts are stored in the documents
    assert touched(aggregation=longest) == 2 * 10**9


def test_size_for_joins_is_that_of_the_rows_spark_gets():
    assert scan().rows == 300_000
    assert scan(ON_DAY).rows == 100_000
    assert scan(ON_DAY, limit=10).rows == 10
    narrow = replace(scan(ON_DAY), schema=pa.schema([("id", pa.int64()), ("name", pa.string())]))
    assert narrow.output_bytes == 100_000 * (8 + 8 + 20)
    # columns that are smaller in the splits
    assert replace(narrow, whole_width=2800).output_bytes == narrow.bytes // 100


def test_rows_are_as_wide_as_spark_takes_them_to_be():
    kinds = [pa.int8(), pa.int64(), pa.string(), pa.decimal128(18, 2), pa.decimal128(19, 2)]
    schema = pa.schema([(f"c{at}", kind) for at, kind in enumerate(kinds)])
    assert width_of(schema) == 1 + 8 + 20 + 8 + 16


def test_what_the_index_counts_is_known_before_it_is_read():
    limits = {"max_bytes": 1_000_000, "max_rows": 1000}
    above = {"op": ">", "args": [{"col": ["id"]}, {"lit": 7, "type": "long"}]}
    assert not answers_itself(scan(above), COLUMNS, **limits)
    assert answers_itself(scan(above), COLUMNS, **limits, count=lambda: 1000)
    assert not answers_itself(scan(above), COLUMNS, **limits, count=lambda: 1001)
    # only reading all rows shows how many there are
    everywhere = {"op": "CONTAINS", "args": [{"col": ["name"]}, {"lit": "x", "type": "string"}]}
    assert not answers_itself(scan(everywhere), COLUMNS, **limits, count=lambda: 1)


def order(column, asc=True):
    return {"expr": {"col": [column]}, "asc": asc, "nulls_first": asc}


def test_top_rows_follow_any_scalar_column():
    assert plan_top(parse_order([order("id", False)]), 10, COLUMNS) == [
        {"field": "id", "ascending": False, "nulls_first": False}
    ]
    assert plan_top(parse_order([order("name"), order("id")]), 10, COLUMNS) is not None
    assert plan_top(parse_order([order("day"), order("message")]), 10, COLUMNS) is not None
    assert plan_top(parse_order([order("nope")]), 10, COLUMNS) is None
    assert plan_top(parse_order([order("id")]), 10_000_000, COLUMNS) is None


def test_scores_order_rows_alone_or_beside_columns():
    assert plan_top(parse_order([order("_score", False)]), 10, COLUMNS) == "score"
    worst = plan_top(parse_order([order("_score")]), 10, COLUMNS)
    assert worst == [{"field": "_score", "ascending": True, "nulls_first": True}]
    both = plan_top(parse_order([order("_score", False), order("id")]), 10, COLUMNS)
    assert isinstance(both, list)
    assert [key["field"] for key in both] == ["_score", "id"]


def test_rows_are_counted_where_a_file_does_not_say_how_many_it_has():
    plan = scan()
    unknown = pa.array([10, None], pa.int64())
    plan = replace(plan, files=plan.files.set_column(3, "numRecords", unknown))
    limits = {"max_bytes": 1_000_000, "max_rows": 1000}
    assert not answers_itself(plan, COLUMNS, **limits)
    assert answers_itself(plan, COLUMNS, **limits, count=lambda: 1000)
    assert not answers_itself(plan, COLUMNS, **limits, count=lambda: 1001)
