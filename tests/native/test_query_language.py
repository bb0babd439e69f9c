"""The query language on the driver: trees, and errors that point at a position."""

from __future__ import annotations

import pickle

import pytest

from indextables.engine.query import Fields, Query, parse_query
from indextables.errors import IndexTablesError, InvalidError, QuerySyntaxError

FIELDS = Fields(
    [
        {"name": "message", "type": "string", "role": "text"},
        {"name": "level", "type": "string", "role": "string"},
        {"name": "status", "type": "integer"},
        {"name": "data", "type": "string", "role": "json"},
    ]
)


def test_a_tree_is_returned_when_the_text_parses():
    query = parse_query("message:timeout AND status:>=500", FIELDS)
    assert query.tree == {
        "type": "and",
        "args": [
            {"type": "token_term", "field": "message", "text": "timeout"},
            {
                "type": "range",
                "field": "status",
                "lower": {"value": 500, "inclusive": True},
                "upper": None,
            },
        ],
    }


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("[500 TO 504}", ((500, True), (504, False))),
        ("{500 TO *]", ((500, False), None)),
        (">=500", ((500, True), None)),
        ("<500", (None, (500, False))),
    ],
)
def test_a_range_is_that_of_the_searched_column(text, bounds):
    lower, upper = (end and {"value": end[0], "inclusive": end[1]} for end in bounds)
    tree = {"type": "range", "field": "status", "lower": lower, "upper": upper}
    assert parse_query(text, FIELDS, ["status"]).tree == tree
    assert parse_query(f"status:({text})", FIELDS, ["message"]).tree == tree


def test_a_set_is_that_of_the_searched_column():
    scoped = parse_query("level: IN [WARN INFO]", FIELDS)
    assert parse_query("IN [WARN INFO]", FIELDS, ["level"]).tree == scoped.tree


@pytest.mark.parametrize(
    ("text", "position"),
    [("a AND", 2), ("(a", 0), ('message:"a', 8), ("a status:x", 2), ("message:[a TO b]", 0)],
)
def test_the_error_points_at_the_place_when_the_text_is_wrong(text, position):
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text, FIELDS, ["message"])
    assert caught.value.context["position"] == position


def test_an_unknown_field_is_named_with_those_there_are():
    with pytest.raises(InvalidError, match=r"'nope'.*data, level, message, status") as caught:
        parse_query("nope:1", FIELDS)
    assert caught.value.code == "QUERY_UNKNOWN_FIELD"


def test_words_go_to_the_fields_of_the_mode():
    text = parse_query("x", FIELDS, mode="text")
    assert text.tree == {"type": "token_term", "field": "message", "text": "x"}
    exact = parse_query("x", FIELDS, mode="exact")
    assert exact.tree == {"type": "token_term", "field": "level", "text": "x"}
    number = parse_query("7", FIELDS, mode="exact")
    assert number.tree["type"] == "or"


def test_a_query_is_a_value_that_travels():
    tree = {"type": "and", "args": [
        {"type": "search", "query": "a OR b", "fields": ["message"], "mode": "any"},
        {"type": "set", "field": "status", "values": [1, -(2**63), 2**64 - 1, 1.5, None, True]},
    ]}  # fmt: skip
    query = Query(tree)
    assert query.tree == tree
    assert pickle.loads(pickle.dumps(query)) == query
    assert query != Query({"type": "all"})
    assert Query({"type": "term", "field": "status", "value": 1}).is_lookup
    assert not query.is_lookup


@pytest.mark.parametrize("tree", [{}, {"type": "nope"}, {"type": "term"}, {"type": "not"}])
def test_a_tree_that_is_none_is_refused(tree):
    with pytest.raises(IndexTablesError, match="QUERY"):
        Query(tree)


def test_values_that_are_not_plain_are_refused():
    with pytest.raises(TypeError, match="not a plain value"):
        Query({"type": "term", "field": "status", "value": object()})
    with pytest.raises(ValueError, match="NaN"):
        Query({"type": "term", "field": "status", "value": float("nan")})
