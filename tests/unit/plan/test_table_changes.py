"""Changes of schemas and configurations by ALTER TABLE."""

from __future__ import annotations

import pytest

from indextables.errors import IndexTablesError
from indextables.model.types import Struct, parse_schema
from indextables.plan.table_changes import change_configuration, change_schema

SCHEMA = parse_schema(
    '{"type":"struct","fields":['
    '{"name":"id","type":"integer","nullable":false},'
    '{"name":"who","type":{"type":"struct","fields":[{"name":"name","type":"string"}]}},'
    '{"name":"tags","type":{"type":"array","elementType":{"type":"struct","fields":['
    '{"name":"k","type":"string"}]},"containsNull":true}}]}'
)


def add(name: str, *parents: str, **more) -> dict:
    return {
        "column": list(parents),
        "add": {"name": name, "type": "long", "nullable": True, **more},
    }


def test_columns_are_added_where_the_statement_says():
    assert change_schema(SCHEMA, [add("n")]).names == ["id", "who", "tags", "n"]
    first = change_schema(SCHEMA, [add("n", position={"first": True})])
    assert first.names == ["n", "id", "who", "tags"]
    after = change_schema(
        SCHEMA, [add("n", position={"after": "ID"}), add("m", position={"after": "n"})]
    )
    assert after.names == ["id", "n", "m", "who", "tags"]


def test_members_are_added_inside_structs_and_arrays():
    changed = change_schema(SCHEMA, [add("age", "who"), add("v", "tags", "element")])
    who, tags = changed.fields[1].type, changed.fields[2].type
    assert isinstance(who, Struct)
    assert who.names == ["name", "age"]
    assert tags.element.names == ["k", "v"]


def test_comments_nullability_and_order():
    changed = change_schema(
        SCHEMA,
        [
            {"column": ["id"], "comment": "the key"},
            {"column": ["id"], "nullable": True},
            {"column": ["tags"], "move": {"first": True}},
            {"column": ["who", "name"], "comment": "full name"},
        ],
    )
    assert changed.names == ["tags", "id", "who"]
    assert (changed.fields[1].nullable, changed.fields[1].metadata) == (
        True,
        {"comment": "the key"},
    )
    assert changed.fields[2].type.fields[0].metadata == {"comment": "full name"}
    assert change_schema(changed, [{"column": ["id"], "comment": None}]).fields[1].metadata == {}


def test_defaults_are_kept_as_spark_spells_them():
    changed = change_schema(SCHEMA, [add("n", default="1 + 1", initial="2")])
    expected = {"CURRENT_DEFAULT": "1 + 1", "EXISTS_DEFAULT": "2"}
    assert changed.fields[-1].metadata == expected
    later = change_schema(changed, [{"column": ["n"], "default": "5"}])
    assert later.fields[-1].metadata == {**expected, "CURRENT_DEFAULT": "5"}
    dropped = change_schema(later, [{"column": ["n"], "default": ""}])
    assert dropped.fields[-1].metadata == {"EXISTS_DEFAULT": "2"}


@pytest.mark.parametrize(
    "change",
    [
        add("ID"),
        add("n", "id"),
        add("n", position={"after": "nothing"}),
        {"column": ["nothing"], "comment": "x"},
        {"other": "RenameColumn"},
        {"column": [], "add": {"name": "n", "type": "long", "nullable": False}},
    ],
)
def test_impossible_changes_are_refused(change):
    with pytest.raises(IndexTablesError):
        change_schema(SCHEMA, [add("fine"), change])


def test_properties():
    assert change_configuration(
        {"a": "1", "b": "2"}, [{"set": "a", "value": "3"}, {"remove": "b"}]
    ) == {"a": "3"}
