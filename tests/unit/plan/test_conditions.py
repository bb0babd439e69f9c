"""Aggregates with conditions: what the hooks send, and which of them the index answers."""

from __future__ import annotations

import pytest

from indextables.expr.aggregation import parse_aggregation
from indextables.model.types import Atomic, Field, Struct
from indextables.plan.aggregates import plan_aggregation
from indextables.plan.columns import describe_columns
from indextables.plan.conditions import plan_conditions
from indextables.plan.finals import plan_complete

SCHEMA = Struct(
    (
        Field("n", Atomic("integer")),
        Field("word", Atomic("string")),
        Field("p", Atomic("integer")),
        Field("s", Struct((Field("a", Atomic("long")), Field("x", Atomic("double"))))),
    )
)
COLUMNS = describe_columns(SCHEMA, ("p",))
ABOVE = {"op": ">", "args": [{"col": ["n"]}, {"lit": 3, "type": "integer"}]}
QUERY = {"type": "range", "field": "n", "lower": {"value": 4, "inclusive": True}, "upper": None}


def function(op, value, condition=ABOVE, distinct=False):
    return {
        "agg": op,
        "args": [{"op": "CASE_WHEN", "args": [condition, value]}],
        "distinct": distinct,
    }


def planned(*functions, keys=(), complete=True):
    parsed = parse_aggregation(
        {"group_by": [{"col": list(key)} for key in keys], "functions": list(functions)}
    )
    conditions = plan_conditions(parsed, COLUMNS)
    if complete:
        found = plan_complete(parsed, COLUMNS, conditions=conditions)
        return None if found is None else found.partial
    return plan_aggregation(parsed, COLUMNS, conditions=conditions, spark_merges=True)


ONE = {"lit": 1, "type": "integer"}
N, WORD = {"col": ["n"]}, {"col": ["word"]}


@pytest.mark.parametrize("complete", [True, False])
def test_conditions_become_queries_of_single_functions(complete):
    found = planned(function("COUNT", ONE), {"agg": "COUNT_STAR"}, function("COUNT", WORD),
                    function("MIN", WORD), complete=complete)  # fmt: skip
    assert found.request["functions"] == [
        {"op": "count_star", "where": QUERY},
        {"op": "count_star"},
        {"op": "count", "field": "word", "where": QUERY},
        {"op": "min", "field": "word", "where": QUERY},
    ]
    assert not found.from_log


def test_averages_divide_what_the_condition_leaves():
    found = planned(function("AVG", N))
    assert [(f["op"], f.get("where")) for f in found.request["functions"]] == [
        ("sum", QUERY), ("count", QUERY)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "unanswered",
    [
        function("COUNT", ONE, {"op": ">", "args": [{"col": ["p"]}, ONE]}),
        function("COUNT", ONE, {"op": "SOME_FUNCTION", "args": [N]}),
        function(
            "COUNT", ONE, {"op": "indexquery", "args": [WORD, {"lit": "x", "type": "string"}]}
        ),
        function("COUNT", N, distinct=True),
        function("MAX", {"col": ["p"]}),
        {"agg": "COUNT", "args": [{"op": "CASE_WHEN", "args": [ABOVE, ONE, ONE]}]},
    ],
)
def test_what_differs_between_splits_or_is_not_exact_stays_with_spark(unanswered):
    assert planned(unanswered) is None
    assert planned(unanswered, complete=False) is None


def test_members_of_structs_are_keys_and_arguments():
    found = planned({"agg": "MAX", "args": [{"col": ["s", "a"]}]}, keys=[("s", "a")])
    assert found.request["group_by"] == [{"field": "s.a"}]
    assert found.request["functions"] == [{"op": "max", "field": "s.a"}]
    floating = planned({"agg": "COUNT_STAR"}, keys=[("s", "x")])
    assert floating.request["group_by"] == [{"field": "s.x"}]
    assert planned({"agg": "COUNT", "args": [{"col": ["s", "x"]}]}) is not None
    assert planned({"agg": "COUNT_STAR"}, keys=[("s",)]) is None
