"""Changes of versions with other columns than the table that is open."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables
from indextables.api.ask import open_table
from indextables.cli.search import new_matches
from indextables.errors import IndexTablesError

REPLACE = {"overwriteSchema": "true"}


def write(path: str, mode: str = "append", *by: str, options=None, **columns: list) -> None:
    indextables.write(pa.table(columns), path, mode, by, options=options)


@pytest.mark.parametrize(
    ("by", "replaced", "detail"),
    [
        ([], {"id": [9], "x": ["nine"]}, "column `x` is long, now string"),
        (["x"], {"id": [9], "x": [9]}, "it is partitioned by x, now by none"),
    ],
)
def test_rows_that_cannot_be_read_are_an_error(table_path, by, replaced, detail):
    write(table_path, "append", *by, id=[1], x=[1])
    older = indextables.open(table_path)
    following = new_matches(open_table(table_path, {}), ["id"], None, "*", 0.01)
    write(table_path, "overwrite", options=REPLACE, **replaced)
    write(table_path, id=[10], x=replaced["x"])
    table = indextables.open(table_path)
    for first, last in ((0, None), (1, 1), (2, 2)):
        with pytest.raises(IndexTablesError, match=rf"CHANGES_SCHEMA.*of version 1 .*{detail}"):
            table.changes(first, last)
    with pytest.raises(IndexTablesError, match="CHANGES_SCHEMA"):
        next(following)
    assert table.changes(3)["id"].to_pylist() == [10]
    assert older.changes(0)["x"].to_pylist() == [1]


def test_columns_may_come_go_and_widen(table_path):
    rows = pa.table({"id": pa.array([1], pa.int32()), "s": [{"a": 1, "b": 2}], "gone": ["x"]})
    indextables.write(rows, table_path)
    wider = pa.table({"id": pa.array([2], pa.int64()), "new": ["y"], "s": [{"b": 3, "c": 4}]})
    indextables.write(wider, table_path, options={"mergeSchema": "true"})
    replaced = pa.table({"id": pa.array([3], pa.int64()), "s": [{"b": 5}]})
    indextables.write(replaced, table_path, "overwrite", options=REPLACE)
    found = indextables.open(table_path).changes(0).sort_by([("_commit_version", "ascending")])
    assert found["id"].to_pylist()[:2] == [1, 2]
    assert [row["b"] for row in found["s"].to_pylist()[:2]] == [2, 3]
    assert sorted(found["_change_type"].to_pylist()) == ["delete"] * 2 + ["insert"] * 3
