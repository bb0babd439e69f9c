"""The change feed through Spark and without it."""

from __future__ import annotations

from collections import Counter

import pytest

import indextables
from indextables import IndexTable, errors
from indextables.log import open_log
from indextables.spark.failures import translate_errors
from indextables.storage import open_store


@pytest.fixture
def path(request, spark, table_path):
    """Version 1: ten rows, partitioned by the columns of the test's parameter."""
    columns = getattr(request, "param", ())
    rows = spark.range(0, 10, 1, 2).selectExpr(
        "id", "concat('row ', id) AS message", "cast(id % 3 AS int) AS kind"
    )
    writer = rows.write.format("indextables").option("indexing.typemap.message", "text")
    (writer.partitionBy(*columns) if columns else writer).save(table_path)
    return table_path


def feed(spark, path: str, first: int, last: int | None = None):
    reader = spark.read.format("indextables").option("readChangeFeed", "true")
    reader = reader.option("startingVersion", first)
    return (reader if last is None else reader.option("endingVersion", last)).load(path)


def events(frame) -> list[tuple[int, str, int]]:
    """(version, change, id), sorted."""
    rows = frame.select("_commit_version", "_change_type", "id").collect()
    return sorted((r[0], r[1], r.id) for r in rows)


def change_all(spark, path: str) -> str:
    """Make versions 2 to 5: DELETE, UPDATE, MERGE INTO, MERGE SPLITS."""
    table = f"indextables.`{path}`"
    spark.sql(f"DELETE FROM {table} WHERE id < 2")
    spark.sql(f"UPDATE {table} SET message = 'changed' WHERE id IN (2, 3)")
    spark.sql(f"""
        MERGE INTO {table} t USING (
          SELECT * FROM VALUES (3L, 'three', 0), (4L, 'x', 1), (99L, 'new', 2) s(id, message, kind)
        ) s ON t.id = s.id
        WHEN MATCHED AND s.message = 'x' THEN DELETE
        WHEN MATCHED THEN UPDATE SET message = s.message, kind = 2
        WHEN NOT MATCHED THEN INSERT *""")
    spark.sql(f"MERGE SPLITS '{path}' TARGET SIZE 1G").collect()
    return table


@pytest.mark.parametrize("path", [(), ("kind",)], ids=["flat", "partitioned"], indirect=True)
def test_every_kind_of_commit_is_told_row_by_row(spark, path):
    change_all(spark, path)
    wanted = [(1, "insert", i) for i in range(10)]
    wanted += [(2, "delete", 0), (2, "delete", 1)]
    wanted += [(3, "update_preimage", i) for i in (2, 3)]
    wanted += [(3, "update_postimage", i) for i in (2, 3)]
    wanted += [(4, "update_preimage", 3), (4, "update_postimage", 3)]
    wanted += [(4, "delete", 4), (4, "insert", 99)]
    assert events(feed(spark, path, 0)) == sorted(wanted)
    assert events(feed(spark, path, 2, 3)) == sorted(e for e in wanted if e[0] in (2, 3))
    images = feed(spark, path, 4, 4).where("id = 3").orderBy("_change_type")
    assert [r.message for r in images.collect()] == ["three", "changed"]


def test_delete_after_a_merge_of_splits_is_told(spark, path):
    table = change_all(spark, path)
    last = open_log(open_store(path)).snapshot().version
    spark.sql(f"DELETE FROM {table} WHERE id = 99")
    assert events(feed(spark, path, last)) == [(last + 1, "delete", 99)]


def test_overwrite_and_restore_are_deletes_and_inserts(spark, path):
    rows = spark.range(100, 102).selectExpr("id", "'new' AS message", "1 AS kind")
    rows.write.format("indextables").mode("overwrite").save(path)
    spark.sql(f"RESTORE INDEXTABLES '{path}' TO VERSION AS OF 1")
    found = Counter(kind for _, kind, _ in events(feed(spark, path, 2, 2)))
    assert found == {"delete": 10, "insert": 2}
    found = Counter(kind for _, kind, _ in events(feed(spark, path, 3)))
    assert found == {"delete": 2, "insert": 10}


def test_filters_reach_the_index_and_spark_does_the_rest(spark, path):
    change_all(spark, path)
    assert events(feed(spark, path, 1).where("message indexquery 'changed'")) == [
        (3, "update_postimage", 2),
        (3, "update_postimage", 3),
        (4, "update_preimage", 3),
    ]
    found = feed(spark, path, 1).where("_change_type = 'delete' AND kind = 1 AND id > 0")
    assert events(found) == [(2, "delete", 1), (4, "delete", 4)]
    assert feed(spark, path, 1).where("_commit_version = 1").count() == 10
    assert feed(spark, path, 1).groupBy("_change_type").count().count() == 4


def test_times_choose_versions(spark, path):
    change_all(spark, path)
    log = open_log(open_store(path))
    timestamps = {entry.version: entry.timestamp_ms for entry in log.history()}
    reader = spark.read.format("indextables").option("readChangeFeed", "true")
    reader = reader.option("startingTimestamp", timestamps[2]).option(
        "endingTimestamp", timestamps[3]
    )
    found = reader.load(path)
    assert {version for version, _, _ in events(found)} == {2, 3}
    stamps = {
        r[0]: r[1].timestamp()
        for r in found.selectExpr("_commit_version", "_commit_timestamp").collect()
    }
    assert stamps == {v: timestamps[v] / 1000 for v in (2, 3)}
    early = IndexTable.forPath(spark, path).changes("2000-01-01")
    assert min(events(early))[0] == 1


def test_the_plain_python_door_says_the_same(spark, path):
    change_all(spark, path)
    found = indextables.open(path).changes(1)
    plain = zip(
        *(found[c].to_pylist() for c in ("_commit_version", "_change_type", "id")), strict=True
    )
    assert sorted(plain) == events(feed(spark, path, 1))


def test_a_range_that_makes_no_sense_is_refused(spark, path):
    reader = spark.read.format("indextables").option("readChangeFeed", "true")
    with pytest.raises(errors.InvalidError, match="CHANGES_RANGE"), translate_errors():
        reader.load(path).collect()
    with pytest.raises(errors.InvalidError, match="CHANGES_RANGE"), translate_errors():
        feed(spark, path, 7).collect()


def test_versions_that_are_gone_are_named(spark, path):
    change_all(spark, path)
    open_store(path).delete([f"_transaction_log/{2:020d}.json"])
    with pytest.raises(errors.UnsupportedError, match=r"version 2 .*available"), translate_errors():
        feed(spark, path, 1).collect()


def test_a_stream_of_changes_continues_where_it_stopped(spark, path, tmp_path):
    checkpoint, seen = str(tmp_path / "checkpoint"), []

    def run():
        stream = spark.readStream.format("indextables").option("readChangeFeed", "true").load(path)
        query = (
            stream.writeStream.option("checkpointLocation", checkpoint)
            .foreachBatch(lambda frame, _: seen.extend(events(frame)))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    run()
    assert seen == [(1, "insert", i) for i in range(10)]
    seen.clear()
    change_all(spark, path)
    run()
    assert sorted(seen) == events(feed(spark, path, 2))


def test_a_table_by_name_says_where_its_changes_are_read(spark, path):
    spark.sql(f"CREATE TABLE changes_by_name USING indextables LOCATION '{path}'")
    try:
        reader = spark.read.option("readChangeFeed", "true").option("startingVersion", 1)
        with pytest.raises(errors.UnsupportedError, match="CHANGES_BY_NAME"), translate_errors():
            reader.table("changes_by_name").collect()
        found = IndexTable.forName(spark, "changes_by_name").changes(1)
        assert events(found) == [(1, "insert", i) for i in range(10)]
    finally:
        spark.sql("DROP TABLE changes_by_name")
