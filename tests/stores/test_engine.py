"""Splits in object stores: the engine's client, with the same options as the log's."""

from __future__ import annotations

import json
import os

import pyarrow as pa
import pytest
from tests.stores import signing
from tests.stores.conftest import ACCESS_KEY, BUCKET, SECRET_KEY
from tests.stores.test_contract import ODD_NAMES

from indextables.engine.merge import MergeInput, merge_splits
from indextables.engine.split import Split
from indextables.engine.store import open_store as open_native
from indextables.engine.store import traffic
from indextables.engine.writer import SplitWriter
from indextables.errors import StorageError
from indextables.log import AddFile, Operation, Transaction, open_log
from indextables.model.types import parse_schema

SCHEMA = pa.schema([("id", pa.int64()), ("level", pa.string()), ("message", pa.string())])
TABLE_SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "level", "type": "string"},
            {"name": "message", "type": "string"},
        ],
    }
)
FIELDS = [{"name": "message", "role": "text"}]


def rows(start, count):
    numbers = range(start, start + count)
    return pa.record_batch(
        {
            "id": list(numbers),
            "level": [("info", "warn", "error")[i % 3] for i in numbers],
            "message": [f"request {i} timed out" if i % 5 == 0 else f"done {i}" for i in numbers],
        },
        schema=SCHEMA,
    )


def write(store, path, batch):
    writer = SplitWriter(SCHEMA, FIELDS)
    writer.write(batch)
    return writer.finish(open_native(*store.native()), path)


@pytest.fixture
def read(place):
    def open_split(store, path, info):
        footer = (info.footer_start, info.footer_end)
        return Split(open_native(*store.native()), path, footer, schema=SCHEMA)

    return open_split


def test_a_split_is_searched_when_it_lies_in_a_store(place, read):
    store = place.table()
    info = write(store, "splits/a.split", rows(0, 300))
    assert store.head("splits/a.split").size == info.size
    split = read(store, "splits/a.split", info)
    assert split.count({"type": "token_term", "field": "message", "text": "timed"}) == 60
    found = split.table({"type": "term", "field": "id", "value": 10}, SCHEMA)
    assert found.to_pylist() == [{"id": 10, "level": "warn", "message": "request 10 timed out"}]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_both_clients_mean_the_same_object_when_its_name_is_odd(place, read, name):
    store = place.table()
    info = write(store, name, rows(0, 10))
    assert [(meta.path, meta.size) for meta in store.list("")] == [(name, info.size)]
    assert read(store, name, info).num_docs == 10


def test_splits_are_merged_when_they_lie_in_a_store(place, read):
    store = place.table()
    paths = [f"splits/{i}.split" for i in range(2)]
    for i, path in enumerate(paths):
        write(store, path, rows(i * 100, 100))
    native = open_native(*store.native())
    merged = merge_splits([MergeInput(path) for path in paths], native, "splits/m.split")
    assert read(store, "splits/m.split", merged.split).num_docs == 200


def test_an_error_names_the_file_when_a_split_is_missing(place):
    store = place.table()
    store.put("other", b"")
    with pytest.raises(StorageError) as caught:
        Split(open_native(*store.native()), "splits/gone.split", (0, 10), schema=SCHEMA).count()
    assert caught.value.code == "FILE_MISSING"
    assert "splits/gone.split" in str(caught.value)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "s3://other/x", "file:/x"])
def test_a_path_is_refused_when_it_leaves_the_table(place, path):
    store = place.table()
    store.put("x", b"")
    native = open_native(*store.native())
    with pytest.raises(StorageError) as caught:
        Split(native, path, (0, 10), schema=SCHEMA)
    assert caught.value.code == "STORAGE_BAD_PATH"
    writer = SplitWriter(SCHEMA, FIELDS)
    writer.write(rows(0, 1))
    with pytest.raises(StorageError) as caught:
        writer.finish(native, path)
    assert caught.value.code == "STORAGE_BAD_PATH"


def test_a_table_is_searched_and_aggregated_when_log_and_splits_lie_in_a_store(place):
    """Everything between a commit and an answer, with the paths that the log returns."""
    store = place.table()
    log = open_log(store, place.settings)
    log.create(parse_schema(TABLE_SCHEMA))
    for number in range(3):
        path = f"splits/{number}.split"
        info = write(store, path, rows(number * 100, 100))
        added = AddFile(
            path,
            {},
            info.size,
            1,
            num_records=info.num_records,
            footer_start_offset=info.footer_start,
            footer_end_offset=info.footer_end,
        )
        log.commit(Transaction(Operation.APPEND, number, (added,)))
    again = place.again(store)
    files = open_log(again, place.settings).snapshot().files().to_pylist()
    native = open_native(*again.native())
    splits = [
        Split(native, f["path"], (f["footerStartOffset"], f["footerEndOffset"]), schema=SCHEMA)
        for f in files
    ]
    query = {"type": "token_term", "field": "message", "text": "timed"}
    assert sum(split.count(query) for split in splits) == 60
    request = {"group_by": [{"field": "level"}], "functions": [{"op": "count_star"}]}
    wanted = pa.schema([("level", pa.string()), ("rows", pa.int64())])
    partial = pa.concat_tables([split.aggregate(query, request, wanted) for split in splits])
    total = partial.group_by("level").aggregate([("rows", "sum")]).sort_by("level")
    assert total["rows_sum"].to_pylist() == [20, 20, 20]


def incomplete_uploads(server):
    url = f"{server.endpoint}/{BUCKET}?uploads"
    return signing.s3_get(url, ACCESS_KEY, SECRET_KEY).count("<Upload>")


def test_a_large_split_is_sent_in_parts_when_it_is_above_the_threshold(s3):
    store = s3.table(**{"s3.multipartThreshold": "1M", "s3.partSize": "5M"})
    schema = pa.schema([("blob", pa.binary())])
    writer = SplitWriter(schema, [{"name": "blob", "indexed": False}])
    for _ in range(12):
        writer.write(pa.record_batch({"blob": [os.urandom(1 << 20)]}, schema=schema))
    native = open_native(*store.native())
    info = writer.finish(native, "splits/large.split")
    assert info.size > 12 << 20
    # one to start, one to complete, and the parts
    assert traffic(native).requests == 2 + -(-info.size // (5 << 20))
    footer = (info.footer_start, info.footer_end)
    split = Split(open_native(*store.native()), "splits/large.split", footer, schema=schema)
    assert split.count() == 12
    assert incomplete_uploads(s3.server) == 0
