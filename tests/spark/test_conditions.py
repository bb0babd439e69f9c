"""Errors in Spark's form: condition, SQLSTATE and message parameters, one message each."""

from __future__ import annotations

import logging

import pytest
from pyspark.errors import AnalysisException

from indextables.errors import StorageError
from indextables.save.splits import discard_splits


def test_the_planner_tells_condition_sqlstate_and_parameters(spark, tmp_path):
    with pytest.raises(AnalysisException) as caught:
        spark.read.format("indextables").load(f"{tmp_path}/none")
    failure = caught.value
    assert failure.getCondition() == "TABLE_NOT_FOUND"
    assert failure.getSqlState() == "42P01"
    assert failure.getMessageParameters() == {"path": f"{tmp_path}/none"}
    assert "there is no IndexTables table at" in failure.getMessage()


def test_the_hooks_tell_condition_and_sqlstate(spark, table_path):
    spark.range(3).write.format("indextables").save(table_path)
    with pytest.raises(AnalysisException, match="BUCKET_ARGUMENTS") as caught:
        spark.sql(f"SELECT indextables_histogram(id) FROM indextables.`{table_path}`").collect()
    assert caught.value.getCondition() == "BUCKET_ARGUMENTS"
    assert caught.value.getSqlState() == "42K0E"


def test_a_wrong_query_is_told_in_one_line(spark, table_path):
    spark.sql("SELECT 'a' AS m").write.format("indextables").save(table_path)
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"SELECT * FROM indextables.`{table_path}` WHERE m indexquery 'm:(a'").collect()
    assert str(caught.value) == (
        "[QUERY_SYNTAX] `m:(a` at position 2: this is not closed by `)`; "
        "hint: correct the search text"
    )


@pytest.mark.parametrize("how", ["save", "insert", "merge"])
def test_rows_that_cannot_be_written_are_told_in_one_message(spark, table_path, how):
    rows = spark.sql("SELECT 1 AS id, 'a' AS name")
    rows.write.format("indextables").option("primary-key", "id").save(table_path)
    bad = spark.sql("SELECT cast(NULL AS int) AS id, 'b' AS name")
    bad.createOrReplaceTempView("bad_rows")
    table = f"indextables.`{table_path}`"
    on = f"MERGE INTO {table} t USING bad_rows s ON t.id = s.id"
    ways = {
        "save": lambda: bad.write.format("indextables").mode("append").save(table_path),
        "insert": lambda: spark.sql(f"INSERT INTO {table} SELECT * FROM bad_rows"),
        "merge": lambda: spark.sql(f"{on} WHEN NOT MATCHED THEN INSERT *"),
    }
    with pytest.raises(AnalysisException, match="PRIMARY_KEY_NULL") as caught:
        ways[how]()
    assert caught.value.getCondition() == "PRIMARY_KEY_NULL"
    assert "Traceback" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert spark.table(table).count() == 1


def test_splits_that_stay_are_told_with_their_table(caplog):
    class Failing:
        url = "/tables/events"

        def delete(self, paths):
            raise StorageError("STORAGE_FAILED", "no answer")

    class Split:
        path, hashes = "splits/one.split", None

    with caplog.at_level(logging.WARNING):
        discard_splits(Failing(), [Split()])
        discard_splits(Failing(), [Split(), Split()])
    assert [record.getMessage() for record in caplog.records] == [
        "1 split of a failed write to `/tables/events` left for PURGE to delete",
        "2 splits of a failed write to `/tables/events` left for PURGE to delete",
    ]
