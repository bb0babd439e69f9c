"""The query language on the driver: trees, and errors that point at the place."""

from __future__ import annotations

import pytest

from indextables.engine.query import parse_query
from indextables.errors import InvalidError, QuerySyntaxError

FIELDS = [
    {"name": "message", "type": "string", "role": "text"},
    {"name": "level", "type": "string", "role": "string"},
    {"name": "status", "type": "integer"},
    {"name": "data", "type": "string", "role": "json"},
]


def test_a_tree_is_returned_when_the_text_parses():
    tree = parse_query("message:timeout AND status:>=500", FIELDS)
    assert tree == {
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
    assert text == {"type": "token_term", "field": "message", "text": "x"}
    exact = parse_query("x", FIELDS, mode="exact")
    assert exact == {"type": "token_term", "field": "level", "text": "x"}
    number = parse_query("7", FIELDS, mode="exact")
    assert number["type"] == "or"
