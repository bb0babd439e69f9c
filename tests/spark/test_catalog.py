"""Tables in Spark's session catalog."""

from __future__ import annotations

import pytest
from pyspark.sql.functions import col

from indextables.log import open_log
from indextables.storage import open_store


@pytest.fixture
def name(spark):
    """A table name that does not exist before and after the test."""
    spark.sql("DROP TABLE IF EXISTS events")
    yield "events"
    spark.sql("DROP TABLE IF EXISTS events")


def rows(spark, sql: str) -> list[tuple]:
    return sorted(tuple(row) for row in spark.sql(sql).collect())


def test_managed_table_lives_through_its_statements(spark, name):
    spark.sql(
        f"CREATE TABLE {name} (id INT, message STRING, kind INT) USING indextables "
        "PARTITIONED BY (kind) TBLPROPERTIES ('spark.indextables.indexing.typemap.message'='text')"
    )
    assert rows(spark, f"SELECT * FROM {name}") == []
    spark.sql(f"INSERT INTO {name} VALUES (1, 'one fox', 1), (2, 'two dog', 1), (3, 'a fox', 2)")
    assert rows(spark, f"SELECT id FROM {name} WHERE message indexquery 'fox'") == [(1,), (3,)]
    spark.sql(f"INSERT INTO {name} (kind, id, message) VALUES (3, 4, 'four')")
    spark.sql(f"INSERT OVERWRITE {name} PARTITION (kind = 1) VALUES (9, 'nine')")
    assert rows(spark, f"SELECT id FROM {name}") == [(3,), (4,), (9,)]
    spark.sql(f"DELETE FROM {name} WHERE id = 4")
    assert rows(spark, f"SELECT id, _doc FROM {name} WHERE id = 9") == [(9, 0)]
    spark.sql(f"TRUNCATE TABLE {name}")
    assert rows(spark, f"SELECT * FROM {name}") == []


def test_ctas_save_as_table_and_write_to(spark, name):
    spark.sql(f"CREATE TABLE {name} USING indextables AS SELECT id FROM range(3)")
    spark.range(3, 5).write.insertInto(name)
    spark.range(5, 6).writeTo(name).append()
    assert spark.table(name).count() == 6
    spark.range(2).write.format("indextables").mode("overwrite").saveAsTable(name)
    assert spark.table(name).count() == 2


def test_external_table_takes_the_schema_of_its_place(spark, name, table_path):
    spark.range(4).write.format("indextables").save(table_path)
    spark.sql(f"CREATE TABLE {name} USING indextables LOCATION '{table_path}'")
    assert spark.table(name).count() == 4
    spark.sql(f"INSERT INTO {name} VALUES (100)")
    assert spark.read.format("indextables").load(table_path).count() == 5


def test_create_by_path(spark, table_path):
    spark.sql(f"CREATE TABLE indextables.`{table_path}` (id INT, message STRING)")
    spark.sql(f"INSERT INTO indextables.`{table_path}` VALUES (1, 'x')")
    spark.sql(f"ALTER TABLE indextables.`{table_path}` ADD COLUMN more INT")
    assert rows(spark, f"SELECT * FROM indextables.`{table_path}`") == [(1, "x", None)]


def test_commands_take_paths_and_names(spark, name, table_path):
    for start in (0, 10):
        frame = spark.range(start, start + 10, 1, 1)
        frame.write.format("indextables").mode("append").save(table_path)
    spark.sql(f"CREATE TABLE {name} USING indextables LOCATION '{table_path}'")
    history = spark.sql(f"DESCRIBE INDEXTABLES HISTORY {name}")
    assert history.count() == 3
    merged = spark.sql(f"MERGE SPLITS '{table_path}' TARGET SIZE 100M").collect()[0]
    assert merged["metrics"]["status"] == "success"
    assert merged["metrics"]["merged_files"] == 2
    assert spark.table(name).count() == 20


def test_replace_by_path_is_one_version_that_may_change_everything(spark, table_path):
    target = f"indextables.`{table_path}`"
    spark.range(3).selectExpr("id", "'a' AS kind").writeTo(target).partitionedBy(
        col("kind")
    ).create()
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.range(3).writeTo(target).create()
    before = open_log(open_store(table_path)).snapshot().version
    spark.range(2).selectExpr("cast(id AS string) AS name").writeTo(target).createOrReplace()
    now = open_log(open_store(table_path)).snapshot()
    assert (now.version, now.schema.names, now.partition_columns) == (before + 1, ["name"], ())
    assert rows(spark, f"SELECT * FROM {target}") == [("0",), ("1",)]
    bad = spark.range(2).selectExpr("raise_error('boom') AS other")
    with pytest.raises(Exception, match="boom"):
        bad.writeTo(target).replace()
    assert rows(spark, f"SELECT * FROM {target}") == [("0",), ("1",)]
    spark.sql(f"REPLACE TABLE {target} (id INT)")
    assert rows(spark, f"SELECT * FROM {target}") == []


def test_partitions_are_overwritten_by_those_in_the_data(spark, table_path):
    target = f"indextables.`{table_path}`"
    both = spark.range(6).selectExpr("id", "id % 2 AS kind")
    both.writeTo(target).partitionedBy(col("kind")).create()
    spark.range(1).selectExpr("100L AS id", "1L AS kind").writeTo(target).overwritePartitions()
    assert rows(spark, f"SELECT id FROM {target}") == [(0,), (2,), (4,), (100,)]
