"""`_metadata`: the file of a row, as Spark's file sources describe it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.spark


@pytest.fixture(params=["true", "false"])
def table(request, spark, table_path):
    """A table of two splits, read by the planner or by executors."""
    spark.conf.set("spark.indextables.read.local.enabled", request.param)
    for start in (0, 10):
        frame = spark.range(start, start + 10, 1, 1).selectExpr("id", "id % 2 AS kind")
        frame.write.format("indextables").mode("append").save(table_path)
    yield f"indextables.`{table_path}`"
    spark.conf.unset("spark.indextables.read.local.enabled")


def test_members_describe_the_split(spark, table, table_path):
    columns = "id, _split, _doc, _metadata.file_path, _metadata.file_name, _metadata.file_size"
    found = spark.sql(f"SELECT {columns}, _metadata.row_index FROM {table}").collect()
    assert len(found) == 20
    for row in found:
        file = Path(table_path) / row._split
        assert (row.file_name, row.file_size) == (file.name, file.stat().st_size)
        assert (row.file_path, row.row_index) == (f"file:{file}", row._doc)


def test_it_is_one_column_that_a_query_asks_for(spark, table):
    assert spark.sql(f"SELECT * FROM {table}").columns == ["id", "kind"]
    row = spark.sql(f"SELECT _metadata FROM {table} WHERE id = 13").collect()[0]
    assert list(row._metadata.asDict()) == ["file_path", "file_name", "file_size", "row_index"]
    assert row._metadata.row_index == 3
    counted = spark.sql(f"SELECT _metadata.file_name, count(*) FROM {table} GROUP BY 1").collect()
    assert [row[1] for row in counted] == [10, 10]
    name = counted[0][0]
    some = f"SELECT count(*), min(id) % 10 FROM {table} WHERE _metadata.file_name = '{name}'"
    assert tuple(spark.sql(some).collect()[0]) == (10, 0)


def test_a_column_of_that_name_comes_first(spark, tmp_path):
    path = str(tmp_path / "own")
    frame = spark.range(2).selectExpr("id", "named_struct('row_index', id + 100) AS _metadata")
    frame.write.format("indextables").save(path)
    read = spark.read.format("indextables").load(path)
    assert sorted(row[0] for row in read.select("_metadata.row_index").collect()) == [100, 101]
