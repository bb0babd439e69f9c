"""Delta's forms of commands work on IndexTables tables, and only there."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("borrowed")
    spark.sql("CREATE DATABASE IF NOT EXISTS lent")
    spark.range(4).coalesce(1).write.format("indextables").save(str(folder / "ours"))
    spark.sql(f"CREATE TABLE lent.ours USING indextables LOCATION '{folder / 'ours'}'")
    for _ in range(2):
        spark.range(3).coalesce(1).write.format("indextables").mode("append").saveAsTable(
            "lent.ours"
        )
    spark.range(4).write.format("parquet").saveAsTable("lent.theirs")
    yield str(folder / "ours")
    spark.sql("DROP DATABASE lent CASCADE")


def test_history_and_detail(spark, tables):
    versions = [row.version for row in spark.sql("DESCRIBE HISTORY lent.ours").collect()]
    assert versions[0] == max(versions) >= 2
    assert len(spark.sql(f"DESC HISTORY '{tables}' LIMIT 1").collect()) == 1
    assert spark.sql("DESCRIBE DETAIL lent.ours").collect()[0].num_records == 10
    assert spark.sql(f"describe detail indextables.`{tables}`").collect()[0].num_records == 10


def test_optimize_restore_and_vacuum(spark, tables):
    before = spark.sql("DESCRIBE DETAIL lent.ours").collect()[0]
    assert spark.sql("OPTIMIZE lent.ours").collect()[0].metrics.status == "success"
    assert spark.sql("DESCRIBE DETAIL lent.ours").collect()[0].num_files == 1
    spark.sql(f"RESTORE TABLE lent.ours TO VERSION AS OF {before.version}").collect()
    after = spark.sql("DESCRIBE DETAIL lent.ours").collect()[0]
    assert after.num_files == before.num_files
    purged = spark.sql("VACUUM lent.ours RETAIN 200 HOURS DRY RUN").collect()[0]
    assert (purged.metrics.status, purged.metrics.dry_run) == ("DRY_RUN", True)


@pytest.mark.parametrize(
    "text",
    [
        "DESCRIBE HISTORY lent.theirs",
        "DESCRIBE DETAIL lent.theirs",
        "OPTIMIZE lent.theirs",
        "VACUUM lent.theirs DRY RUN",
        "RESTORE TABLE lent.theirs TO VERSION AS OF 0",
        "OPTIMIZE nowhere",
    ],
)
def test_other_tables_are_left_to_spark(spark, tables, text):
    with pytest.raises(Exception) as caught:
        spark.sql(text)
    assert "indextables" not in str(caught.value).lower()
    assert type(caught.value).__name__ in ("ParseException", "AnalysisException")


def test_a_table_named_history_can_still_be_described(spark, tables):
    spark.sql("CREATE TABLE lent.history (t INT) USING parquet")
    spark.sql("USE lent")
    try:
        found = spark.sql("DESCRIBE history t").collect()
    finally:
        spark.sql("USE default")
    assert found[0].info_value == "t"


@pytest.mark.parametrize("what", ["HISTORY", "DETAIL"])
def test_an_unknown_table_is_named(spark, what):
    with pytest.raises(Exception, match="`nowhere`"):
        spark.sql(f"DESCRIBE {what} nowhere").collect()
