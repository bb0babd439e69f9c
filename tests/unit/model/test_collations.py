"""Collations are in the metadata of fields, not in their types."""

from __future__ import annotations

import json
from dataclasses import replace

from indextables.expr.values import is_plain_string
from indextables.model.types import Array, Atomic, Map, Struct, parse_schema, render_schema


def field(name, kind, **collations):
    found = {f"{name}{path}": value for path, value in collations.items()}
    metadata = {"__COLLATIONS": {k.replace("_", "."): v for k, v in found.items()}}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def test_collations_of_strings_anywhere_are_known_and_kept():
    texts = {"type": "array", "elementType": "string", "containsNull": True}
    words = {"type": "map", "keyType": "string", "valueType": texts, "valueContainsNull": True}
    inner = {"type": "struct", "fields": [field("s", "string", **{"": "icu.UNICODE_CI"})]}
    fields = [
        field("c", "string", **{"": "spark.UTF8_LCASE"}),
        field("b", "string", **{"": "spark.UTF8_BINARY"}),
        field("l", texts, _element="icu.UNICODE"),
        field("m", words, _key="icu.UNICODE_CI", _value_element="spark.UTF8_LCASE"),
        {"name": "n", "type": inner, "nullable": True, "metadata": {}},
    ]
    text = json.dumps({"type": "struct", "fields": fields})
    schema = parse_schema(text)
    kinds = {f.name: f.type for f in schema.fields}
    assert kinds["c"] == Atomic("string collate UTF8_LCASE")
    assert not is_plain_string(kinds["c"])
    assert is_plain_string(kinds["b"])
    assert isinstance(kinds["l"], Array)
    assert kinds["l"].element == Atomic("string collate UNICODE")
    assert isinstance(kinds["m"], Map)
    assert kinds["m"].key == Atomic("string collate UNICODE_CI")
    assert kinds["m"].value == Array(Atomic("string collate UTF8_LCASE"))
    assert isinstance(kinds["n"], Struct)
    assert kinds["n"].fields[0].type == Atomic("string collate UNICODE_CI")
    # Spark reads the collation back from the metadata
    fields[1]["metadata"] = {}
    assert json.loads(render_schema(schema)) == {"type": "struct", "fields": fields}


def test_a_renamed_column_keeps_its_collation():
    text = json.dumps({"type": "struct", "fields": [field("c", "string", **{"": "icu.de_CI"})]})
    renamed = replace(parse_schema(text).fields[0], name="d")
    assert renamed.to_json()["metadata"] == {"__COLLATIONS": {"d": "icu.de_CI"}}
