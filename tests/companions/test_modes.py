"""Indexing modes change what a search finds, but not the answers of predicates."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.companions.index import INDEXED, Index
from tests.companions.questions import open_index
from tests.companions.test_life import HandMadeSource

from indextables.errors import IndexTablesError

UUID = "550e8400-e29b-41d4-a716-446655440000"
OTHER = "550e8400-e29b-41d4-a716-446655440001"
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "message": [
            f"request {UUID.upper()} failed",
            f"request {OTHER} done, ABC-12",
            "request failed: abc 12",
            None,
        ],
        "key": ["a", "b", "a", None],
    }
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    pq.write_table(ROWS.slice(0, 2), folder / "a.parquet")
    return folder


def built(folder: Path, source: Path, modes: str) -> Index:
    """An index of the first half of the rows; the others are pending."""
    index = Index(folder, HandMadeSource("PARQUET", source), f"INDEXING MODES ({modes})")
    index.build()
    index.clauses = ""
    pq.write_table(ROWS.slice(2), source / "b.parquet")
    return index


def found(index: Index, query: str, **options: str) -> list[int]:
    table = open_index(index.location, **options)
    return sorted(table.search(query, ["id"])["id"].to_pylist())


@pytest.mark.parametrize("when", ["pending", "indexed"])
@pytest.mark.parametrize(
    ("mode", "hits"),
    [
        ("text", {f'"{UUID}"': [1], "550e8400": [1, 2], "abc": [2, 3], '"request failed"': [3]}),
        ("text_uuid_strip", {f'"{UUID}"': [], "e29b": [], '"request failed"': [1, 3]}),
        ("TEXT_UUID_exactonly", {f'"{UUID}"': [1], "550e8400": [], '"request failed"': [3]}),
        ("text_custom_strip:[A-Z]+-[0-9]+", {"abc": [3], "12": [3], "done": [2]}),
        ("text_custom_exactonly:[A-Z]+-[0-9]+", {'"ABC-12"': [2], "abc": [3], "12": [3]}),
    ],
)
def test_modes_of_text(tmp_path: Path, source: Path, mode: str, hits: dict, when: str):
    index = built(tmp_path, source, f"'message':'{mode}'")
    options = {}
    if when == "indexed":
        index.build()
        options = INDEXED
    for query, ids in hits.items():
        assert found(index, query, **options) == ids, query
    # predicates compare values, whatever the index stores of them
    table = open_index(index.location, **options)
    assert table.count(where=f"message LIKE '%{OTHER}%'") == 1
    assert table.count(where="message IS NULL") == 1
    assert table.scan(["message"], where="id = 1")["message"].to_pylist() == [
        f"request {UUID.upper()} failed"
    ]


KEYED = {
    "key = 'a'": [1, 3],
    "key IN ('a', 'b', 'c')": [1, 2, 3],
    "key <> 'a'": [2],
    "NOT (key = 'b')": [1, 3],
    "key LIKE 'b%'": [2],
    "key > 'a'": [2],
    "key IS NULL": [4],
    "key = 'A'": [],
    "key = 'a' AND message LIKE '%failed'": [1],
}


@pytest.mark.parametrize("when", ["pending", "indexed"])
def test_whole_values_by_their_hash(tmp_path: Path, source: Path, when: str):
    index = built(tmp_path, source, "'key':'exact_only'")
    options = {}
    if when == "indexed":
        index.build()
        options = INDEXED
    for query, ids in {"key:a": [1, 3], "key:(b OR x)": [2], "key:IN [a b]": [1, 2, 3]}.items():
        assert found(index, query, **options) == ids, query
    table = open_index(index.location, **options)
    for where, ids in KEYED.items():
        assert sorted(table.scan(["id"], where=where)["id"].to_pylist()) == ids, where
        assert table.count(where=where) == len(ids), where
    groups = table.aggregate(["count(*)"], by=["key"])
    assert sorted(map(str, groups["key"].to_pylist())) == ["None", "a", "b"]
    for query in ("key:a*", "key:[a TO b]", "key:/a/", "key:ab~1"):
        with pytest.raises(IndexTablesError, match=r"found by whole values|no order"):
            found(index, query, **options)
    with pytest.raises(IndexTablesError) as failed:
        table.suggest("a", "key")
    assert failed.value.code == "COLUMN_UNKNOWN"


def test_hashed_columns_take_little_room(tmp_path: Path):
    source = tmp_path / "source"
    source.mkdir()
    keys = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(2000)]
    pq.write_table(pa.table({"key": keys}), source / "a.parquet")
    sizes = {}
    for mode in ("string", "exact_only"):
        index = Index(
            tmp_path / mode,
            HandMadeSource("PARQUET", source),
            f"INDEXING MODES ('key':'{mode}') FASTFIELDS MODE PARQUET_ONLY",
        )
        index.build()
        sizes[mode] = sum(open_index(index.location).files()["size"].to_pylist())
        table = open_index(index.location)
        assert table.scan(where=f"key = '{keys[7]}'").num_rows == 1
        assert table.search(f"key:{keys[7]}").num_rows == 1
    assert sizes["exact_only"] < 0.6 * sizes["string"], sizes


@pytest.mark.parametrize(
    "mode", ["text_custom_strip", "text_custom_strip:", "text_custom_exactonly:(", "text_uuid"]
)
def test_modes_that_do_not_exist(tmp_path: Path, source: Path, mode: str):
    with pytest.raises(IndexTablesError) as failed:
        built(tmp_path, source, f"'message':'{mode}'")
    assert failed.value.code == "COMPANION_CLAUSE"


def test_modes_are_remembered_with_their_pattern(tmp_path: Path, source: Path):
    index = built(tmp_path, source, "'message':'Text_Custom_Strip:[A-Z]+'")
    index.clauses = "INDEXING MODES ('message':'text_custom_strip:[A-Z]+')"
    assert index.build()["status"] == "success"
    index.clauses = "INDEXING MODES ('message':'text_custom_strip:[a-z]+')"
    with pytest.raises(IndexTablesError) as failed:
        index.build()
    assert failed.value.code == "COMPANION_CHANGED"
