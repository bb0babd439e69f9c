"""Tables with a primary key, through Spark."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from indextables import IndexTable
from indextables.log import open_log
from indextables.spark.functions import indexquery
from indextables.storage import open_store


def save(frame, path, mode="append", partition_by=(), **options) -> None:
    writer = frame.write.format("indextables").mode(mode).options(**options)
    (writer.partitionBy(*partition_by) if partition_by else writer).save(path)


def frame(spark, rows, columns="id long, name string, n int", parts=1):
    return spark.createDataFrame(rows, columns).coalesce(parts)


def rows(spark, path, where="true") -> list[tuple]:
    found = spark.read.format("indextables").load(path).where(where).collect()
    return sorted(tuple(row) for row in found)


KEY = {"primary-key": "id"}


@pytest.fixture
def table(spark, table_path):
    save(frame(spark, [(1, "a", 1), (2, "b", 2), (3, "c", 3)]), table_path, **KEY)
    return table_path


def test_a_row_replaces_that_of_the_same_key(spark, table):
    save(frame(spark, [(2, "B", 20), (4, "d", 4)]), table)
    assert rows(spark, table) == [(1, "a", 1), (2, "B", 20), (3, "c", 3), (4, "d", 4)]
    assert spark.read.format("indextables").load(table).count() == 4


def test_the_last_row_of_a_key_stays_when_a_write_has_several(spark, table_path):
    many = [(i % 5, f"v{i}", i) for i in range(100)]
    save(spark.createDataFrame(many, "id long, name string, n int"), table_path, **KEY)
    assert rows(spark, table_path) == [(k, f"v{95 + k}", 95 + k) for k in range(5)]


def test_insert_and_catalog_tables_know_the_key(spark, tmp_path):
    spark.sql("DROP TABLE IF EXISTS keyed")
    spark.sql(
        "CREATE TABLE keyed (id INT, tenant STRING, v STRING) USING indextables "
        f"LOCATION '{tmp_path / 'keyed'}' TBLPROPERTIES ('primary-key' = 'tenant,id')"
    )
    spark.sql("INSERT INTO keyed VALUES (1, 'x', 'one'), (1, 'y', 'other')")
    spark.sql("INSERT INTO keyed VALUES (1, 'x', 'two')")
    found = [tuple(r) for r in spark.sql("SELECT * FROM keyed ORDER BY tenant").collect()]
    assert found == [(1, "x", "two"), (1, "y", "other")]
    spark.sql("DROP TABLE keyed")


def test_the_largest_sequence_stays_when_there_is_one(spark, table_path):
    options = KEY | {"sequence.field": "n"}
    save(frame(spark, [(1, "new", 5), (1, "old", 3), (2, "x", 1)]), table_path, **options)
    save(frame(spark, [(1, "late", 4), (2, "y", 1), (3, "z", None)]), table_path)
    assert rows(spark, table_path) == [(1, "new", 5), (2, "y", 1), (3, "z", None)]


def test_the_first_row_stays_when_the_engine_says_so(spark, table_path):
    options = KEY | {"merge-engine": "first-row"}
    save(frame(spark, [(1, "first", 1), (1, "second", 2)]), table_path, **options)
    save(frame(spark, [(1, "third", 3), (2, "x", 1)]), table_path)
    assert rows(spark, table_path) == [(1, "first", 1), (2, "x", 1)]


def test_nulls_change_nothing_when_updates_are_partial(spark, table_path):
    options = KEY | {"merge-engine": "partial-update"}
    save(frame(spark, [(1, "a", None), (1, None, 1), (2, "b", 2)]), table_path, **options)
    save(frame(spark, [(1, None, 7), (3, "c", 3)]), table_path)
    save(frame(spark, [(2, "bb", None), (1, "aa", None)]), table_path)
    assert rows(spark, table_path) == [(1, "aa", 7), (2, "bb", 2), (3, "c", 3)]


def test_rows_are_deleted_when_a_column_says_so(spark, table_path):
    columns = "id long, name string, op string"
    options = KEY | {"rowkind.field": "op"}
    save(frame(spark, [(1, "a", "+I"), (2, "b", "+I")], columns), table_path, **options)
    changes = [(1, "a", "-D"), (2, "b", "-U"), (2, "B", "+U"), (3, "c", "+I"), (3, "c", "-D")]
    save(frame(spark, changes, columns), table_path)
    assert rows(spark, table_path) == [(2, "B", "+U")]


def test_row_level_commands_keep_keys_single(spark, table):
    name = f"indextables.`{table}`"
    spark.sql(f"UPDATE {name} SET id = 1, name = 'moved' WHERE id = 2")
    assert rows(spark, table) == [(1, "moved", 2), (3, "c", 3)]
    spark.sql(f"""MERGE INTO {name} t USING (SELECT 3L id, 'x' name, 9 n) s ON t.name = s.name
                  WHEN NOT MATCHED THEN INSERT *""")
    assert rows(spark, table) == [(1, "moved", 2), (3, "x", 9)]
    spark.sql(f"DELETE FROM {name} WHERE id = 1")
    save(frame(spark, [(1, "back", 1)]), table)
    assert rows(spark, table) == [(1, "back", 1), (3, "x", 9)]


def test_overwrites_start_anew(spark, table):
    save(frame(spark, [(7, "g", 7), (7, "h", 8)]), table, mode="overwrite")
    assert rows(spark, table) == [(7, "h", 8)]
    assert [index.row_count for index in snapshot(table).hash_indexes] == [1]


def test_keys_stay_single_in_partitions_and_across_them(spark, table_path, tmp_path):
    columns = "id long, day string, v int"
    first = frame(spark, [(1, "mon", 1), (1, "tue", 2)], columns)
    inside, across = table_path, str(tmp_path / "across")
    save(first, inside, partition_by=("day",), **{"primary-key": "day,id"})
    save(first, across, partition_by=("day",), **KEY)
    for path in (inside, across):
        save(frame(spark, [(1, "mon", 3), (2, "tue", 4)], columns), path)
    named = [(r.id, r.day, r.v) for r in spark.read.format("indextables").load(inside).collect()]
    assert sorted(named) == [(1, "mon", 3), (1, "tue", 2), (2, "tue", 4)]
    moved = [(r.id, r.day, r.v) for r in spark.read.format("indextables").load(across).collect()]
    assert sorted(moved) == [(1, "mon", 3), (2, "tue", 4)]


def snapshot(path):
    return open_log(open_store(path)).snapshot()


def test_buckets_hold_so_many_keys_as_asked(spark, table_path):
    options = KEY | {"dynamic-bucket.target-row-num": "100"}
    save(spark.range(0, 1000, 1, 2).selectExpr("id", "1 AS v"), table_path, **options)
    here = snapshot(table_path)
    assert {index.bucket for index in here.hash_indexes} == set(range(10))
    assert all(index.row_count == 100 for index in here.hash_indexes)
    save(spark.range(0, 1000, 1, 1).selectExpr("id", "2 AS v"), table_path)
    frame = spark.read.format("indextables").load(table_path)
    assert frame.where("v = 2").count() == frame.count() == 1000
    assert {index.bucket for index in snapshot(table_path).hash_indexes} == set(range(10))


def test_a_stream_upserts(spark, tmp_path, table_path):
    source = str(tmp_path / "source")
    frame(spark, [(1, "a", 1), (2, "b", 2)]).write.parquet(source)
    frame(spark, [(2, "c", 3)]).write.mode("append").parquet(source)
    stream = spark.readStream.schema("id long, name string, n int").parquet(source)
    query = (
        stream.writeStream.format("indextables")
        .option("checkpointLocation", str(tmp_path / "state"))
        .option("primary-key", "id")
        .option("sequence.field", "n")
        .trigger(availableNow=True)
        .start(table_path)
    )
    query.awaitTermination()
    assert rows(spark, table_path) == [(1, "a", 1), (2, "c", 3)]


def test_nulls_in_keys_and_other_keys_are_refused(spark, table):
    with pytest.raises(Exception, match="no value in key column"):
        save(frame(spark, [(None, "x", 1)]), table)
    with pytest.raises(Exception, match="cannot be changed"):
        save(frame(spark, [(1, "x", 1)]), table, **{"primary-key": "name"})
    with pytest.raises(Exception, match="which the table does not have"):
        save(frame(spark, [(1, "x", 1)]), table + "2", **{"primary-key": "nothing"})
    assert len(rows(spark, table)) == 3


def test_index_table_deletes_updates_and_merges(spark, table):
    here = IndexTable.forPath(spark, table)
    here.update("id = 1", {"name": "concat(name, '!')"})
    here.delete("id = 2")
    source = frame(spark, [(1, "x", 10), (3, "y", 30), (9, "z", 90)])
    builder = (
        here.merge(source, "target.id = source.id")
        .whenMatchedDelete("source.n = 30")
        .whenMatchedUpdate(set={"n": "source.n"})
        .whenNotMatchedInsertAll()
    )
    builder.execute()
    assert rows(spark, table) == [(1, "a!", 10), (9, "z", 90)]
    (
        here.merge(source.where("id = 9"), "target.id = source.id")
        .whenMatchedUpdateAll()
        .whenNotMatchedBySourceDelete("target.n < 50")
        .execute()
    )
    assert rows(spark, table) == [(9, "z", 90)]


def test_both_sides_of_a_merge_have_the_names_they_are_given(spark, table):
    here = IndexTable.forPath(spark, table).alias("t")
    source = frame(spark, [(1, "x", 10), (9, "z", 90)]).alias("s")
    (
        here.merge(source, "t.id = s.id")
        .whenMatchedUpdate("t.n < s.n", {"n": "s.n + t.n"})
        .whenNotMatchedInsert(values={"id": "s.id", "name": "s.name"})
        .whenNotMatchedBySourceUpdate("t.id = 2", {"name": "upper(t.name)"})
        .execute()
    )
    here.delete("t.id = 3")
    here.update("t.id = 9", {"n": "t.id * 2"})
    assert rows(spark, table) == [(1, "a", 11), (2, "B", 2), (9, "z", 18)]
    assert here.toDF().select("t.id").count() == 3


def test_conditions_and_values_may_be_columns(spark, table):
    here = IndexTable.forPath(spark, table).alias("t")
    source = frame(spark, [(1, "x", 10), (9, "z", 90)]).alias("s")
    (
        here.merge(source, F.col("t.id") == F.col("s.id"))
        .whenMatchedUpdate(F.col("t.n") < F.col("s.n"), {"n": F.col("s.n") + F.col("t.n")})
        .whenNotMatchedInsert(values={"id": F.col("s.id"), "name": F.upper("s.name"), "n": "s.n"})
        .whenNotMatchedBySourceUpdate(F.col("t.id") == 2, {"name": F.lit("it's")})
        .whenNotMatchedBySourceDelete(F.col("t.id") == 3)
        .execute()
    )
    assert rows(spark, table) == [(1, "a", 11), (2, "it's", 2), (9, "Z", 90)]
    here.update(F.col("t.id") == 9, {"n": F.col("t.id") * 2, "name": "lower(name)"})
    here.delete(F.col("id").isin(1) & indexquery("t.name", "a"))
    assert rows(spark, table) == [(2, "it's", 2), (9, "z", 18)]
    here.delete("id IN (SELECT max(id) FROM VALUES (2), (1) AS v(id))")
    here.update(set={"n": F.lit(None)})
    assert rows(spark, table) == [(9, "z", None)]
    assert [row["operation"] for row in here.history(3).collect()] == ["UPDATE", "DELETE", "DELETE"]
    here.delete()
    assert rows(spark, table) == []


def test_a_condition_that_is_wrong_changes_nothing(spark, table):
    here = IndexTable.forPath(spark, table)
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        here.delete(F.col("nope") == 1)
    with pytest.raises(ParseException):
        here.delete("id ==== 1")
    assert here.history(1).collect()[0]["version"] == 1


def test_the_change_feed_shows_what_an_upsert_replaced(spark, table):
    save(frame(spark, [(2, "B", 20), (4, "d", 4)]), table)
    feed = spark.read.format("indextables").option("readChangeFeed", "true")
    found = feed.option("startingVersion", "2").load(table).collect()
    kinds = sorted((row["_change_type"], row["id"], row["name"]) for row in found)
    assert kinds == [
        ("insert", 4, "d"),
        ("update_postimage", 2, "B"),
        ("update_preimage", 2, "b"),
    ]
