"""Side effects of writes and scans: merges after writes, pruning counters."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.spark


def test_small_splits_are_merged_after_a_write_when_asked_for(spark, table_path):
    frame = spark.range(10).repartition(2)
    frame.write.format("indextables").mode("append").save(table_path)
    (
        spark.range(10, 20)
        .write.format("indextables")
        .option("spark.indextables.mergeOnWrite.enabled", "true")
        .option("spark.indextables.mergeOnWrite.async.enabled", "false")
        .mode("append")
        .save(table_path)
    )
    detail = spark.sql(f"DESCRIBE INDEXTABLES DETAIL '{table_path}'").collect()[0]
    assert (detail["num_files"], detail["num_records"]) == (1, 20)
    assert sorted(
        row.id for row in spark.read.format("indextables").load(table_path).collect()
    ) == [*range(20)]
    history = spark.sql(f"DESCRIBE INDEXTABLES HISTORY '{table_path}' LIMIT 1").collect()
    assert history[0]["operation"] == "MERGE SPLITS"


def test_pruned_splits_are_counted(spark, table_path):
    for start in (0, 100):
        spark.range(start, start + 10).coalesce(1).write.format("indextables").mode("append").save(
            table_path
        )
    spark.sql("FLUSH INDEXTABLES DATA SKIPPING STATS")
    rows = spark.read.format("indextables").load(table_path).where("id = 105").collect()
    assert [row.id for row in rows] == [105]
    stats = spark.sql("DESCRIBE INDEXTABLES DATA SKIPPING STATS").collect()
    counts = {row.metric_name: row.metric_value for row in stats}
    assert (counts["total_files_considered"], counts["data_skipped_files"]) == ("2", "1")


def test_merge_keeps_rows_searches_and_statistics(spark, table_path):
    rows = [(i, f"event {i} {'timeout' if i % 7 == 0 else 'fine'}") for i in range(200)]
    frame = spark.createDataFrame(rows, "id bigint, message string").repartition(2)
    for _ in range(2):
        (
            frame.write.format("indextables")
            .option("spark.indextables.indexing.typemap.message", "text")
            .mode("append")
            .save(table_path)
        )
    before = spark.read.format("indextables").load(table_path)
    before.createOrReplaceTempView("merged_events")
    search = "SELECT count(*) AS n FROM merged_events WHERE message indexquery 'timeout'"
    found = spark.sql(search).collect()[0].n
    metrics = spark.sql(f"MERGE SPLITS '{table_path}'").collect()[0]["metrics"]
    assert (metrics["status"], metrics["merged_files"]) == ("success", 4)
    after = spark.read.format("indextables").load(table_path)
    after.createOrReplaceTempView("merged_events")
    assert spark.sql(search).collect()[0].n == found == 2 * 29
    assert sorted(after.collect()) == sorted(rows + rows)
    added = spark.sql(f"DESCRIBE INDEXTABLES TRANSACTION LOG '{table_path}' INCLUDE ALL")
    last = added.where("action_type = 'add'").orderBy("version").collect()[-1]
    assert (last["num_records"], last["num_merge_ops"]) == (400, 1)
    assert '"id": "0"' in last["min_values"]
    assert '"id": "199"' in last["max_values"]
