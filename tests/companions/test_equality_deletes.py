"""Equality deletes of Iceberg remove the rows with the values from older files, and no others."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyroaring import BitMap
from tests.companions.iceberg_deletes import delete_positions, delete_values
from tests.companions.index import INDEXED, Index
from tests.companions.questions import open_index

from indextables.sources.iceberg_deletes import matching_rows

SCHEMA = pa.schema([("id", pa.int64()), ("level", pa.string()), ("message", pa.string())])


def rows(*values):
    return pa.table(
        [[v[0] for v in values], [v[1] for v in values], [f"word{v[0]}" for v in values]],
        schema=SCHEMA,
    )


class _Iceberg:
    kind, lossy = "ICEBERG", False

    def __init__(self, folder, partitioned):
        self.catalog = SqlCatalog(
            "c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/wh"
        )
        self.catalog.create_namespace("ns")
        self.table = self.catalog.create_table("ns.t", SCHEMA, properties={"format-version": "2"})
        self.location = f"{folder}/wh/ns/t"
        if partitioned:
            with self.table.update_spec() as spec:
                spec.add_identity("level")

    def now(self):
        return "", []


@pytest.fixture(params=[False, True], ids=["plain", "partitioned"])
def source(request, tmp_path):
    made = _Iceberg(tmp_path, request.param)
    yield made
    made.catalog.close()


def ids(index, **options):
    return sorted(open_index(index.location, **options).scan(["id"])["id"].to_pylist())


def test_older_rows_are_gone_and_newer_ones_stay(source, tmp_path):
    table = source.table
    table.append(rows((1, "a"), (2, "b"), (3, None), (4, None)))
    index = Index(tmp_path, source, "INDEXING MODES ('message':'text')")
    index.build()
    index.clauses = ""
    by_level = {task.file.partition[0] if table.spec().fields else None: task
                for task in table.scan().plan_files()}  # fmt: skip
    first = by_level[None]
    values = pa.table([[2, 3, 9], [None, None, None]], schema=SCHEMA.remove(2))
    delete_values(table, values, first)
    # 2 has a level; null equals null
    assert ids(index) == [1, 2, 4]
    assert ids(index, **INDEXED) == [1, 2, 3, 4]
    table.append(rows((3, None), (5, "b")))
    assert ids(index) == [1, 2, 3, 4, 5]
    table = open_index(index.location)
    assert table.search("word3", ["id"])["id"].to_pylist() == [3]
    assert table.count(query="word3 OR word4") == 2
    done = index.build()
    assert done["parquet_files_indexed"] > 0
    assert ids(index, **INDEXED) == [1, 2, 3, 4, 5]


def test_positions_and_values_together(tmp_path):
    source = _Iceberg(tmp_path, partitioned=False)
    table = source.table
    table.append(rows((1, "a"), (2, "b"), (3, "c"), (4, "d")))
    (task,) = table.scan().plan_files()
    delete_positions(table, task, [0])
    index = Index(tmp_path, source, "INDEXING MODES ('message':'text')")
    index.build()
    assert ids(index, **INDEXED) == [2, 3, 4]
    delete_values(table, pa.table({"level": pa.array(["b", "x"])}))
    delete_values(table, pa.table({"id": pa.array([4], pa.int64())}))
    assert ids(index) == [3]
    assert open_index(index.location).aggregate(["sum(id)"]).to_pylist() == [{"sum(id)": 3}]
    # after the column is dropped, the rows it deleted stay deleted
    with table.update_schema() as change:
        change.delete_column("level")
    assert ids(index) == [3]
    index.clauses = ""
    index.build()
    assert ids(index, **INDEXED) == [3]
    source.catalog.close()


@pytest.mark.parametrize(
    ("kept", "deleted", "expected"),
    [
        ({"a": [1, 2, None]}, {"a": [2, None]}, [1, 2]),
        ({"a": [1, 1, 2], "b": ["x", "y", "x"]}, {"a": [1, 2], "b": ["y", "y"]}, [1]),
        ({"a": [1.5, float("nan")]}, {"a": [float("nan")]}, [1]),
        ({"a": []}, {"a": [1]}, []),
        ({"a": [1]}, {"a": []}, []),
    ],
)
def test_rows_with_the_values_of_deleted_rows(kept, deleted, expected):
    kind = pa.table(kept).schema if any(kept.values()) else pa.table(deleted).schema
    found = matching_rows(pa.table(kept, schema=kind), pa.table(deleted, schema=kind))
    assert found == BitMap(expected)
