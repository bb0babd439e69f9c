from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.unit.plan.generated import PARTITIONS, SCHEMA, cases
from tests.unit.plan.sql_oracle import engine, truth

from indextables.errors import IndexTablesError
from indextables.expr.literals import render_literal
from indextables.expr.predicate import parse_predicate
from indextables.model.types import Atomic, Field, Struct
from indextables.plan.columns import Columns, describe_columns
from indextables.plan.filters import plan_filters
from indextables.plan.queries import split_queries

COLUMNS = describe_columns(SCHEMA, PARTITIONS)
LOGS = describe_columns(
    Struct(
        (
            Field("id", Atomic("long")),
            Field("level", Atomic("string")),
            Field("message", Atomic("string")),
            Field("addr", Atomic("string")),
            Field("day", Atomic("date")),
        )
    ),
    ["day"],
    {"indextables.indexing": '{"message":{"role":"text"},"addr":{"role":"ip"}}'},
)


def plan(*predicates, columns: Columns = LOGS, **options):
    return plan_filters([parse_predicate(p) for p in predicates], columns, **options)


def col(*path):
    return {"col": list(path)}


def text(value):
    return {"lit": value, "type": "string"}


def call(op, *args):
    return {"op": op, "args": list(args)}


def check_query(predicate, data):
    planned = plan(predicate, columns=COLUMNS)
    for row in data:
        expected = truth(predicate, row, SCHEMA) is True
        found = engine(planned.query, row, SCHEMA)
        if planned.pushed == ("exact",):
            assert found == expected, row
        else:
            assert found or not expected, row


def check_split_queries(predicate, data):
    planned = plan(predicate, columns=COLUMNS)
    files = pa.table(
        {
            "partitionValues": pa.array(
                [
                    [(n, render_literal(row[n], SCHEMA.get(n).type)) for n in PARTITIONS]
                    for row in data
                ],
                pa.map_(pa.string(), pa.string()),
            )
        }
    )
    queries, query_of = split_queries(planned, files, COLUMNS)
    assert not any(f'"{name}"' in str(queries).replace("'", '"') for name in PARTITIONS)
    for row, number in zip(data, query_of, strict=True):
        expected = truth(predicate, row, SCHEMA) is True
        found = engine(queries[number], row, SCHEMA)
        if planned.pushed == ("exact",):
            assert found == expected, row
        else:
            assert found or not expected, row


def test_any_number_of_partition_tests_is_decided_before_the_split_is_asked():
    tests = [call("<>", col("p_int"), {"lit": n, "type": "integer"}) for n in range(60)]
    row = dict.fromkeys(SCHEMA.names) | {"p_int": 60, "c_long": 1}
    inside = call("=", col("c_long"), {"lit": 1, "type": "long"})
    check_split_queries(call("OR", call("NOT", call("AND", *tests)), inside), [row])


def test_patterns_on_partitions_that_only_spark_knows_are_left_to_it():
    row = dict.fromkeys(SCHEMA.names) | {"p_string": "a", "c_long": 1}
    inside = call("=", col("c_long"), {"lit": 1, "type": "long"})
    check_split_queries(call("AND", call("RLIKE", col("p_string"), text("(?i)A")), inside), [row])


@settings(max_examples=200, deadline=None)
@given(cases())
def test_pushed_query_finds_sqls_rows(case):
    check_query(*case)


@settings(max_examples=100, deadline=None)
@given(cases())
def test_query_of_a_split_needs_no_partition_column(case):
    check_split_queries(*case)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(cases(most=10))
def test_pushed_queries_find_sqls_rows_in_thousands_of_cases(case):
    check_query(*case)
    check_split_queries(*case)


def test_usual_predicates_are_exact():
    planned = plan(
        call("=", col("level"), text("ERROR")),
        call(">=", col("id"), {"lit": 5, "type": "long"}),
        call("IN", col("level"), text("a"), text("b")),
        call("LIKE", col("level"), text("a%b_")),
        call("STARTS_WITH", col("level"), text("E")),
        call("IS_NOT_NULL", col("message")),
    )
    assert planned.exact
    assert planned.query["args"][0] == {"type": "term", "field": "level", "value": "ERROR"}


def test_text_columns_are_compared_as_whole_values():
    planned = plan(call("=", col("message"), text("connection reset")))
    assert planned.exact
    assert planned.query == {"type": "term", "field": "message", "value": "connection reset"}


def test_columns_that_are_only_indexed_leave_out_splits():
    hidden = describe_columns(
        LOGS.schema, ["day"], {"indextables.indexing": '{"message":{"role":"text","stored":false}}'}
    )
    planned = plan(call("=", col("message"), text("time")), columns=hidden)
    assert planned.pushed == ("superset",)
    assert planned.query == {"type": "all"}
    assert planned.pruning != plan().pruning


def test_addresses_are_narrowed_by_the_index_and_compared_as_texts_by_spark():
    equal = plan(call("=", col("addr"), text("10.0.0.1")))
    assert equal.pushed == ("superset",)
    assert equal.query == {"type": "term", "field": "addr", "value": "10.0.0.1"}
    # another spelling of the same address is not equal, so Spark must compare again
    different = plan(call("<>", col("addr"), text("10.0.0.1")))
    assert different.pushed == ("superset",)
    assert different.query == {"type": "exists", "field": "addr"}
    no_address = plan(call("=", col("addr"), text("10.0.0.0/8")))
    assert no_address.exact
    assert no_address.query == {"type": "none"}
    assert plan(call("<", col("addr"), text("10.0.0.1"))).query == {"type": "all"}


def test_what_only_spark_knows_is_not_pushed():
    planned = plan(call("=", call("UPPER", col("level")), text("ERROR")))
    assert planned.pushed == ("no",)


def test_like_with_a_broken_escape_is_left_to_spark_to_refuse():
    assert plan(call("LIKE", col("level"), text("a\\b"))).pushed == ("no",)
    assert plan(call("LIKE", col("level"), text("a\\"))).pushed == ("no",)


SEARCH = call("indexquery", col("message"), text("timeout OR reset"))


def test_search_is_pushed_within_any_logic_the_index_answers():
    planned = plan(call("OR", SEARCH, call("NOT", call("=", col("level"), text("x")))))
    assert planned.exact
    assert planned.query["args"][0] == {
        "type": "search",
        "query": "timeout OR reset",
        "fields": ["message"],
        "mode": "any",
    }


UPPER = call("=", call("UPPER", col("level")), text("X"))
CASE = call("=", call("CASE_WHEN", SEARCH, text("a")), text("a"))


@pytest.mark.parametrize(
    "predicate",
    [call("OR", SEARCH, UPPER), CASE, call("indexquery", col("day"), text("x"))],
    ids=["beside what only Spark computes", "inside an expression", "on a partition column"],
)
def test_a_search_that_no_index_answers_is_left_to_spark(predicate):
    assert plan(predicate).pushed == ("no",)


@pytest.mark.parametrize(
    ("predicate", "code", "words"),
    [
        (call("indexquery", col("nope"), text("x")), "QUERY_UNKNOWN_FIELD", "[id, level, message"),
        (
            call("textsearch", col("level"), text("x")),
            "SEARCH_TEXT_ONLY",
            "Cannot use TEXTSEARCH",
        ),
        (
            call("fieldmatch", col("message"), text("x")),
            "SEARCH_EXACT_ONLY",
            "Cannot use FIELDMATCH",
        ),
        (call("textsearchall", text("x")), "SEARCH_TEXT_ONLY", "id"),
    ],
)
def test_search_that_cannot_be_answered_fails_clearly(predicate, code, words):
    with pytest.raises(IndexTablesError, match=code) as caught:
        plan(predicate)
    assert words in str(caught.value)


def test_search_over_all_fields_must_be_qualified_when_there_are_many():
    everywhere = call("indexqueryall", text("timeout"))
    assert plan(everywhere, max_unqualified=4).exact
    with pytest.raises(IndexTablesError, match="SEARCH_TOO_MANY_FIELDS"):
        plan(everywhere, max_unqualified=3)
    qualified = call("indexqueryall", text('level:ERROR AND NOT message:("a b" OR c) id:[1 TO 5]'))
    assert plan(qualified, max_unqualified=3).exact


def test_search_text_is_checked_by_the_engines_parser():
    seen = []
    plan(SEARCH, check_query=lambda query, fields: seen.append((query, fields)))
    assert seen == [("timeout OR reset", ["message"])]


def test_both_ends_of_a_field_are_one_range_and_say_that_it_has_a_value():
    low, high = ({"lit": value, "type": "long"} for value in (3, 9))
    found = plan(
        call("IS_NOT_NULL", col("id")),
        call(">=", col("id"), low),
        call("=", col("level"), text("x")),
        call("<", col("id"), high),
        call(">", col("id"), high),
    ).query
    ends = {"lower": {"value": 3, "inclusive": True}, "upper": {"value": 8, "inclusive": True}}
    assert [arg["type"] for arg in found["args"]] == ["range", "term", "range"]
    assert found["args"][0] == {"type": "range", "field": "id", **ends}
