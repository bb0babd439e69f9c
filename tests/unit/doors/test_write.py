"""`indextables.write`: Arrow tables into a table, without Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import indextables
from indextables.errors import InvalidError, SchemaMismatchError, TableExistsError


def ids(path: str) -> list[int]:
    return sorted(indextables.open(path).scan(["id"])["id"].to_pylist())


def rows(*values: int) -> pa.Table:
    return pa.table({"id": list(values), "name": [f"n{v}" for v in values]})


def test_modes(table_path):
    indextables.write(rows(1, 2), table_path)
    indextables.write(rows(3), table_path)
    assert ids(table_path) == [1, 2, 3]
    assert indextables.write(rows(9), table_path, mode="ignore").version == 2
    with pytest.raises(TableExistsError):
        indextables.write(rows(9), table_path, mode="errorifexists")
    assert indextables.write(rows(4), table_path, mode="overwrite").num_rows == 1
    assert ids(table_path) == [4]
    with pytest.raises(InvalidError, match="SAVE_MODE"):
        indextables.write(rows(9), table_path, mode="upsert")


@pytest.mark.parametrize("partition_by", [[], ["name"]])
def test_replace_where_replaces_the_rows_of_the_condition(table_path, partition_by):
    indextables.write(rows(1, 2, 3, 4), table_path, partition_by=partition_by)
    where = {"replaceWhere": "name = 'n2'" if partition_by else "id = 2 OR name = 'n2'"}
    twice = pa.table({"id": [2, 2], "name": ["n2", "n2"]})
    indextables.write(twice, table_path, mode="overwrite", options=where)
    assert ids(table_path) == [1, 2, 2, 3, 4]
    files = sorted(Path(table_path).rglob("*.split"))
    with pytest.raises(InvalidError, match="OVERWRITE_OUTSIDE"):
        indextables.write(rows(2, 9), table_path, mode="overwrite", options=where)
    assert ids(table_path) == [1, 2, 2, 3, 4]
    assert sorted(Path(table_path).rglob("*.split")) == files


def test_columns_fit_the_table(table_path):
    indextables.write(rows(1), table_path)
    indextables.write(pa.table({"ID": [2]}), table_path)
    found = indextables.open(table_path).scan(where="id = 2").to_pylist()
    assert found == [{"id": 2, "name": None}]
    with pytest.raises(SchemaMismatchError):
        indextables.write(pa.table({"id": [3], "more": [1]}), table_path)


def test_partitions(table_path):
    data = pa.table({"id": [3, 1, 2], "kind": ["b", "a", "b"]})
    table = indextables.write(data, table_path, partition_by=["kind"])
    assert (table.num_files, table.partition_columns) == (2, ("kind",))
    assert sorted(table.scan(["id"], where="kind = 'b'")["id"].to_pylist()) == [2, 3]


def test_types_come_back(table_path):
    data = pa.table(
        {
            "wide": pa.array(["x", None], pa.large_string()),
            "coded": pa.array(["a", "b"]).dictionary_encode(),
            "price": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
            "day": pa.array([dt.date(2026, 1, 1), None]),
            "at": pa.array(
                [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), None], pa.timestamp("ms", "UTC")
            ),
            "tags": pa.array([["p", None], []], pa.list_(pa.string())),
            "inner": pa.array([{"a": 1, "b": "z"}, None]),
            "pairs": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    found = indextables.write(data, table_path).scan(data.column_names)
    assert found.to_pylist() == data.to_pylist()


def test_a_type_without_a_place_is_refused(table_path):
    with pytest.raises(NotImplementedError, match="column `t`"):
        indextables.write(pa.table({"t": pa.array([1], pa.time64("us"))}), table_path)


def test_rows_with_a_known_key_are_replaced(table_path):
    indextables.write(rows(1, 2), table_path, options={"primary-key": "id"})
    again = pa.table({"id": [2, 3], "name": ["new", "three"]})
    indextables.write(again, table_path)
    found = indextables.open(table_path).scan(["id", "name"]).sort_by("id").to_pylist()
    assert [row["name"] for row in found] == ["n1", "new", "three"]


def test_splits_end_after_the_rows_that_fill_them_when_the_table_tells(table_path):
    first = indextables.write(rows(*range(100)), table_path)
    chunks = pa.concat_tables([rows(*range(start, start + 10)) for start in range(100, 350, 10)])
    balanced = {
        "write.optimizeWrite.enabled": "true",
        "write.optimizeWrite.distributionMode": "balanced",
        "write.optimizeWrite.minRowsForEstimation": "100",
        "write.optimizeWrite.maxSplitSize": str(first.size_bytes),
    }
    table = indextables.write(chunks, table_path, options=balanced)
    assert sorted(table.files()["numRecords"].to_pylist()) == [50, 100, 100, 100]
