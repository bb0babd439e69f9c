"""Strings that are not UTF-8: written, read, found, aggregated and merged byte for byte."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.engine.merge import MergeInput, merge_splits
from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.engine.writer import SplitWriter
from indextables.expr.values import encode
from indextables.model.strings import from_bytes, string_array, strings_of, to_bytes
from indextables.model.types import Atomic

LAYOUTS = ["compatible", "lean"]
STRING = Atomic("string")
BROKEN = [b"a", b"\x80", None, b"\x80\x81", "é".encode(), b"caf\xe9", b"", b"\xed\xa0\x80", b"\xff"]
LONG = [b"x" * 70_000, b"\x80" + b"y" * 70_000, b"z" * 65_530 + b"\xff"]
FIELDS = [{"name": "t", "role": "text"}, {"name": "j", "role": "json"}]
PART = st.lists(st.sampled_from([b"a", b"b", "é".encode(), b"\x80", b"\xc3", b"\xff"]), max_size=4)
STRINGS = st.one_of(st.none(), PART.map(b"".join))


def strings(values):
    return string_array([None if v is None else from_bytes(v) for v in values])


def table(values):
    """A table with the strings in every kind of column."""
    texts = strings(values)
    broken = [None if v is None else b'{"k":"' + v + b'"}' for v in values]
    keys = strings([v or b"" for v in values])
    one = pa.array(range(len(values) + 1), pa.int32())
    return pa.table(
        {
            "id": pa.array(range(len(values))),
            "s": texts,
            "t": texts,
            "j": strings(broken),
            "st": pa.StructArray.from_arrays([texts], ["a"]),
            "l": pa.ListArray.from_arrays(one, texts),
            "m": pa.MapArray.from_arrays(one, keys, texts),
        }
    )


def write(folder, rows, name="a.split", **options):
    store = open_store(str(folder))
    writer = SplitWriter(rows.schema, FIELDS, options)
    for batch in rows.to_batches():
        assert writer.accepts(batch)
        writer.write(batch)
    info = writer.finish(store, name)
    return store, Split(store, name, (info.footer_start, info.footer_end), schema=rows.schema), info


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_string_comes_back(tmp_path, layout):
    rows = table(BROKEN * 3)
    _, split, info = write(tmp_path, rows, layout=layout)
    assert split.table(None, rows.schema).equals(rows)
    assert info.columns["s"].null_count == 3
    for field, nulls in (("s", 3), ("t", 3), ("st", 0)):
        assert split.count({"type": "exists", "field": field}) == len(rows) - nulls
    few = split.table({"type": "term", "field": "id", "value": 5}, rows.schema)
    assert few.equals(rows.slice(5, 1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_long_strings_come_back(tmp_path, layout):
    texts = strings([*LONG, *BROKEN])
    rows = pa.table({"id": pa.array(range(len(texts))), "s": texts, "t": texts})
    store = open_store(str(tmp_path))
    writer = SplitWriter(rows.schema, [{"name": "t", "role": "text"}], {"layout": layout})
    writer.write(rows.to_batches()[0])
    writer.finish(store, "a.split")
    split = Split(store, "a.split", schema=rows.schema)
    assert split.table(None, rows.schema).equals(rows)
    for at, value in enumerate([*LONG, *BROKEN]):
        if value is not None:
            query = {"type": "term", "field": "s", "value": encode(from_bytes(value), STRING)}
            found = split.table(query, rows.schema).column("id").to_pylist()
            assert found == [at]


def term(field, value):
    return {"type": "term", "field": field, "value": encode(from_bytes(value), STRING)}


@pytest.mark.parametrize("layout", LAYOUTS)
@given(values=st.lists(STRINGS, min_size=1, max_size=12), searched=PART.map(b"".join))
def test_predicates_compare_bytes(tmp_path_factory, layout, values, searched):
    rows = table(values)
    _, split, info = write(tmp_path_factory.mktemp("s"), rows, layout=layout)
    literal = encode(from_bytes(searched), STRING)
    bound = {"value": literal, "inclusive": True}
    tests = {
        "term": ({"value": literal}, lambda v: v == searched),
        "prefix": ({"value": literal}, lambda v: v.startswith(searched)),
        "suffix": ({"value": literal}, lambda v: v.endswith(searched)),
        "contains": ({"value": literal}, lambda v: searched in v),
        "range": ({"lower": bound, "upper": None}, lambda v: v >= searched),
        "set": ({"values": [literal, "a"]}, lambda v: v in (searched, b"a")),
    }
    for field in ("s", "t", "st.a"):
        for kind, (members, holds) in tests.items():
            expected = [v is not None and holds(v) for v in values]
            found = split.table({"type": kind, "field": field, **members}, rows.schema)
            assert found.column("id").to_pylist() == [i for i, hit in enumerate(expected) if hit]
    low, high = info.columns["s"].min, info.columns["s"].max
    for value in values:
        if value is not None:
            assert low is None or to_bytes(low) <= value
            assert high is None or value <= to_bytes(high)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_patterns_see_replacement_characters(tmp_path, layout):
    rows = table(BROKEN)
    _, split, _ = write(tmp_path, rows, layout=layout)
    for field in ("s", "t"):
        like = {"type": "like", "field": field, "pattern": "caf_", "escape": "\\"}
        assert split.count(like) == 1
        one = {"type": "like", "field": field, "pattern": "_", "escape": "\\"}
        texts = [v.decode("utf-8", "replace") for v in BROKEN if v is not None]
        # Java makes one character of a surrogate in three bytes
        assert split.count(one) == sum(bool(re.fullmatch(".", t)) for t in texts) + 1
    assert split.count({"type": "token_term", "field": "t", "text": "caf"}) == 1
    assert split.count({"type": "token_wildcard", "field": "s", "pattern": "caf*"}) == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_aggregates_and_orders_are_by_bytes(tmp_path, layout):
    rows = table(BROKEN * 2)
    _, split, _ = write(tmp_path, rows, layout=layout)
    known = [v for v in BROKEN if v is not None]
    for field in ("s", "t"):
        schema = pa.schema([("k", pa.string()), ("n", pa.int64())])
        request = {"group_by": [{"field": field}], "functions": [{"op": "count_star"}]}
        groups = split.aggregate(None, {**request, "ansi": False}, schema)
        found = dict(zip(strings_of(groups["k"]), groups["n"].to_pylist(), strict=True))
        assert found == {None if v is None else from_bytes(v): 2 for v in BROKEN}
        ends = [{"op": "min", "field": field}, {"op": "max", "field": field}]
        schema = pa.schema([("low", pa.string()), ("high", pa.string())])
        both = split.aggregate(None, {"group_by": [], "functions": ends, "ansi": False}, schema)
        assert [strings_of(c)[0] for c in both.columns] == [
            from_bytes(min(known)), from_bytes(max(known)),
        ]  # fmt: skip
        order = [{"field": field, "ascending": True, "nulls_first": False}]
        first = split.table(None, pa.schema([(field, pa.string())]), order=order, limit=100)
        assert strings_of(first[field])[: 2 * len(known)] == [
            from_bytes(v) for v in sorted(known * 2)
        ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_splits_with_and_without_broken_strings_merge(tmp_path, layout):
    parts = [table([b"a", None, b"b"]), table(BROKEN), table([*BROKEN, b"\x80\xff"])]
    for number, part in enumerate(parts):
        store, *_ = write(tmp_path, part, f"{number}.split", layout=layout)
    schema = parts[0].schema
    for names in (("1", "2"), ("0", "1", "2")):
        inputs = [MergeInput(f"{name}.split") for name in names]
        target = f"m{len(names)}.split"
        merge_splits(
            inputs, store, target, schema=schema, fields=FIELDS, options={"layout": layout}
        )
        merged = Split(store, target, schema=schema)
        expected = pa.concat_tables([parts[int(name)] for name in names])
        assert merged.table(None, schema).equals(expected)
        hits = sum(v == b"\x80" for v in strings_bytes(expected["s"]))
        assert merged.count(term("s", b"\x80")) == merged.count(term("st.a", b"\x80")) == hits


def strings_bytes(column):
    return [None if v is None else to_bytes(v) for v in strings_of(column)]


def test_a_batch_with_broken_strings_asks_for_a_split_of_its_own(tmp_path):
    plain, broken = table([b"a", b"b"]), table(BROKEN)
    writer = SplitWriter(plain.schema, FIELDS, {})
    writer.write(plain.to_batches()[0])
    assert not writer.accepts(broken.to_batches()[0])
    writer = SplitWriter(plain.schema, FIELDS, {})
    writer.write(broken.to_batches()[0])
    assert writer.accepts(plain.to_batches()[0])
    writer.write(plain.to_batches()[0])
    store = open_store(str(tmp_path))
    writer.finish(store, "a.split")
    split = Split(store, "a.split", schema=plain.schema)
    assert split.table(None, plain.schema).equals(pa.concat_tables([broken, plain]))


def test_valid_strings_stay_readable_by_others_beside_broken_ones(tmp_path):
    _, split, info = write(tmp_path, table(BROKEN))
    kinds = {field["name"]: field["type"] for field in info.doc_mapping}
    assert kinds["s"] == kinds["t"] == "text"
    assert all(not name.startswith("_indextables") for name in kinds)
    described = {c["name"]: (c["type"], c["encoding"]) for c in split.describe()["columns"]}
    assert described["s"] == ("string", "string_bytes")
    assert described["t"] == ("string", "text")


def test_a_column_that_is_only_searched_reads_as_null(tmp_path):
    rows = pa.table({"id": [1, 2], "t": ["some words", None]})
    store = open_store(str(tmp_path))
    writer = SplitWriter(rows.schema, [{"name": "t", "role": "text", "stored": False}], {})
    writer.write(rows.to_batches()[0])
    writer.finish(store, "a.split")
    split = Split(store, "a.split", schema=rows.schema)
    assert split.table(None, rows.schema)["t"].to_pylist() == [None, None]
    assert split.count({"type": "token_term", "field": "t", "text": "words"}) == 1
