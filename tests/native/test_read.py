"""Rows are read exactly as they were written."""

from __future__ import annotations

import math
from random import Random

import pyarrow as pa
import pytest
from pyroaring import BitMap

from indextables.engine.split import Split
from indextables.errors import CorruptError, StorageError
from rows import LAYOUTS, SCHEMA, open_rows, some_rows, write_split


def same(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return left == right


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_every_type_are_equal_when_read_back(tmp_path, layout):
    rows = some_rows(2500)
    split = open_rows(tmp_path, rows, layout=layout)
    found = split.table(None, rows.schema, batch_rows=999)
    assert found.schema == rows.schema
    for name in rows.schema.names:
        pairs = zip(rows[name].to_pylist(), found[name].to_pylist(), strict=True)
        assert all(same(left, right) for left, right in pairs), name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scattered_rows_are_equal_when_a_query_selects_them(tmp_path, layout):
    rows = some_rows(3000)
    split = open_rows(tmp_path, rows, layout=layout)
    schema = rows.schema.append(pa.field("_doc", pa.int64()))
    found = split.table({"type": "term", "field": "number", "value": 3}, schema)
    expected = rows.take(found["_doc"])
    assert len(found) > 10
    for name in rows.schema.names:
        pairs = zip(expected[name].to_pylist(), found[name].to_pylist(), strict=True)
        assert all(same(left, right) for left, right in pairs), name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_very_different_lengths_are_equal_wherever_they_lie_in_a_block(tmp_path, layout):
    random = Random(5)
    lengths = [random.choice([0, 1, 5, 40, 300, 300, 4000, 20_000]) for _ in range(900)]
    texts = ["".join(random.choices("ab ", k=length)) for length in lengths]
    numbers = list(range(len(texts)))
    rows = pa.table({"id": numbers, "message": texts, "address": [None, "::1", "1.2.3.4"] * 300})
    split = open_rows(tmp_path, rows, layout=layout)
    for step in (1, 2, 7, 31, 150):
        for first in range(0, 30, 4):
            wanted = numbers[first::step]
            found = split.table({"type": "set", "field": "id", "values": wanted}, rows.schema)
            assert found.to_pylist() == rows.take(wanted).to_pylist(), (first, step)


def test_long_texts_are_whole_when_terms_would_cut_them(tmp_path):
    texts = ["x" * 65_529, "y" * 65_530, "z" * 65_531, "ä" * 40_000, "", "a"]
    rows = pa.table({"name": texts, "message": texts, "address": ["::1"] * 6})
    for layout in LAYOUTS:
        split = open_rows(tmp_path, rows, layout=layout)
        assert split.table(None, rows.schema)["name"].to_pylist() == texts
        for at, text in enumerate(texts):
            query = {"type": "term", "field": "name", "value": text}
            schema = pa.schema([("_doc", pa.int64())])
            assert split.table(query, schema)["_doc"].to_pylist() == [at], (layout, at)
        ends = {"type": "suffix", "field": "name", "value": "ä"}
        assert split.count(ends) == 1


def test_deleted_rows_do_not_exist_when_a_vector_names_them(tmp_path):
    rows = some_rows(1000)
    store, path = write_split(tmp_path, rows)
    gone = BitMap([0, 5, 63, 64, 65, 998])
    split = Split(store, path, deleted=gone.serialize(), schema=SCHEMA)
    assert (split.num_docs, split.num_deleted) == (994, 6)
    assert split.count() == 994
    found = split.table(None, pa.schema([("_doc", pa.int64())]))["_doc"].to_pylist()
    assert found == [doc for doc in range(1000) if doc not in gone]
    flag = {"type": "term", "field": "flag", "value": True}
    expected = [d for d in found if rows["flag"][d].as_py()]
    assert split.table(flag, pa.schema([("_doc", pa.int64())]))["_doc"].to_pylist() == expected
    assert split.count(flag) == len(expected)
    with pytest.raises(CorruptError, match="deletion vector"):
        Split(store, path, deleted=BitMap([1000]).serialize())


def test_a_limit_ends_the_search_when_enough_rows_are_found(tmp_path):
    split = open_rows(tmp_path, some_rows(1000))
    schema = pa.schema([("_doc", pa.int64())])
    assert split.table(None, schema, limit=7)["_doc"].to_pylist() == list(range(7))
    assert len(split.table(None, schema, limit=0)) == 0
    assert len(split.table(None, schema, limit=5000)) == 1000


def test_columns_are_null_when_the_split_lacks_them(tmp_path):
    split = open_rows(tmp_path, some_rows(10))
    schema = pa.schema([("later", pa.list_(pa.int32())), ("number", pa.int64())])
    found = split.table(None, schema)
    assert found["later"].null_count == 10
    assert found.schema == schema
    assert split.count({"type": "exists", "field": "later"}) == 0
    assert split.count({"type": "not", "arg": {"type": "exists", "field": "later"}}) == 10


def test_the_file_is_named_when_it_is_missing_or_damaged(tmp_path):
    store, path = write_split(tmp_path, some_rows(200))
    with pytest.raises(StorageError, match=r"nothing\.split"):
        Split(store, "nothing.split")
    whole = (tmp_path / path).read_bytes()
    (tmp_path / "cut.split").write_bytes(whole[:-100])
    with pytest.raises(CorruptError, match=r"cut\.split"):
        Split(store, "cut.split")
    with pytest.raises(CorruptError, match="the log says"):
        Split(store, "cut.split", footer=(10, len(whole)))


@pytest.mark.parametrize("seed", range(30))
def test_damage_is_an_error_and_never_a_crash(tmp_path, seed):
    import random

    from indextables.errors import IndexTablesError

    store, path = write_split(tmp_path, some_rows(300))
    data = bytearray((tmp_path / path).read_bytes())
    rnd = random.Random(seed)
    for _ in range(20):
        data[rnd.randrange(len(data))] = rnd.randrange(256)
    (tmp_path / "bad.split").write_bytes(data)
    try:
        split = Split(store, "bad.split", schema=SCHEMA)
        split.count({"type": "term", "field": "message", "value": "error"})
        split.table(None, SCHEMA)
    except IndexTablesError:
        pass
