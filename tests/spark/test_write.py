"""Writing through Spark: modes, partitions, schema rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.functions import col

from indextables import IndexTable, errors
from indextables.config import storage
from indextables.log import open_log
from indextables.spark.failures import translate_errors
from indextables.storage import open_store


def live(path: str):
    return open_log(open_store(path)).snapshot()


@pytest.fixture
def events(spark):
    return spark.range(0, 20, 1, 2).selectExpr(
        "id", "concat('event number ', id) AS message", "cast(id % 3 AS int) AS kind"
    )


def test_append_commits_one_version_with_a_split_per_task(events, table_path):
    events.write.format("indextables").mode("append").save(table_path)
    first = live(table_path)
    events.write.format("indextables").mode("append").save(table_path)
    second = live(table_path)
    assert (first.num_files, first.num_records) == (2, 20)
    assert (second.num_files, second.num_records) == (4, 40)
    assert second.version == first.version + 1


def test_overwrite_replaces_all_rows(events, table_path):
    events.write.format("indextables").save(table_path)
    events.limit(5).coalesce(1).write.format("indextables").mode("overwrite").save(table_path)
    assert (live(table_path).num_files, live(table_path).num_records) == (1, 5)


def test_default_mode_refuses_an_existing_table(events, table_path):
    events.write.format("indextables").save(table_path)
    with pytest.raises(errors.TableExistsError), translate_errors():
        events.write.format("indextables").save(table_path)
    assert live(table_path).num_records == 20


def test_ignore_leaves_an_existing_table_alone(events, table_path):
    events.write.format("indextables").mode("ignore").save(table_path)
    events.write.format("indextables").mode("ignore").save(table_path)
    assert live(table_path).num_records == 20


def test_partitions_become_folders_with_one_split_each(events, table_path):
    events.write.format("indextables").partitionBy("kind").save(table_path)
    paths = live(table_path).files().column("path").to_pylist()
    assert sorted(path.split("/")[0] for path in paths) == ["kind=0", "kind=1", "kind=2"]


def test_other_partitioning_is_refused(events, table_path):
    events.write.format("indextables").partitionBy("kind").save(table_path)
    with pytest.raises(errors.SchemaMismatchError, match="kind"), translate_errors():
        events.write.format("indextables").mode("append").partitionBy("id").save(table_path)


def test_dynamic_overwrite_replaces_only_partitions_in_the_data(events, table_path):
    events.write.format("indextables").partitionBy("kind").save(table_path)
    only = events.where("kind = 1").limit(2)
    writer = only.write.format("indextables").mode("overwrite")
    writer.option("partitionOverwriteMode", "dynamic").save(table_path)
    files = live(table_path).files()
    rows = dict(zip(files["path"].to_pylist(), files["numRecords"].to_pylist(), strict=True))
    assert {path.split("/")[0]: n for path, n in rows.items()} == {
        "kind=0": 7,
        "kind=1": 2,
        "kind=2": 6,
    }


@pytest.mark.parametrize("partition", ["", "PARTITIONED BY (kind)"])
def test_dynamic_overwrites_replace_what_they_replace_in_parquet(spark, tmp_path, partition):
    """Overwrites of empty tables and of tables without partitions, with and without rows."""
    statements = (
        "INSERT OVERWRITE {} VALUES (1, 'a'), (2, 'b')",
        "INSERT OVERWRITE {} VALUES (3, 'b')",
        "INSERT OVERWRITE {} SELECT 4, 'c' WHERE false",
    )
    mode = "spark.sql.sources.partitionOverwriteMode"
    spark.conf.set(mode, "dynamic")
    try:
        seen: dict[str, list] = {}
        for source in ("indextables", "parquet"):
            table = f"dynamic_{source}"
            shape = f"(id INT, kind STRING) USING {source} {partition}"
            spark.sql(f"CREATE TABLE {table} {shape} LOCATION '{tmp_path / source}'")
            for statement in statements:
                spark.sql(statement.format(table))
                rows = spark.sql(f"SELECT * FROM {table} ORDER BY id").collect()
                seen.setdefault(source, []).append(rows)
            spark.sql(f"DROP TABLE {table}")
    finally:
        spark.conf.unset(mode)
    assert seen["indextables"] == seen["parquet"]


def test_replace_where_replaces_matching_partitions(events, table_path):
    events.write.format("indextables").partitionBy("kind").save(table_path)
    new = events.where("kind = 2").limit(1)
    writer = new.write.format("indextables").mode("overwrite")
    writer.option("replaceWhere", "kind = 2").save(table_path)
    assert live(table_path).num_records == 20 - 6 + 1


def test_merge_schema_adds_columns(events, table_path):
    events.write.format("indextables").save(table_path)
    more = events.selectExpr("id", "message", "upper(message) AS shout")
    more.write.format("indextables").mode("append").option("mergeSchema", "true").save(table_path)
    assert live(table_path).schema.names == ["id", "message", "kind", "shout"]


def test_overwrite_schema_replaces_schema_and_partitioning(events, table_path):
    events.write.format("indextables").partitionBy("kind").save(table_path)
    other = events.selectExpr("cast(id AS string) AS key")
    writer = other.write.format("indextables").mode("overwrite")
    writer.option("overwriteSchema", "true").save(table_path)
    assert live(table_path).schema.names == ["key"]
    assert live(table_path).partition_columns == ()


def test_unknown_column_in_an_indexing_option_is_named(events, table_path):
    writer = events.write.format("indextables").option("indexing.typemap.nope", "text")
    with pytest.raises(errors.SchemaMismatchError, match="nope"), translate_errors():
        writer.save(table_path)


def test_missing_column_becomes_null_and_an_unknown_one_is_refused(spark, events, table_path):
    events.write.format("indextables").save(table_path)
    events.drop("kind").write.format("indextables").mode("append").save(table_path)
    table = spark.read.format("indextables").load(table_path)
    assert table.where("kind IS NULL").count() == 20
    other = events.selectExpr("*", "id AS surprise")
    with pytest.raises(errors.SchemaMismatchError, match="surprise"), translate_errors():
        other.write.format("indextables").mode("append").save(table_path)


def test_failed_write_leaves_table_and_folder_as_they_were(spark, events, table_path):
    events.write.format("indextables").save(table_path)
    before = live(table_path)
    bad = events.selectExpr("id", "if(id = 13, raise_error('boom'), message) message", "kind")
    with pytest.raises(Exception, match="boom"):
        bad.write.format("indextables").mode("overwrite").save(table_path)
    assert live(table_path).version == before.version
    assert live(table_path).num_records == 20


def test_txn_options_make_a_repeated_write_a_no_op(events, table_path):
    for _ in range(2):
        writer = events.write.format("indextables").mode("append")
        writer.option("txnAppId", "job").option("txnVersion", 7).save(table_path)
    assert live(table_path).num_records == 20


def kept(spark, path: str) -> dict[int, str]:
    rows = spark.read.format("indextables").load(path).select("id", "message").collect()
    return {row.id: row.message for row in rows}


def test_replace_where_on_any_column_replaces_rows_within_splits(spark, events, table_path):
    events.write.format("indextables").save(table_path)
    before = live(table_path).version
    new = spark.range(6, 8).selectExpr("id", "'new' AS message", "9 AS kind")
    writer = new.write.format("indextables").mode("overwrite")
    writer.option("replaceWhere", "id >= 5 AND id < 10").save(table_path)
    rows = kept(spark, table_path)
    assert sorted(rows) == [0, 1, 2, 3, 4, 6, 7, *range(10, 20)]
    assert rows[6] == "new"
    assert live(table_path).version == before + 1
    again = new.limit(1).selectExpr("id", "'again' AS message", "kind")
    again.writeTo(f"indextables.`{table_path}`").overwrite(col("kind") == 9)
    assert [m for m in kept(spark, table_path).values() if m in ("new", "again")] == ["again"]


def test_rows_outside_the_condition_are_refused_and_leave_nothing(spark, events, table_path):
    events.write.format("indextables").partitionBy("kind").save(table_path)
    before, files = live(table_path), set(Path(table_path).rglob("*.split"))
    for condition in ("id < 5", "kind = 1"):
        writer = events.write.format("indextables").mode("overwrite")
        with (
            pytest.raises(errors.SchemaMismatchError, match="OVERWRITE_OUTSIDE"),
            translate_errors(),
        ):
            writer.option("replaceWhere", condition).save(table_path)
    assert live(table_path).version == before.version
    assert set(Path(table_path).rglob("*.split")) == files


def test_a_condition_the_index_cannot_answer_is_refused_before_writing(events, table_path):
    text = events.write.format("indextables").option("indexing.typemap.message", "text")
    text.save(table_path)
    writer = events.limit(1).write.format("indextables").mode("overwrite")
    with pytest.raises(errors.UnsupportedError, match="OVERWRITE_CONDITION"), translate_errors():
        writer.option("replaceWhere", "id % 2 = 1").save(table_path)


def test_rows_and_bytes_written_are_told_to_spark(spark, events, table_path):
    gateway = spark.sparkContext._gateway
    nothing = gateway.new_array(gateway.jvm.double, 0), gateway.jvm.java.util.ArrayList()
    events.write.format("indextables").save(table_path)
    store = spark.sparkContext._jsc.sc().statusStore()
    last = store.stageList(None, False, False, *nothing).head()
    assert last.outputRecords() == 20
    assert last.outputBytes() == live(table_path).size_bytes


@pytest.mark.parametrize("columns", [(), ("kind",)], ids=["flat", "partitioned"])
def test_optimised_writing_joins_small_tasks(spark, events, table_path, columns):
    writer = events.repartition(8).write.format("indextables").partitionBy(*columns)
    writer.option("write.optimizeWrite.enabled", "true").save(table_path)
    assert live(table_path).num_files == (3 if columns else 1)
    assert live(table_path).num_records == 20


def test_odd_partition_values_come_back_as_they_were(spark, table_path):
    values = [None, "", "a/b", "x=y", "ü 漢", "%41", ".", "a b"]
    rows = spark.createDataFrame([(i, v) for i, v in enumerate(values)], "id int, p string")
    rows.write.format("indextables").partitionBy("p").save(table_path)
    table = spark.read.format("indextables").load(table_path)
    assert [r.p for r in table.orderBy("id").collect()] == values
    for value in values[1:]:
        assert table.where(col("p") == value).count() == 1
    assert table.where("p IS NULL").count() == 1
    assert live(table_path).num_files == len(values)


def test_tasks_without_rows_write_no_splits(spark, events, table_path):
    events.where("id = 3").repartition(4).write.format("indextables").save(table_path)
    assert live(table_path).num_files == 1
    events.where("id < 0").write.format("indextables").mode("append").save(table_path)
    assert live(table_path).num_files == 1


def test_the_layout_is_an_option_a_session_key_and_a_table_property(spark, events, tmp_path):
    key = "spark.indextables.indexing.layout"
    by_option, by_session, by_name = (str(tmp_path / name) for name in ("o", "s", "t"))
    events.write.format("indextables").option("indexing.layout", "lean").save(by_option)
    spark.conf.set(key, "lean")
    try:
        events.write.format("indextables").save(by_session)
    finally:
        spark.conf.unset(key)
    spark.sql(f"CREATE TABLE indextables.`{by_name}` (id LONG) TBLPROPERTIES ('{key}' = 'lean')")
    spark.sql(f"INSERT INTO indextables.`{by_name}` VALUES (1)")
    for path in (by_option, by_session, by_name):
        assert "leanSplits" in live(path).protocol.reader_features, path
        assert live(path).metadata.configuration[key] == "lean"


def test_an_update_in_a_session_of_lean_splits_raises_the_protocol(spark, events, table_path):
    events.write.format("indextables").save(table_path)
    spark.conf.set("spark.indextables.indexing.layout", "lean")
    try:
        spark.sql(f"UPDATE indextables.`{table_path}` SET kind = 9 WHERE id = 3")
    finally:
        spark.conf.unset("spark.indextables.indexing.layout")
    assert "leanSplits" in live(table_path).protocol.reader_features


def test_the_files_of_a_table_are_read_with_the_keys_of_the_session(
    spark, events, table_path, monkeypatch
):
    events.write.format("indextables").save(table_path)
    seen = []

    def noted(path, settings):
        seen.append(settings.get(storage.AWS_ACCESS_KEY))
        return open_store(path, settings)

    monkeypatch.setattr("indextables.api.table.open_store", noted)
    spark.conf.set(storage.AWS_ACCESS_KEY.full_key, "mine")
    try:
        assert IndexTable.forPath(spark, table_path).files().num_rows == 2
    finally:
        spark.conf.unset(storage.AWS_ACCESS_KEY.full_key)
    assert [key.reveal() for key in seen] == ["mine"]


def test_replace_where_of_a_name_keeps_the_other_rows(spark):
    """`saveAsTable` in mode overwrite replaces tables, so it refuses the option."""
    spark.sql("DROP TABLE IF EXISTS replaced_by_name")
    rows = "SELECT id, id % 2 AS p FROM range(4)"
    spark.sql(f"CREATE TABLE replaced_by_name USING indextables AS {rows}")
    frame = spark.sql("SELECT 9L AS id, 1L AS p")
    writer = frame.write.format("indextables").mode("overwrite").option("replaceWhere", "p = 1")
    with pytest.raises(Exception, match="REPLACE_WHERE_IN_REPLACE"):
        writer.saveAsTable("replaced_by_name")
    frame.writeTo("replaced_by_name").overwrite(col("p") == 1)
    found = spark.table("replaced_by_name").orderBy("id").collect()
    assert [row.id for row in found] == [0, 2, 9]
    spark.sql("DROP TABLE replaced_by_name")
