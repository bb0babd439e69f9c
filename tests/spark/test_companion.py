"""Companions through Spark: every answer is Spark's own over the source."""

from __future__ import annotations

import pytest
from tests.spark.companion_cases import CASES

pytestmark = pytest.mark.spark


@pytest.fixture
def source(spark, tmp_path):
    """A folder of Parquet files that Spark wrote, in partitions, and its companion."""
    place, index = str(tmp_path / "src"), str(tmp_path / "ix")
    rows = spark.range(0, 400).selectExpr(
        "id",
        "concat('word', id % 7, ' line ', id) AS message",
        "CASE WHEN id % 5 = 0 THEN NULL ELSE id % 3 END AS level",
        "id % 2 AS part",
    )
    rows.repartition(2).write.partitionBy("part").parquet(place)
    (built,) = spark.sql(
        f"BUILD INDEXTABLES COMPANION FOR PARQUET '{place}' "
        f"INDEXING MODES ('message':'text') AT LOCATION '{index}'"
    ).collect()
    assert built.status == "success"
    return place, index


def views(spark, place, index, **options):
    spark.read.parquet(place).createOrReplaceTempView("plain")
    read = spark.read.format("indextables")
    read.options(**options).load(index).createOrReplaceTempView("ix")


def check(spark):
    for text in CASES:
        expected = spark.sql(text.format(t="plain")).collect()
        found = spark.sql(text.format(t="ix")).collect()
        assert sorted(found, key=str) == sorted(expected, key=str), text


@pytest.mark.parametrize("local", ["true", "false"])
def test_answers_are_those_of_the_source(spark, source, local):
    options = {"spark.indextables.read.local.enabled": local}
    views(spark, *source, **options)
    check(spark)
    (found,) = spark.sql("SELECT count(*) AS n FROM ix WHERE message indexquery 'word3'").collect()
    assert found.n == spark.sql("SELECT 1 FROM plain WHERE message LIKE 'word3 %'").count()
    # the source goes on: some files are new, some are gone
    place, _ = source
    spark.range(1000, 1040).selectExpr(
        "id", "concat('word', id % 7, ' new ', id) AS message", "id % 3 AS level", "id % 2 AS part"
    ).repartition(1).write.mode("append").partitionBy("part").parquet(place)
    views(spark, *source, **options)
    check(spark)
    shown = spark.sql("EXPLAIN SELECT id FROM ix WHERE message indexquery 'new'").first()[0]
    assert "files pending" in shown


def test_rows_are_not_changed_through_a_companion(spark, source):
    _, index = source
    with pytest.raises(Exception, match="COMPANION_READ_ONLY"):
        spark.read.parquet(source[0]).write.format("indextables").mode("append").save(index)
