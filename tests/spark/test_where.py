"""WHERE in commands: any expression of Spark over partition columns."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.spark


@pytest.fixture
def table(spark, table_path):
    rows = [(m, r, f"2024-0{m}-01") for m in range(1, 7) for r in ("eu", "us", None)]
    frame = spark.createDataFrame(rows, "m int, region string, day string")
    frame = frame.selectExpr("m", "region", "cast(day AS date) AS day", "m * 10 AS n").coalesce(1)
    frame.write.format("indextables").partitionBy("m", "region", "day").save(table_path)
    frame.write.format("parquet").save(f"{table_path}.parquet")
    return table_path


PREDICATES = [
    "m = 3",
    "upper(region) = 'EU'",
    "m % 2 = 1",
    "CASE WHEN region IS NULL THEN m > 3 ELSE m < 3 END",
    "cast(m AS string) = '4'",
    "region <=> NULL",
    "m = '5'",
    "month(day) + m BETWEEN 4 AND 8 AND coalesce(region, 'none') <> 'us'",
    "day > date_add(DATE '2024-03-01', 1)",
    "m > 2.5",
]


@pytest.mark.parametrize("where", PREDICATES)
def test_partitions_are_chosen_as_spark_filters_rows(spark, table, where):
    expected = spark.read.parquet(f"{table}.parquet").where(f"NOT coalesce(({where}), false)")
    (row,) = spark.sql(f"DROP INDEXTABLES PARTITIONS FROM '{table}' WHERE {where}").collect()
    assert row.status == "success", row.message
    left = spark.read.format("indextables").load(table)
    columns = ["m", "region", "day", "n"]
    assert sorted(map(str, left.select(columns).collect())) == sorted(
        map(str, expected.select(columns).collect())
    )


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("abs(n) = 10", "WHERE clause references non-partition columns: n"),
        ("upper('x') = 'X'", "WHERE clause must reference at least one partition column"),
        ("upper(nothing) = 'X'", "nothing"),
        ("m +", ""),
        ("m + 1", "BOOLEAN"),
    ],
)
def test_what_spark_does_not_understand_either_is_said(spark, table, where, message):
    (row,) = spark.sql(f"DROP INDEXTABLES PARTITIONS FROM '{table}' WHERE {where}").collect()
    assert row.status == "error"
    assert message in row.message


def test_merges_and_sizes_take_the_same_expressions(spark, table):
    frame = spark.read.parquet(f"{table}.parquet").coalesce(1)
    frame.write.format("indextables").mode("append").save(table)
    metrics = spark.sql(f"MERGE SPLITS '{table}' WHERE m % 2 = 1 AND region = 'eu'").collect()[0]
    assert metrics.metrics.merge_groups == 3
    sizes = spark.sql(
        f"DESCRIBE INDEXTABLES COMPONENT SIZES '{table}' WHERE upper(region) = 'US' AND m = 1"
    ).collect()
    assert len({row.split_path for row in sizes}) == 2
