"""Companions through Spark: every answer equals Spark's own over the source."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.companion_cases import CASES

from indextables import IndexTable

pytestmark = pytest.mark.spark


@pytest.fixture
def source(spark, tmp_path):
    """A partitioned folder of Parquet files written by Spark, and its companion."""
    location, index = str(tmp_path / "src"), str(tmp_path / "ix")
    rows = spark.range(0, 400).selectExpr(
        "id",
        "concat('word', id % 7, ' line ', id) AS message",
        "CASE WHEN id % 5 = 0 THEN NULL ELSE id % 3 END AS level",
        "id % 2 AS part",
    )
    rows.repartition(2).write.partitionBy("part").parquet(location)
    (built,) = spark.sql(
        f"BUILD INDEXTABLES COMPANION FOR PARQUET '{location}' "
        f"INDEXING MODES ('message':'text') AT LOCATION '{index}'"
    ).collect()
    assert built.status == "success"
    return location, index


def views(spark, location, index, **options):
    spark.read.parquet(location).createOrReplaceTempView("plain")
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
    # the source changes: some files are new, some are gone
    location, _ = source
    spark.range(1000, 1040).selectExpr(
        "id", "concat('word', id % 7, ' new ', id) AS message", "id % 3 AS level", "id % 2 AS part"
    ).repartition(1).write.mode("append").partitionBy("part").parquet(location)
    views(spark, *source, **options)
    check(spark)
    shown = spark.sql("EXPLAIN SELECT id FROM ix WHERE message indexquery 'new'").first()[0]
    assert "files pending" in shown


@pytest.mark.parametrize("summary", ["_common_metadata", "part=1/_metadata"])
def test_columns_are_those_of_a_summary_file(spark, tmp_path, summary):
    """Like Spark, which shows columns of a summary file even if no data file has them."""
    location, index = tmp_path / "src", str(tmp_path / "ix")
    (location / "part=1").mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2]}), location / "part=1" / "a.parquet")
    wide = pa.schema([("id", pa.int64()), ("later", pa.string())])
    pq.write_metadata(wide, location / summary)
    spark.sql(
        f"BUILD INDEXTABLES COMPANION FOR PARQUET '{location}' AT LOCATION '{index}'"
    ).collect()
    found = spark.read.format("indextables").load(index)
    expected = spark.read.parquet(str(location))
    assert found.columns == expected.columns == ["id", "later", "part"]
    assert sorted(found.collect()) == sorted(expected.collect())


def test_rows_are_not_changed_through_a_companion(spark, source):
    _, index = source
    with pytest.raises(Exception, match="COMPANION_READ_ONLY"):
        spark.read.parquet(source[0]).write.format("indextables").mode("append").save(index)


def test_build_companion_from_python(spark, tmp_path):
    location, index = str(tmp_path / "src"), str(tmp_path / "ix")
    spark.range(10).selectExpr("id", "concat('line ', id) AS message").write.parquet(location)
    clauses = {"indexing_modes": {"message": "text"}, "include_columns": ["message"]}
    planned = IndexTable.buildCompanion(spark, index, location, "parquet", dry_run=True, **clauses)
    assert planned.first().status == "dry_run"
    built = IndexTable.buildCompanion(
        spark,
        index,
        location,
        "parquet",
        fastfields_mode="DISABLED",
        target_input_size="1M",
        table_roots={"eu": "/lake-eu"},
        **clauses,
    )
    assert built.first().status == "success"
    assert IndexTable.forPath(spark, index).search("line").count() == 10
    (root,) = spark.sql(f"DESCRIBE INDEXTABLES TABLE ROOTS AT '{index}'").collect()
    assert (root.root_name, root.root_path) == ("eu", "/lake-eu")
    with pytest.raises(Exception, match="COMPANION_CHANGED"):
        IndexTable.buildCompanion(spark, index, location, "parquet", exclude_columns=["id"])
    again = IndexTable.buildCompanion(
        spark, index, location, "parquet", exclude_columns=["id"], invalidate_all=True
    )
    assert again.first().splits_invalidated > 0


def test_a_table_root_is_where_rows_are_read(spark, source, tmp_path):
    location, index = source
    copy = str(tmp_path / "copy")
    shutil.copytree(location, copy)
    spark.sql(f"SET INDEXTABLES TABLE ROOT 'eu' = '{copy}' AT '{index}'")
    expected = spark.read.parquet(copy).where("message LIKE 'word3 %'").count()
    shutil.rmtree(location)
    read = spark.read.format("indextables")
    with pytest.raises(Exception, match="COMPANION_SOURCE"):
        read.load(index).where("message indexquery 'word3'").collect()
    designated = read.option("spark.indextables.companion.tableRootDesignator", "eu").load(index)
    assert designated.where("message indexquery 'word3'").count() == expected
    wrong = read.option("spark.indextables.companion.tableRootDesignator", "us")
    with pytest.raises(Exception, match="COMPANION_ROOT"):
        wrong.load(index)


def test_explain_and_metrics_say_how_far_the_index_is(spark, source):
    location, index = source
    before = spark.read.parquet(location).where("part = 0").count()
    shutil.rmtree(f"{location}/part=0")
    spark.range(5).selectExpr("id", "'word9' AS message", "id AS level").write.parquet(
        f"{location}/part=3"
    )
    frame = spark.read.format("indextables").load(index).where("message indexquery 'word9'")
    files = len(list(Path(f"{location}/part=3").glob("*.parquet")))
    executed = frame._jdf.queryExecution().executedPlan()
    assert f"{files} files pending" in executed.toString()
    assert frame.count() == 5
    frame.collect()
    metrics = metrics_of(frame._jdf.queryExecution().executedPlan())
    assert metrics["pendingFiles"] == files
    assert metrics["pendingBytes"] > 0
    assert metrics["hiddenRows"] <= before


def metrics_of(plan) -> dict[str, int]:
    found, names = plan.metrics(), {}
    keys = found.keysIterator()
    while keys.hasNext():
        key = keys.next()
        names[key] = found.apply(key).value()
    return names
