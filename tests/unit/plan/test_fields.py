from __future__ import annotations

import pytest

from indextables.config.settings import resolve
from indextables.errors import IndexTablesError
from indextables.model.types import Array, Atomic, Field, Struct
from indextables.plan.columns import describe_columns
from indextables.plan.fields import plan_fields, remember_fields, without_effect

SCHEMA = Struct(
    (
        Field("id", Atomic("long")),
        Field("Message", Atomic("string")),
        Field("host", Atomic("string")),
        Field("body", Atomic("string")),
        Field("data", Atomic("binary")),
        Field("tags", Array(Atomic("string"))),
        Field("day", Atomic("date")),
    )
)


def fields(options=None, **more):
    planned = plan_fields(SCHEMA, resolve(options=options or {}), ["day"], **more)
    return {field["name"]: field for field in planned}


def test_partition_columns_are_not_in_the_split():
    assert list(fields()) == ["id", "Message", "host", "body", "data", "tags"]


def test_roles_come_from_the_typemap_in_both_forms():
    planned = fields({"indexing.typemap.message": "text", "indexing.typemap.json": "body"})
    assert planned["Message"]["role"] == "text"
    assert planned["Message"]["tokenizer"] == "default"
    assert planned["Message"]["record"] == "position"
    assert not planned["Message"]["fast"]
    assert planned["body"]["role"] == "json"
    assert planned["host"]["role"] == "string"
    assert planned["id"]["role"] == "auto"


def test_every_indexing_option_has_its_effect():
    planned = fields(
        {
            "indexing.typemap.message": "text",
            "indexing.tokenizer.message": "whitespace",
            "indexing.indexrecordoption.message": "basic",
            "indexing.tokenlength.message": "40",
            "indexing.nonfastfields": "host",
            "indexing.storeonlyfields": "id",
            "indexing.indexonlyfields": "body",
            "indexing.json.mode": "minimal",
        }
    )
    message = planned["Message"]
    chosen = (message["tokenizer"], message["record"], message["token_length"])
    assert chosen == ("whitespace", "basic", 40)
    assert not planned["host"]["fast"]
    assert not planned["id"]["indexed"]
    assert not planned["body"]["stored"]
    assert not planned["tags"]["fast"]


def test_statistics_go_to_the_first_columns_that_can_have_them():
    few = fields({"dataSkippingNumIndexedCols": "2"})
    assert [name for name, field in few.items() if field["stats"]] == ["id", "Message"]
    named = fields({"dataSkippingStatsColumns": "HOST"})
    assert [name for name, field in named.items() if field["stats"]] == ["host"]
    assert not any(f["stats"] for f in fields({"dataSkippingNumIndexedCols": "0"}).values())


def test_options_that_name_no_column_are_refused():
    with pytest.raises(IndexTablesError, match="INDEXING_UNKNOWN_COLUMN") as caught:
        fields({"indexing.typemap.massage": "text"})
    assert "id, Message, host" in str(caught.value)


def test_only_text_has_a_typemap():
    with pytest.raises(IndexTablesError, match="column `id` of type `long`"):
        fields({"indexing.typemap.id": "text"})


def test_partition_columns_have_no_indexing_options():
    schema = Struct((Field("a", Atomic("long")), Field("part", Atomic("string"))))
    settings = resolve(options={"indexing.typemap.part": "text"})
    with pytest.raises(IndexTablesError, match="INDEXING_PARTITION_COLUMN"):
        plan_fields(schema, settings, ["part"])


def test_appends_keep_what_the_table_remembers():
    first = fields({"indexing.typemap.message": "text"})
    remembered = remember_fields(list(first.values()))
    again = fields(configuration=remembered)
    assert again == first
    columns = describe_columns(SCHEMA, ["day"], remembered)
    assert columns.get("Message").tokenized
    assert columns.get("day").partition


def test_appends_that_say_something_else_are_refused():
    remembered = remember_fields(list(fields({"indexing.typemap.message": "text"}).values()))
    with pytest.raises(IndexTablesError, match="existing table has text field") as caught:
        fields({"indexing.typemap.message": "string"}, configuration=remembered)
    assert "Field 'Message' type mismatch" in str(caught.value)


def test_mappings_of_other_writers_tell_roles():
    mapping = (
        '[{"name":"Message","type":"text","tokenizer":"default","fast":true},'
        '{"name":"host","type":"ip"},{"name":"body","type":"object"},'
        '{"name":"tags","type":"object"},{"name":"id","type":"i64","fast":false}]'
    )
    columns = describe_columns(SCHEMA, ["day"], {"docMappingSchema.abc": mapping})
    assert columns.get("Message").tokenized
    # a fast text field of another writer holds words, not values
    assert not columns.get("Message").fast
    assert columns.get("host").role == "ip"
    assert columns.get("body").role == "json"
    assert columns.get("tags").role == "auto"
    assert not columns.get("id").fast


def test_columns_that_could_not_be_read_back_are_refused():
    for options in (
        {"indexing.typemap.message": "text", "indexing.indexonlyfields": "message"},
        {"indexing.indexonlyfields": "tags"},
        {"indexing.indexonlyfields": "host", "indexing.nonfastfields": "host"},
    ):
        with pytest.raises(IndexTablesError, match="INDEXING_UNREADABLE"):
            fields(options)


def test_fast_text_has_no_effect():
    given = {"indexing.typemap.message": "text", "indexing.fastfields": "message,host"}
    settings = resolve(options=given)
    assert without_effect(SCHEMA, settings) == ("Message",)
