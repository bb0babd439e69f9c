"""Manifests have the Avro schema that the protocol documents."""

from __future__ import annotations

import json

from tests.log.tables import add

from indextables.engine.manifests import encode_manifest
from indextables.log import entries

# name: field id, type, as in appendix B of the protocol
DOCUMENTED = {
    "path": (100, "string"),
    "partitionValues": (101, {"type": "map", "values": "string"}),
    "size": (102, "long"),
    "modificationTime": (103, "long"),
    "dataChange": (104, "boolean"),
    "stats": (110, ["null", "string"]),
    "minValues": (111, ["null", {"type": "map", "values": "string"}]),
    "maxValues": (112, ["null", {"type": "map", "values": "string"}]),
    "numRecords": (113, ["null", "long"]),
    "footerStartOffset": (120, ["null", "long"]),
    "footerEndOffset": (121, ["null", "long"]),
    "hasFooterOffsets": (122, "boolean"),
    "splitTags": (130, ["null", {"type": "array", "items": "string"}]),
    "numMergeOps": (131, ["null", "int"]),
    "docMappingRef": (132, ["null", "string"]),
    "uncompressedSizeBytes": (133, ["null", "long"]),
    "addedAtVersion": (140, "long"),
    "addedAtTimestamp": (141, "long"),
}


def schema_of(manifest: bytes):
    """The schema in the header of an Avro file: a JSON object from its first to its last brace."""
    text = manifest[manifest.index(b'{"type":"record"') :].decode("utf-8", "replace")
    return json.JSONDecoder().raw_decode(text)[0]


def test_fields_have_the_documented_ids_and_types():
    schema = schema_of(encode_manifest(entries.from_adds([add("a")]), "none", 0))
    assert (schema["namespace"], schema["name"]) == (
        "io.indextables.spark.transaction.avro",
        "FileEntry",
    )
    found = {field["name"]: (field["field-id"], field["type"]) for field in schema["fields"]}
    assert {name: found[name] for name in DOCUMENTED} == DOCUMENTED
    others = [found[name][0] for name in found.keys() - DOCUMENTED.keys()]
    ids = {number for number, _ in DOCUMENTED.values()}
    assert len(set(others)) == len(others)
    assert not ids & set(others)


def test_optional_fields_have_defaults():
    schema = schema_of(encode_manifest(entries.from_adds([add("a")]), "none", 0))
    fields = {field["name"]: field for field in schema["fields"]}
    assert fields["hasFooterOffsets"]["default"] is False
    assert all("default" in f for f in fields.values() if isinstance(f["type"], list))
