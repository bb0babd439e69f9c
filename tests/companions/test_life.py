"""The life of an index: merges of different splits, prewarming, purging, restoring, eviction."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.companions.index import INDEXED, Index
from tests.companions.questions import open_index


class HandMadeSource:
    """A source with rows that the test provides."""

    lossy = False

    def __init__(self, kind: str, location: Path) -> None:
        self.kind, self.location = kind, str(location)

    def now(self):
        return "", []


def rows(*numbers: int, **more: pa.Array) -> pa.Table:
    columns = {
        "id": pa.array(numbers, pa.int64()),
        "message": [f"word{n} {'even' if n % 2 == 0 else 'odd'}" for n in numbers],
    }
    return pa.table(columns | more)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    delta = tmp_path / "delta"
    write_deltalake(delta, rows(1, 2, 3))
    made = Index(tmp_path, HandMadeSource("DELTA", delta), "INDEXING MODES ('message':'text')")
    made.build()
    made.clauses = ""
    return made


def ids(index: Index, **options: str) -> list[int]:
    return sorted(open_index(index.location, **options).scan(["id"])["id"].to_pylist())


def merge(index: Index) -> None:
    (done,) = index.run(f"MERGE SPLITS '{index.location}'")
    assert done["metrics"]["status"] == "success", done


def test_splits_of_different_columns_are_merged(index: Index):
    """A column was added between the splits: the merge reindexes rows from the source."""
    extra = pa.array([10, None], pa.int64())
    write_deltalake(
        index.history.location, rows(4, 5, extra=extra), mode="append", schema_mode="merge"
    )
    index.build()
    assert open_index(index.location).num_files == 2
    merge(index)
    table = open_index(index.location)
    assert table.num_files == 1
    for options in ({}, INDEXED):
        table = open_index(index.location, **options)
        assert table.search("even", ["id"], limit=9)["id"].to_pylist() == [2, 4]
        assert table.scan(where="extra = 10")["id"].to_pylist() == [4]
        assert table.count(where="extra IS NULL") == 4
        assert table.aggregate(["sum(extra)"]).to_pylist() == [{"sum(extra)": 10}]
    assert index.build()["status"] == "no_action"


def test_splits_of_different_encodings_are_merged(tmp_path: Path):
    """Only one split has dates that must be stored as integers."""
    source = tmp_path / "source"
    source.mkdir()
    seen = pa.array([1, 2], pa.date32())
    pq.write_table(rows(1, 2, seen=seen), source / "a.parquet")
    made = Index(tmp_path, HandMadeSource("PARQUET", source), "INDEXING MODES ('message':'text')")
    made.build()
    far = pa.array([2_000_000_000, None], pa.int32()).cast(pa.date32())
    pq.write_table(rows(3, 4, seen=far), source / "b.parquet")
    made.clauses = ""
    made.build()
    kinds = {row["docMappingRef"] for row in open_index(made.location).files().to_pylist()}
    assert len(kinds) == 2, "the splits have the same encoding: nothing to test"
    merge(made)
    for options in ({}, INDEXED):
        table = open_index(made.location, **options)
        assert table.num_files == 1
        assert sorted(table.scan(["id"])["id"].to_pylist()) == [1, 2, 3, 4]
        assert table.count(where="seen < DATE '1970-01-03'") == 1
        assert table.search("even", ["id"])["id"].to_pylist() == [2, 4]


def test_a_merge_keeps_rows_that_may_come_back(index: Index):
    write_deltalake(index.history.location, rows(4, 5), mode="append")
    index.build()
    DeltaTable(index.history.location).delete("id = 4")
    index.build()
    merge(index)
    assert ids(index) == ids(index, **INDEXED) == [1, 2, 3, 5]
    DeltaTable(index.history.location).restore(1)
    assert ids(index) == [1, 2, 3, 4, 5]
    index.build()
    assert ids(index, **INDEXED) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("segments", ["PARQUET_COLS", "PARQUET_FAST", "TERM, PARQUET_COLS"])
def test_prewarming_reads_the_source(index: Index, segments: str):
    text = f"PREWARM INDEXTABLES CACHE '{index.location}' FOR SEGMENTS ({segments})"
    (done,) = index.run(text)
    assert (done["status"], done["splits_prewarmed"]) == ("success", 1)
    for file in Path(index.history.location).glob("*.parquet"):
        file.unlink()
    (done,) = index.run(f"{text} ON FIELDS (message)")
    if segments == "PARQUET_FAST":
        # searched words come from the index and have no columnar copy
        assert done["status"] == "success"
    else:
        assert done["status"].startswith("error: ")
        assert "parquet" in done["status"]


def test_purging_leaves_the_source_alone(tmp_path: Path):
    """The index is in the folder of its source; old files that it does not name are not its own."""
    source = tmp_path / "delta"
    write_deltalake(source, rows(1, 2))
    made = Index(tmp_path, HandMadeSource("DELTA", source), "INDEXING MODES ('message':'text')")
    made.location = str(source)
    made.build()
    write_deltalake(source, rows(3), mode="overwrite")
    made.clauses = ""
    made.build()
    before = {path for path in source.rglob("*") if path.suffix != ".split"}
    (source / "left-behind.split").write_bytes(b"of a writer that died")
    for path in source.rglob("*"):
        os.utime(path, (1, 1))
    made.run(f"PURGE INDEXTABLE '{made.location}' OLDER THAN 24 HOURS")
    assert not (source / "left-behind.split").exists()
    assert before <= set(source.rglob("*"))
    assert ids(made) == ids(made, **INDEXED) == [3]
    assert ids(made, sourceVersionAsOf="0") == [1, 2]
