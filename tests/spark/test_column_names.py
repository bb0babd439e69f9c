"""Columns with blanks, dots, backticks, quotes and letters of any script work everywhere."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as sf

import indextables
from indextables import IndexTable

pytestmark = pytest.mark.spark
NAMES = ["a b", "a.b", "tick`ed", "it's", 'say "hi"', "größe", "日本", "a-b", "a:b", "x+y", "1st"]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.fixture
def target(spark, table_path):
    """A table with such names for all columns but `id`."""
    columns = [sf.col("id"), *(sf.concat(sf.lit(f"{n} w"), sf.col("id")).alias(n) for n in NAMES)]
    frame = spark.range(4).select(*columns)
    frame.write.format("indextables").option("indexing.typemap.a b", "text").save(table_path)
    return table_path


@pytest.mark.parametrize("name", NAMES)
def test_reading(spark, target, name):
    table, column = f"indextables.`{target}`", quoted(name)
    equal = f"{name} w1".replace("'", "\\'")
    if name != "a b":
        text = f"SELECT id FROM {table} WHERE {column} = '{equal}'"
        assert spark.sql(text).collect() == [(1,)]
    assert spark.sql(f"SELECT max({column}) FROM {table}").first()[0] == f"{name} w3"
    groups = spark.sql(f"SELECT {column}, count(*) FROM {table} GROUP BY {column}").collect()
    assert sorted(tuple(row) for row in groups) == [(f"{name} w{i}", 1) for i in range(4)]
    last = spark.sql(f"SELECT id FROM {table} ORDER BY {column} DESC LIMIT 1").collect()
    assert last == [(3,)]
    found = spark.sql(f"SELECT id FROM {table} WHERE {column} LIKE '%w2'").collect()
    assert found == [(2,)]
    assert indextables.open(target).count(f"{column} LIKE '%w2'") == 1


def test_search(spark, target):
    table = f"indextables.`{target}`"
    assert spark.sql(f"SELECT id FROM {table} WHERE `a b` indexquery 'w2'").collect() == [(2,)]
    frame = spark.read.format("indextables").load(target)
    assert frame.where("`a b` indexquery 'w1 OR w3'").count() == 2


@pytest.mark.parametrize("name", NAMES)
def test_changing(spark, target, name):
    table, column = f"indextables.`{target}`", quoted(name)
    spark.sql(f"UPDATE {table} SET {column} = 'new' WHERE id = 1")
    spark.sql(f"DELETE FROM {table} WHERE {column} LIKE '%w0'")
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT 2L AS id, 'merged' AS v) s ON t.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET {column} = s.v"
    )
    IndexTable.forPath(spark, target).update("id = 3", {name: sf.lit("set")})
    found = spark.sql(f"SELECT id, {column} FROM {table} ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, "new"), (2, "merged"), (3, "set")]


@pytest.mark.parametrize("name", NAMES)
def test_partitions_and_keys(spark, table_path, name):
    table, column = f"indextables.`{table_path}`", quoted(name)
    frame = spark.range(4).select("id", (sf.col("id") % 2).cast("string").alias(name))
    frame.write.format("indextables").partitionBy(column).save(table_path)
    assert spark.sql(f"SELECT sum(id) FROM {table} WHERE {column} = '1'").first()[0] == 4
    spark.sql(f"DROP INDEXTABLES PARTITIONS FROM {table} WHERE {column} = '0'")
    assert spark.table(table).count() == 2
    keyed = f"{table_path}-keyed"
    options = {"primary-key": name}
    for turn in ("old", "new"):
        rows = spark.range(3).select(sf.col("id").alias(name), sf.lit(turn).alias("turn"))
        rows.write.format("indextables").options(**options).mode("append").save(keyed)
    found = spark.read.format("indextables").load(keyed)
    assert [row.turn for row in found.collect()] == ["new"] * 3
