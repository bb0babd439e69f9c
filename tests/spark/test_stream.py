"""Streams into and out of tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from indextables import errors
from indextables.log import open_log
from indextables.spark.failures import translate_errors
from indextables.storage import open_store

COLUMNS = ("id", "concat('event ', id) AS message", "cast(id % 3 AS int) AS kind")


def live(path: str):
    return open_log(open_store(path)).snapshot()


@pytest.fixture
def feed(spark, tmp_path):
    """A stream of Parquet files, and a function that adds one with rows of a range."""
    folder = tmp_path / "feed"
    folder.mkdir()

    def add(first: int, last: int, *columns: str) -> None:
        rows = spark.range(first, last, 1, 1).selectExpr(*COLUMNS, *columns)
        rows.write.mode("append").parquet(str(folder))

    def read():
        schema = spark.read.parquet(str(folder)).schema
        return spark.readStream.schema(schema).parquet(str(folder))

    return add, read


def run(stream, path: str, checkpoint: Path, *partition_by: str, **options: str) -> None:
    writer = stream.writeStream.format("indextables").options(**options)
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    (writer.partitionBy(*partition_by) if partition_by else writer).start(path).awaitTermination()


def test_a_stream_makes_a_partitioned_table_and_grows_its_schema(feed, table_path, tmp_path):
    add, read = feed
    add(0, 9)
    run(read(), table_path, tmp_path / "c", "kind")
    assert live(table_path).partition_columns == ("kind",)
    assert live(table_path).num_records == 9
    add(9, 12, "upper(concat('event ', id)) AS shout")
    grown = read().selectExpr("*", "upper(message) AS loud")
    run(grown, table_path, tmp_path / "c", "kind", mergeSchema="true")
    assert live(table_path).num_records == 12
    assert "loud" in live(table_path).schema.names
    add(12, 13)
    with pytest.raises(errors.SchemaMismatchError, match="PARTITION_MISMATCH"), translate_errors():
        run(grown, table_path, tmp_path / "c", "id")


def test_a_batch_that_runs_again_changes_nothing(feed, table_path, tmp_path):
    add, read = feed
    add(0, 5)
    run(read(), table_path, tmp_path / "c")
    first = live(table_path)
    # the commit of the query is lost: the batch runs again
    for file in (tmp_path / "c" / "commits").glob("*"):
        file.unlink()
    run(read(), table_path, tmp_path / "c")
    again = live(table_path)
    assert (again.version, again.num_records) == (first.version, 5)
    assert len(list(Path(table_path).rglob("*.split"))) == again.num_files


def test_complete_mode_replaces_the_table(spark, feed, table_path, tmp_path):
    add, read = feed
    for first in (0, 30):
        add(first, first + 30)
        counts = read().groupBy("kind").count()
        writer = counts.writeStream.format("indextables").outputMode("complete")
        writer = writer.option("checkpointLocation", str(tmp_path / "c"))
        writer.trigger(availableNow=True).start(table_path).awaitTermination()
    rows = spark.read.format("indextables").load(table_path).collect()
    assert {r["kind"]: r["count"] for r in rows} == {0: 20, 1: 20, 2: 20}
    with pytest.raises(Exception, match="append or complete"):
        counts.writeStream.format("indextables").outputMode("update").start(table_path)


def test_a_table_as_source_gives_appends_once(spark, table_path, tmp_path):
    target = str(tmp_path / "target")
    rows = spark.range(0, 10, 1, 2).selectExpr(*COLUMNS)
    rows.write.format("indextables").save(table_path)

    def copy(**options: str) -> int:
        source = spark.readStream.format("indextables").options(**options).load(table_path)
        run(source, target, tmp_path / "c")
        return live(target).num_records

    assert copy() == 10
    rows.write.format("indextables").mode("append").save(table_path)
    rows.write.format("indextables").mode("append").save(table_path)
    assert copy(maxFilesPerTrigger="1") == 30
    spark.sql(f"DELETE FROM indextables.`{table_path}` WHERE id = 3")
    with pytest.raises(errors.UnsupportedError, match="STREAM_CHANGED"), translate_errors():
        copy()
    rows.write.format("indextables").mode("append").save(table_path)
    assert copy(skipChangeCommits="true") == 40


def test_a_source_may_lose_rows_but_not_change_them(spark, table_path, tmp_path):
    """`ignoreDeletes` covers removed splits and rows that a deletion vector hides."""
    target, name = str(tmp_path / "target"), f"indextables.`{table_path}`"
    rows = spark.range(0, 10, 1, 2).selectExpr(*COLUMNS)
    rows.write.format("indextables").save(table_path)

    def copy() -> int:
        source = spark.readStream.format("indextables").option("ignoreDeletes", "true")
        run(source.load(table_path), target, tmp_path / "c")
        return live(target).num_records

    assert copy() == 10
    spark.sql(f"DELETE FROM {name} WHERE id IN (3, 7)")
    spark.sql(f"DELETE FROM {name} WHERE id = 4")
    rows.write.format("indextables").mode("append").save(table_path)
    assert copy() == 20
    spark.sql(f"DELETE FROM {name} WHERE id < 100")
    rows.write.format("indextables").mode("append").save(table_path)
    assert copy() == 30
    whole = live(table_path).version
    spark.sql(f"DELETE FROM {name} WHERE id = 5")
    assert copy() == 30
    spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF {whole}")
    with pytest.raises(errors.UnsupportedError, match="STREAM_CHANGED"), translate_errors():
        copy()


def test_a_source_that_was_made_again_is_another_table(spark, table_path, tmp_path):
    rows = spark.range(0, 4, 1, 1).selectExpr(*COLUMNS)

    def copy() -> None:
        source = spark.readStream.format("indextables").load(table_path)
        run(source, str(tmp_path / "target"), tmp_path / "c")

    rows.write.format("indextables").save(table_path)
    copy()
    shutil.rmtree(table_path)
    for _ in range(3):
        rows.write.format("indextables").mode("append").save(table_path)
        with pytest.raises(errors.UnsupportedError, match="STREAM_OTHER_TABLE"), translate_errors():
            copy()
    assert live(str(tmp_path / "target")).num_records == 4


def test_a_source_whose_versions_are_gone_says_so(spark, table_path, tmp_path):
    rows = spark.range(0, 4, 1, 1).selectExpr(*COLUMNS)
    rows.write.format("indextables").save(table_path)
    rows.write.format("indextables").mode("append").save(table_path)
    shutil.copytree(table_path, tmp_path / "copy")
    open_log(open_store(str(tmp_path / "copy"))).checkpoint()
    (tmp_path / "copy" / "_transaction_log" / f"{1:020d}.json").unlink()
    stream = spark.readStream.format("indextables").option("startingVersion", 0)
    with pytest.raises(errors.IndexTablesError, match="version 1"), translate_errors():
        run(stream.load(str(tmp_path / "copy")), str(tmp_path / "target"), tmp_path / "c")
