"""The table of members agrees with the classes, the engine and the answers of DESCRIBE."""

from __future__ import annotations

from dataclasses import fields

import pytest

from indextables.commands.describe_transaction_log import DescribeTransactionLog
from indextables.commands.registry import BY_COMMAND
from indextables.engine.manifests import decode_manifests, encode_manifest
from indextables.log import codec, entries, members


@pytest.mark.parametrize("kind", members.ACTIONS, ids=lambda kind: kind.name)
def test_every_attribute_of_an_action_is_a_member(kind):
    attributes = {field.name for field in fields(kind.value)} - {"extra", "file"}
    own = {"file"} if kind.name == "indexFile" else set()
    assert {member.attribute for member in kind.members} == attributes | own
    assert len({member.name for member in kind.members}) == len(kind.members)


@pytest.mark.parametrize("kind", members.ACTIONS, ids=lambda kind: kind.name)
def test_every_column_that_shows_a_member_is_a_column_of_the_answer(kind):
    shown = {member.shown for member in kind.members if member.shown}
    shown |= set((kind.also_shown or {}).values())
    assert shown <= set(BY_COMMAND[DescribeTransactionLog].output.names)


def test_the_engine_has_the_same_columns():
    data = encode_manifest(entries.SCHEMA.empty_table(), "none", 1)
    (table,) = decode_manifests([("m.avro", data, 0)], 1)
    assert table.schema == entries.SCHEMA
    assert table.schema.names == [*(m.name for m in members.ADD_MEMBERS), "extra"]


def test_every_member_of_an_add_survives_the_log_and_a_manifest():
    body = {
        "path": "a.split", "partitionValues": {"n": "1"}, "size": 1, "modificationTime": 2,
        "dataChange": False, "stats": "s", "minValues": {"a": "b"}, "maxValues": {"a": "c"},
        "numRecords": 3, "footerStartOffset": 4, "footerEndOffset": 5, "hasFooterOffsets": True,
        "deleteOpstamp": 6, "splitTags": ["t"], "numMergeOps": 7, "docMappingJson": "[]",
        "docMappingRef": "r", "uncompressedSizeBytes": 8, "timeRangeStart": "x",
        "timeRangeEnd": "y", "companionSourceFiles": ["f"], "companionDeltaVersion": 9,
        "companionFastFieldMode": "m",
        "companionRuns": [
            {"file": 0, "row": 0, "rows": 2, "fileRows": 3, "size": 77},
            {"file": 0, "row": 2, "rows": 1, "fileRows": 3, "size": 77, "stamp": "5:e"},
        ],
        "novel": [1],
        "deletionVector": {"file": "index/i", "offset": 1, "length": 2, "cardinality": 3},
    }  # fmt: skip
    logged = [m.name for m in members.ADD_MEMBERS if m.logged]
    assert [name for name in body if name not in ("novel", "deletionVector")] == logged[:-1]
    add = members.BY_NAME["add"].decode(body)
    (again,) = codec.decode_actions(codec.encode_actions([add]), "f")
    data = encode_manifest(entries.from_adds([again]), "zstd", 3)
    (table,) = decode_manifests([("m.avro", data, 1)], 1)
    (back,) = entries.to_adds(table)
    assert codec.encode_action(back) == {"add": body}
