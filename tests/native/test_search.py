"""Orders, scores, snippets, and the internals of splits."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from indextables.engine.split import Split
from indextables.errors import IndexTablesError
from rows import SCHEMA, open_again, open_rows, some_rows, write_split

DOC = pa.schema([("_doc", pa.int64())])


def key(value: Any) -> Any:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, str):
        return value.encode()
    return value


@pytest.fixture(scope="module", params=["compatible", "companion", "bare"])
def data(request, tmp_path_factory):
    rows = some_rows(9000)
    folder = tmp_path_factory.mktemp("split")
    store, path = write_split(folder, rows, layout=request.param)
    gone = BitMap(range(0, 9000, 5))
    cut = open_again(folder, store, path, SCHEMA, gone.serialize())
    return rows, open_again(folder, store, path, SCHEMA), gone, cut


@pytest.mark.parametrize(
    "column", ["flag", "number", "double", "price", "huge", "name", "day", "at"]
)
@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("nulls_first", [True, False])
def test_the_first_rows_by_a_column_are_exact(data, column, ascending, nulls_first):
    rows, _, gone, split = data
    values = rows[column].to_pylist()
    docs = [doc for doc in range(len(values)) if doc not in gone]
    there = sorted(
        (doc for doc in docs if values[doc] is not None),
        key=lambda doc: key(values[doc]),
        reverse=not ascending,
    )
    if not ascending:  # ties stay in document order
        there = sorted(there)
        there.sort(key=lambda doc: key(values[doc]), reverse=True)
    nulls = [doc for doc in docs if values[doc] is None]
    want = nulls + there if nulls_first else there + nulls
    order = [{"field": column, "ascending": ascending, "nulls_first": nulls_first}]
    for limit in (1, 50, 3000):
        found = split.table(None, DOC, order=order, limit=limit)
        assert found["_doc"].to_pylist() == want[:limit]


def test_several_columns_order_together(data):
    rows, split, *_ = data
    order = [{"field": "name", "ascending": False}, {"field": "big", "ascending": True}]
    schema = pa.schema([SCHEMA.field("name"), SCHEMA.field("big"), ("_doc", pa.int64())])
    found = split.table(None, schema, order=order, limit=200)
    pairs = list(zip(rows["name"].to_pylist(), rows["big"].to_pylist(), strict=True))
    docs = sorted(range(len(pairs)), key=lambda d: (pairs[d][1] is not None, pairs[d][1] or 0))
    docs.sort(key=lambda d: (pairs[d][0] is not None, key(pairs[d][0] or "")), reverse=True)
    assert found["_doc"].to_pylist() == docs[:200]
    assert found["name"].to_pylist() == [pairs[doc][0] for doc in docs[:200]]


def test_scores_follow_how_well_words_match(tmp_path):
    texts = ["error", "error error and more words here", "nothing", "timeout", "error timeout"]
    rows = pa.table({"message": texts, "level": ["a", "b", "a", "b", "a"]})
    split = open_rows(tmp_path, rows)
    schema = pa.schema([("_doc", pa.int64()), ("_score", pa.float32())])
    search = {"type": "search", "query": "error OR timeout", "fields": ["message"]}
    best = split.table(search, schema, order="score", limit=10)
    scores = best["_score"].to_pylist()
    assert best["_doc"].to_pylist()[0] == 4
    assert sorted(best["_doc"].to_pylist()) == [0, 1, 3, 4]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0
    assert (
        split.table(search, schema, order="score", limit=2)["_doc"].to_pylist()
        == (best["_doc"].to_pylist()[:2])
    )
    streamed = split.table(search, schema)
    assert streamed["_doc"].to_pylist() == [0, 1, 3, 4]
    by_doc = dict(zip(best["_doc"].to_pylist(), scores, strict=True))
    assert streamed["_score"].to_pylist() == [by_doc[doc] for doc in (0, 1, 3, 4)]
    both = {"type": "and", "args": [search, {"type": "term", "field": "level", "value": "a"}]}
    filtered = split.table(both, schema, order="score", limit=10)
    assert filtered["_doc"].to_pylist() == [4, 0]
    assert filtered["_score"].to_pylist() == [by_doc[4], by_doc[0]]


def test_snippets_mark_the_words_that_match(tmp_path):
    long = "start " * 40 + "the Connection was reset by peer, connections too " + "end " * 40
    rows = pa.table({"message": [long, "reset", None, "nothing here"]})
    split = open_rows(tmp_path, rows)
    schema = pa.schema([("_snippet", pa.string())])
    snippet = {"fields": ["message"], "max_chars": 60, "pre": "[", "post": "]"}
    search = {"type": "search", "query": '"connection was reset" OR peer', "fields": ["message"]}
    found = split.table(search, schema, snippet=snippet)["_snippet"].to_pylist()
    assert "[Connection] [was] [reset] by [peer]" in found[0]
    assert len(found[0].replace("[", "").replace("]", "")) <= 60
    everything = split.table(None, schema, snippet=snippet)["_snippet"].to_pylist()
    assert everything[1:] == ["reset", None, "nothing here"]
    wild = {"type": "search", "query": "conn* OR reset", "fields": ["message"]}
    found = split.table(wild, schema, snippet={**snippet, "max_chars": 200})
    assert "[Connection] was [reset]" in found["_snippet"][0].as_py()
    assert "[connections]" in found["_snippet"][0].as_py()
    with pytest.raises(IndexTablesError):
        split.table(None, schema)


@pytest.mark.parametrize("names", [["message", "_snippet"], ["_snippet", "message"]])
def test_a_column_is_there_beside_its_snippets(tmp_path, names):
    rows = pa.table({"message": ["the connection was reset", None, "fine"]})
    split = open_rows(tmp_path, rows)
    schema = pa.schema([(name, pa.string()) for name in names])
    found = split.table(None, schema, snippet={"fields": ["message"]})
    assert found["message"].to_pylist() == rows["message"].to_pylist()
    assert found["_snippet"].null_count == 1


def test_a_split_describes_its_inside(data):
    _, split, *_ = data
    about = split.describe()
    assert about["num_docs"] == 9000
    assert about["segments"] == 1
    assert {column["name"] for column in about["columns"]} == set(SCHEMA.names)
    sizes = {part["component_key"]: part["size_bytes"] for part in split.components()}
    columnar = any(column["fast"] for column in about["columns"])
    fast = {"number.fastfield", "name.fastfield"} if columnar else set()
    totals = {"_term_total", "_postings_total", "_positions_total", "_store"}
    assert fast | totals | {"message.fieldnorm"} <= sizes.keys()
    assert 0 < sum(sizes.values()) < about["size"]


def test_verifying_finds_one_changed_byte(tmp_path):
    store, path = write_split(tmp_path, some_rows(500))
    split = Split(store, path)
    assert Split.verify(store, path) == []
    data = bytearray((tmp_path / path).read_bytes())
    data[10] ^= 1
    (tmp_path / "changed.split").write_bytes(data)
    problems = Split.verify(store, "changed.split")
    assert problems
    assert {file for file, _ in problems} <= split.describe()["files"].keys()
