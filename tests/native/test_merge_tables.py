"""MERGE SPLITS with the real engine while others change the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables
from indextables.log import Operation
from indextables.rows.change_rows import positions
from indextables.rows.commit_rows import RowChange, commit_rows
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

ROWS = 40


@dataclass
class Interrupted(LocalContext):
    """Runs an action between the planning of a merge and its commit."""

    meanwhile: Any = None

    def tasks(self, kind, payloads, places=()):
        done = super().tasks(kind, payloads, places)
        change, self.meanwhile = self.meanwhile, None
        if change is not None:
            change()
        return done


def rows(first: int, count: int = ROWS, kind: int = 1) -> pa.Table:
    ids = list(range(first, first + count))
    texts = [f"event {i} {'timeout' if i % 3 == 0 else 'fine'}" for i in ids]
    return pa.table({"id": ids, "message": texts, "kind": [kind] * count})


@pytest.fixture
def path(table_path) -> str:
    """Three splits of one partition."""
    options = {"indexing.typemap.message": "text"}
    for first in (0, 100, 200):
        indextables.write(rows(first), table_path, partition_by=["kind"], options=options)
    return table_path


def ids(path: str) -> list[int]:
    return sorted(indextables.open(path).scan(["id"])["id"].to_pylist())


def merge(path: str, meanwhile=None) -> dict:
    context = Interrupted(meanwhile=meanwhile)
    return execute(f"MERGE SPLITS '{path}'", context).to_pylist()[0]["metrics"]


def delete(path: str, where: str) -> None:
    """Delete rows as DELETE does: record their positions."""
    table = indextables.open(path)
    found = table.scan(["_split", "_doc"], where)
    change = RowChange(Operation.DELETE, positions(found))
    commit_rows(table._log, change, table._snapshot, table._table.settings)


WRITTEN = [i for first in (0, 100, 200) for i in range(first, first + ROWS)]


def test_rows_searches_and_statistics_stay_the_same(path):
    before = indextables.open(path)
    found = sorted(before.search("timeout", ["id"], limit=1000)["id"].to_pylist())
    assert merge(path)["merged_files"] == 3
    after = indextables.open(path)
    assert ids(path) == WRITTEN
    assert sorted(after.search("timeout", ["id"], limit=1000)["id"].to_pylist()) == found
    (split,) = after.files().to_pylist()
    assert (split["numRecords"], split["numMergeOps"]) == (3 * ROWS, 1)
    assert dict(split["minValues"])["id"] == "0"
    assert dict(split["maxValues"])["id"] == str(200 + ROWS - 1)


def test_an_append_during_the_merge_survives(path):
    metrics = merge(path, lambda: indextables.write(rows(500, 5), path))
    assert metrics["status"] == "success"
    assert ids(path) == [*WRITTEN, *range(500, 505)]


def test_rows_deleted_during_the_merge_stay_deleted(path):
    merge(path, lambda: delete(path, "id >= 110 AND id < 120"))
    left = [i for i in WRITTEN if not 110 <= i < 120]
    assert ids(path) == left
    merge(path)
    assert ids(path) == left
    assert indextables.open(path).num_files == 1


def test_rows_deleted_before_the_merge_are_gone_for_good(path):
    delete(path, "id < 20")
    assert merge(path)["status"] == "success"
    assert ids(path) == [i for i in WRITTEN if i >= 20]
    (split,) = indextables.open(path).files().to_pylist()
    assert (split["deletionVector"], split["numRecords"]) == (None, 3 * ROWS - 20)


def test_an_overwrite_during_the_merge_wins(path):
    merge(path, lambda: indextables.write(rows(900, 3), path, mode="overwrite"))
    assert ids(path) == [900, 901, 902]


def test_a_partition_dropped_during_the_merge_stays_dropped(path):
    indextables.write(rows(700, 4, kind=2), path)
    statement = f"DROP INDEXTABLES PARTITIONS FROM '{path}' WHERE kind = 1"
    merge(path, lambda: execute(statement, LocalContext()))
    assert ids(path) == [700, 701, 702, 703]


def test_a_damaged_source_is_skipped_and_stays_live(path):
    broken = indextables.open(path).files()["path"][1].as_py()
    file = Path(path) / broken
    content = bytearray(file.read_bytes())
    content[len(content) // 4] ^= 0xFF
    file.write_bytes(content)
    metrics = merge(path)
    assert (metrics["status"], metrics["merged_files"]) == ("partial_success", 2)
    live = indextables.open(path).files()["path"].to_pylist()
    assert broken in live
    assert len(live) == 2
    log = execute(f"DESCRIBE INDEXTABLES TRANSACTION LOG '{path}' INCLUDE ALL", LocalContext())
    skips = [row for row in log.to_pylist() if row["action_type"] == "skip"]
    assert [skip["path"] for skip in skips] == [broken]
    assert skips[0]["skip_retry_after"] > skips[0]["skip_timestamp"]
    assert merge(path)["status"] == "no_action"


@pytest.mark.parametrize("layout", ["compatible", "lean"])
def test_strings_of_deleted_rows_leave_the_table_with_a_merge(table_path, layout):
    """The statistics do not have them either, and are still bounds of the remaining rows."""
    names = ["anna", "bert", "carl", "zoe"]
    given = pa.table(
        {"id": [1, 2, 3, 4], "name": names, "text": [f"{name} here" for name in names]}
    )
    options = {"indexing.typemap.text": "text", "indexing.layout": layout}
    indextables.write(given, table_path, options=options)
    indextables.write(given.slice(1, 2), table_path)
    delete(table_path, "id IN (1, 4)")
    assert merge(table_path)["status"] == "success"
    (entry,) = indextables.open(table_path).files().to_pylist()
    low, high = dict(entry["minValues"]), dict(entry["maxValues"])
    assert (low["name"], high["name"]) == ("bert", "carl")
    assert "text" not in low | high
    split = (Path(table_path) / entry["path"]).read_bytes()
    assert b"anna" not in split
    assert b"zoe" not in split
    assert indextables.open(table_path).count("name >= 'bert' AND name < 'd'") == 4
    assert indextables.open(table_path).count("name = 'anna'") == 0
