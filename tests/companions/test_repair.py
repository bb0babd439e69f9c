"""REPAIR of a companion that has lost its log: its splits name the source."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.companions.index import INDEXED, Index
from tests.companions.questions import open_index
from tests.companions.test_life import HandMadeSource, ids, merge, rows

from indextables.errors import IndexTablesError

MODES = "INDEXING MODES ('message':'text')"


def repair(index: Index, splits: int) -> None:
    shutil.rmtree(Path(index.location) / "_transaction_log")
    (done,) = index.run(f"REPAIR INDEXFILES TRANSACTION LOG '{index.location}/_transaction_log'")
    assert (done["status"], done["valid_splits"]) == ("SUCCESS", splits)


@pytest.mark.parametrize("merged", [False, True])
def test_a_delta_companion_follows_its_source_again(tmp_path: Path, merged: bool):
    delta = tmp_path / "delta"
    day = [["x", "x", "y"]]
    write_deltalake(delta, rows(1, 2, 3).append_column("day", day), partition_by=["day"])
    index = Index(tmp_path, HandMadeSource("DELTA", delta), MODES)
    index.build()
    index.clauses = ""
    write_deltalake(delta, rows(4).append_column("day", [["x"]]), mode="append")
    index.build()
    if merged:
        merge(index)
    DeltaTable(delta).delete("id = 2")
    # splits that were merged are found again, which changes nothing
    repair(index, 4 if merged else 3)
    assert ids(index) == [1, 3, 4]
    assert open_index(index.location).search("even", ["id"])["id"].to_pylist() == [4]
    with pytest.raises(IndexTablesError) as failed:
        ids(index, **INDEXED)
    assert failed.value.code == "COMPANION_INCOMPLETE"
    # only the file that the delete rewrote is left to index
    assert index.build()["parquet_files_indexed"] == 1
    assert ids(index, **INDEXED) == [1, 3, 4]


def test_a_folder_of_parquet_files_need_not_be_indexed_again(tmp_path: Path):
    source = tmp_path / "source"
    source.mkdir()
    for name, numbers in {"a": (1, 2), "b": (3,)}.items():
        pq.write_table(rows(*numbers), source / f"{name}.parquet")
    index = Index(tmp_path, HandMadeSource("PARQUET", source), MODES)
    index.build()
    index.clauses = ""
    repair(index, 1)
    assert ids(index) == [1, 2, 3]
    assert index.build()["parquet_files_indexed"] == 0
    assert ids(index, **INDEXED) == [1, 2, 3]


def test_splits_that_were_built_in_another_way_are_left_out(tmp_path: Path):
    source = tmp_path / "source"
    source.mkdir()
    pq.write_table(rows(1, 2), source / "a.parquet")
    index = Index(tmp_path, HandMadeSource("PARQUET", source), MODES)
    index.build()
    index.clauses = "INDEXING MODES ('message':'string') INVALIDATE ALL PARTITIONS"
    index.build()
    # the split that indexes words is removed but not purged
    repair(index, 1)
    assert open_index(index.location).search("message:even", ["id"]).num_rows == 0
    assert open_index(index.location).search('message:"word2 even"', ["id"])["id"].to_pylist() == [
        2
    ]
    index.clauses = ""
    assert index.build()["parquet_files_indexed"] == 0
