"""One jar supports all Spark versions: a short test of everything.

`make test-oldest` runs this module on the oldest version.
"""

from __future__ import annotations

import pytest
from pyspark.sql.functions import call_function, col, lit


def rows(frame) -> list[tuple]:
    return sorted((tuple(row) for row in frame.collect()), key=str)


@pytest.fixture
def table(spark, table_path) -> str:
    """Three rows written twice, partitioned."""
    frame = spark.createDataFrame(
        [(1, "quick brown fox", "a"), (2, "lazy dog", "b"), (3, "brown bear", "a")],
        "id int, message string, kind string",
    )
    writer = frame.write.format("indextables").option("indexing.typemap.message", "text")
    writer.partitionBy("kind").save(table_path)
    frame.write.format("indextables").mode("append").save(table_path)
    spark.read.format("indextables").load(table_path).createOrReplaceTempView("t")
    return f"indextables.`{table_path}`"


@pytest.mark.parametrize("local", ["true", "false"])
def test_reads(spark, table, local):
    spark.conf.set("spark.indextables.read.local.enabled", local)
    assert rows(spark.sql("SELECT id FROM t WHERE id > 1 AND kind = 'a'")) == [(3,), (3,)]
    found = spark.sql("SELECT DISTINCT id FROM t WHERE message indexquery 'brown' OR id = 2")
    assert rows(found) == [(1,), (2,), (3,)]
    assert rows(spark.sql("SELECT kind, count(*), max(id) FROM t GROUP BY kind")) == [
        ("a", 4, 3),
        ("b", 2, 2),
    ]
    assert [r.id for r in spark.sql("SELECT id FROM t ORDER BY id DESC LIMIT 3").collect()] == [
        3,
        3,
        2,
    ]
    assert rows(spark.sql("SELECT count(*), avg(id) FROM t WHERE * indexquery 'fox'")) == [(2, 1.0)]
    sums = spark.sql("SELECT sum(id), avg(id) FROM t WHERE id > 1")
    assert rows(sums) == [(10, 2.5)]
    assert "pushed aggregates: [" in sums._jdf.queryExecution().executedPlan().toString()
    column = call_function("indexquery", col("message"), lit("dog"))
    assert spark.table("t").where(column).count() == 2
    spark.conf.unset("spark.indextables.read.local.enabled")


def test_search_that_is_not_pushed_matches_rows_or_is_refused(spark, table):
    found = spark.sql("SELECT message indexquery 'brown', count(*) FROM t GROUP BY 1")
    if spark.version < "4.1":
        with pytest.raises(Exception, match="SEARCH_NOT_PUSHED"):
            found.collect()
    else:
        pushed = spark.sql("SELECT count(*) FROM t WHERE message indexquery 'brown'").first()[0]
        assert dict(rows(found)).get(True, 0) == pushed
        queries = "(SELECT explode(array('fox', 'dog')) AS q)"
        found = f"EXISTS (SELECT 1 FROM {queries} WHERE message indexquery q)"
        assert rows(spark.sql(f"SELECT id, {found} FROM t WHERE id < 3 OR NOT {found}")) == [
            (1, True), (1, True), (2, True), (2, True), (3, False), (3, False)
        ]  # fmt: skip


def test_changes(spark, table):
    spark.sql(f"INSERT INTO {table} VALUES (9, 'nine', 'z')")
    spark.sql(f"DELETE FROM {table} WHERE id = 1")
    spark.sql(f"UPDATE {table} SET message = 'changed' WHERE length(message) = 8")
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT 3 id, 'M' message, 'a' kind UNION ALL "
        "SELECT 10, 'N', 'n') s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(spark.sql(f"SELECT id, message FROM {table}")) == [
        (10, "N"),
        (2, "changed"),
        (2, "changed"),
        (3, "M"),
        (3, "M"),
        (9, "nine"),
    ]


def test_commands_and_catalog(spark, table):
    assert spark.sql(f"DESCRIBE INDEXTABLES HISTORY {table}").count() == 3
    spark.sql("DROP TABLE IF EXISTS c")
    spark.sql("CREATE TABLE c USING indextables AS SELECT * FROM t")
    spark.sql("INSERT OVERWRITE c SELECT * FROM t WHERE id = 1")
    assert spark.table("c").count() == 2
    spark.sql("DROP TABLE c")


def test_streams(spark, table, tmp_path):
    source = table.split("`")[1]
    target = str(tmp_path / "copy")

    def copy() -> None:
        stream = spark.readStream.format("indextables").load(source)
        writer = stream.writeStream.format("indextables").trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "check")).start(
            target
        ).awaitTermination()

    copy()
    assert spark.read.format("indextables").load(target).count() == 6
    spark.sql(f"INSERT INTO {table} VALUES (9, 'nine', 'z')")
    copy()
    copy()
    assert spark.read.format("indextables").load(target).count() == 7


def test_names(spark, table_path):
    for name in ("compat", "compat_like"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(
        "CREATE TABLE compat (id INT, message STRING, n INT DEFAULT 7) USING indextables "
        f"LOCATION '{table_path}' TBLPROPERTIES ('primary-key'='id')"
    )
    spark.sql("UPDATE compat SET n = 1")
    # Spark 4.0 does not fill in columns that an INSERT omits
    spark.sql("INSERT INTO compat VALUES (1, 'a fox', DEFAULT), (2, 'a dog', DEFAULT)")
    spark.sql("ALTER TABLE compat ADD COLUMN state STRING DEFAULT 'new' AFTER id")
    spark.sql("ALTER TABLE compat RENAME COLUMN n TO amount")
    assert rows(spark.table("compat")) == [(1, "new", "a fox", 7), (2, "new", "a dog", 7)]
    spark.sql("CREATE TABLE compat_like LIKE compat")
    spark.sql("INSERT INTO compat_like SELECT * FROM compat UNION ALL SELECT * FROM compat")
    assert spark.table("compat_like").count() == 2
    spark.sql("ANALYZE TABLE compat COMPUTE STATISTICS")
    spark.sql("CREATE OR REPLACE TABLE compat_like USING indextables AS SELECT 1 AS one")
    assert rows(spark.table("compat_like")) == [(1,)]
    with pytest.raises(Exception, match="TABLE_NOT_FOUND"):
        spark.sql(f"SELECT * FROM indextables.`{table_path}/nothing`").collect()
    for name in ("compat", "compat_like"):
        spark.sql(f"DROP TABLE {name}")


def test_views(spark, table):
    spark.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT id, message, _doc AS doc FROM t")
    assert rows(spark.sql("SELECT DISTINCT id FROM v WHERE message indexquery 'dog'")) == [(2,)]
    with pytest.raises(Exception, match="INVALID_TEMP_OBJ_REFERENCE"):
        spark.sql("CREATE VIEW kept AS SELECT * FROM t")
    spark.catalog.dropTempView("v")
