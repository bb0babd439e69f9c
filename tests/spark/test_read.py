"""Reading through Spark: exact rows on both paths, and what EXPLAIN shows."""

from __future__ import annotations

import shutil
import threading

import pyarrow as pa
import pytest

import indextables
from indextables import errors
from indextables.spark.failures import translate_errors

LOCAL = "spark.indextables.read.local.enabled"


@pytest.fixture(scope="module")
def both(spark, tmp_path_factory):
    """Views of the same rows in an IndexTables table (`ours`) and in Parquet (`theirs`)."""
    folder = tmp_path_factory.mktemp("read")
    rows = spark.range(0, 300, 1, 2).selectExpr(
        "id",
        "concat('message number ', id, if(id % 7 = 0, ' timeout', '')) AS message",
        "if(id % 5 = 0, null, concat('host-', id % 11)) AS host",
        "cast(id % 3 AS int) AS kind",
        "id / 7.0D AS ratio",
        "timestamp_seconds(id * 3600) AS ts",
        "named_struct('a', id, 'b', cast(id AS string)) AS nested",
        "array(concat('t', id % 9), concat('t', id % 4)) AS tags",
    )
    rows.write.parquet(str(folder / "parquet"))
    writer = rows.write.format("indextables").option("indexing.typemap.message", "text")
    writer.partitionBy("kind").save(str(folder / "table"))
    ours = spark.read.format("indextables").load(str(folder / "table"))
    ours.createOrReplaceTempView("ours")
    spark.read.parquet(str(folder / "parquet")).createOrReplaceTempView("theirs")
    return ours


@pytest.fixture(params=["planner", "tasks"])
def path(request, spark):
    """Both execution paths."""
    spark.conf.set(LOCAL, str(request.param == "planner").lower())
    yield request.param
    spark.conf.unset(LOCAL)


def rows(spark, sql: str, table: str) -> list[str]:
    return sorted(str(row) for row in spark.sql(sql.replace("@", table)).collect())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM @ WHERE id = 7",
        "SELECT id, message FROM @ WHERE id > 290 AND ratio < 42",
        "SELECT id FROM @ WHERE host IS NULL AND kind = 1",
        "SELECT id FROM @ WHERE NOT (host = 'host-3') OR id IN (1, 2, 3)",
        "SELECT id FROM @ WHERE message = 'message number 9'",
        "SELECT id FROM @ WHERE message LIKE '%number 29%'",
        "SELECT id FROM @ WHERE message LIKE 'm_ss%number%7%' AND message LIKE '%e n%r 2_'",
        "SELECT id FROM @ WHERE message RLIKE 'number 1[0-5]$' AND NOT message RLIKE 'x+'",
        "SELECT id FROM @ WHERE array_contains(tags, 't3') OR array_contains(tags, 't8')",
        "SELECT date_trunc('DAY', ts) AS day, count(*) FROM @ GROUP BY 1",
        "SELECT id, nested.b FROM @ WHERE length(message) = 16",
        "SELECT kind, id FROM @ WHERE ts >= '1970-01-12' AND kind <> 0",
        "SELECT count(*) FROM @",
        "SELECT count(*) FROM @ WHERE kind = 2",
        "SELECT count(*), count(host), min(id), max(ratio) FROM @ WHERE id < 100",
        "SELECT kind, count(*), sum(id) FROM @ GROUP BY kind",
        "SELECT kind, count(*) FROM @ WHERE id = 7 GROUP BY kind",
        "SELECT round(stddev(id), 6), percentile(id, 0.5), round(corr(id, kind), 6) FROM @",
        "SELECT kind, max_by(message, id), approx_count_distinct(host) FROM @ GROUP BY kind",
        "SELECT count(DISTINCT host), count(DISTINCT kind), sum(id) FILTER (WHERE kind = 1) FROM @",
        "SELECT nested.b, count(*) FROM @ GROUP BY nested.b",
        "SELECT id % 4, hour(ts), count(*) FROM @ GROUP BY ROLLUP (id % 4, hour(ts))",
        "SELECT a.id, b.host FROM @ a JOIN @ b ON a.id = b.id + 1 WHERE a.host = 'host-3'",
        "SELECT id, row_number() OVER (PARTITION BY host ORDER BY id) FROM @ WHERE id < 50",
        "SELECT * FROM @ WHERE id IN (SELECT max(id) FROM @ GROUP BY host)",
        "SELECT DISTINCT host, kind FROM @",
        "SELECT count(*), sum(kind) FROM @ WHERE id > 1000",
        "SELECT host, round(avg(ratio), 6) FROM @ WHERE id > 5 GROUP BY host",
        "SELECT id FROM @ ORDER BY ts DESC LIMIT 3",
        "SELECT id FROM @ ORDER BY id LIMIT 3 OFFSET 2",
        "SELECT count(*) FROM (SELECT * FROM @ LIMIT 7)",
        "SELECT count(*) FROM (SELECT * FROM @ LIMIT 10 OFFSET 295)",
        "SELECT 1 FROM @ WHERE kind = 1 OFFSET 97",
        "SELECT count(*) FROM (SELECT id FROM @ ORDER BY id LIMIT 10 OFFSET 301)",
        "SELECT a.id FROM @ a JOIN @ b ON a.id = b.id WHERE a.kind = 1 AND b.id < 20",
    ],
)
def test_rows_equal_parquet(spark, both, path, sql):
    assert rows(spark, sql, "ours") == rows(spark, sql, "theirs")


@pytest.mark.parametrize(
    ("condition", "same"),
    [
        ("message indexquery 'timeout'", "id % 7 = 0"),
        ("message indexquery 'timeout' AND kind = 1", "id % 7 = 0 AND kind = 1"),
        ("NOT message indexquery 'timeout' AND id < 50", "id % 7 <> 0 AND id < 50"),
        ("message indexquery 'timeout' OR id = 5", "id % 7 = 0 OR id = 5"),
        ("message indexquery '\"number 42\"'", "id = 42"),
        ("ours.message TEXTSEARCH 'timeout'", "id % 7 = 0"),
        ("host FIELDMATCH 'host-3'", "host = 'host-3'"),
        ("* indexquery 'timeout'", "id % 7 = 0"),
        ("_indexall indexquery 'timeout'", "id % 7 = 0"),
        ("indexqueryall('timeout')", "id % 7 = 0"),
        ("id indexquery '42'", "id = 42"),
    ],
)
def test_search_finds_the_rows(spark, both, path, condition, same):
    found = rows(spark, f"SELECT id FROM ours WHERE {condition}", "ours")
    assert found == rows(spark, f"SELECT id FROM theirs WHERE {same}", "theirs")


BUCKETS = [
    "indextables_histogram(id, 50)",
    "indextables_histogram(odd, 0.7, 0.1)",
    "indextables_date_histogram(late, '1d')",
    "indextables_date_histogram(late, '36h', '90m')",
    "indextables_date_histogram(ts, '1M')",
    "indextables_date_histogram(late, '2q', '3d')",
    "indextables_date_histogram(ts, '1y')",
    "indextables_range(id, 'low', NULL, 100, 'high', 150, NULL)",
    "indextables_range(odd, 'a', 0, 1, 'b', 1, NULL, 'a', NULL, 0)",
    "date_trunc('HOUR', late)",
    "date_trunc('MILLISECOND', ts)",
    "trunc(day, 'MM')",
]


@pytest.fixture(scope="module")
def sparse(spark, tmp_path_factory):
    """Views of rows with nulls and special numbers, in an IndexTables table and in Parquet."""
    folder = tmp_path_factory.mktemp("buckets")
    made = spark.range(0, 400, 1, 2).selectExpr(
        "if(id % 9 = 0, null, id - 40) AS id",
        "CASE id % 11 WHEN 0 THEN null WHEN 1 THEN double('NaN') WHEN 2 THEN double('-Infinity') "
        "WHEN 3 THEN double('Infinity') WHEN 4 THEN -0.0D ELSE id / 70.0D - 2 END AS odd",
        "timestamp_seconds(id * 86400 * 5 - 90000000) AS ts",
        "if(id % 7 = 0, null, timestamp_micros(id * 5400000123 - 86400000000)) AS late",
        "if(id % 6 = 0, null, date_add(date'1969-11-20', cast(id as int))) AS day",
    )
    made.write.parquet(str(folder / "parquet"))
    made.write.format("indextables").save(str(folder / "table"))
    spark.read.parquet(str(folder / "parquet")).createOrReplaceTempView("sparse_theirs")
    table = spark.read.format("indextables").load(str(folder / "table"))
    table.createOrReplaceTempView("sparse_ours")


@pytest.mark.parametrize("bucket", BUCKETS)
def test_buckets_are_computed_by_the_index_as_by_spark(spark, sparse, path, bucket):
    sql = f"SELECT {bucket} AS b, count(*) AS n, min(id), max(ts) FROM @ GROUP BY 1"
    assert rows(spark, sql, "sparse_ours") == rows(spark, sql, "sparse_theirs")
    plan = spark.sql("EXPLAIN " + sql.replace("@", "sparse_ours")).collect()[0][0]
    assert "pushed aggregates: [COUNT(*), MIN(id), MAX(ts)]" in plan


def test_bucket_functions_agree_with_spark(spark, both, path):
    sql = (
        "SELECT indextables_histogram(id, 50) AS h, "
        "indextables_date_histogram(ts, '1d') AS d, "
        "indextables_range(id, 'low', NULL, 100, 'high', 100, NULL) AS r, count(*) AS n "
        "FROM @ GROUP BY 1, 2, 3"
    )
    assert rows(spark, sql, "ours") == rows(spark, sql, "theirs")


ORDERED = [
    "SELECT host, count(*) AS n FROM @ GROUP BY host ORDER BY n DESC, host NULLS LAST LIMIT 4",
    "SELECT host, max(ts) FROM @ GROUP BY host ORDER BY host NULLS FIRST LIMIT 3 OFFSET 2",
    "SELECT n + 1 FROM (SELECT host, count(*) AS n FROM @ GROUP BY host) ORDER BY host DESC",
    "SELECT kind, count(*) FROM @ GROUP BY kind HAVING count(*) > 99 ORDER BY kind DESC",
    "SELECT sum(n) FROM (SELECT host, count(*) AS n FROM @ GROUP BY host ORDER BY n LIMIT 3)",
    "SELECT count(*) FROM (SELECT host FROM @ WHERE id < 0 GROUP BY host ORDER BY host LIMIT 3)",
]


@pytest.mark.parametrize("sql", ORDERED)
def test_groups_are_put_in_order_as_by_spark(spark, both, path, sql):
    ours, theirs = (spark.sql(sql.replace("@", name)).collect() for name in ("ours", "theirs"))
    assert ours == theirs


def test_groups_are_put_in_order_without_a_job(spark, sparse):
    sql = "SELECT odd, count(*) AS n FROM @ GROUP BY odd ORDER BY odd DESC, n LIMIT 30"
    found = spark.sql(sql.replace("@", "sparse_ours"))
    jobs = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("ordered", "")
    ours = found.collect()
    spark.sparkContext.setJobGroup("others", "")
    assert list(jobs.getJobIdsForGroup("ordered")) == []
    assert str(ours) == str(spark.sql(sql.replace("@", "sparse_theirs")).collect())
    assert "IndexTablesSort" in found._jdf.queryExecution().toString()


def test_fast_mode_says_that_it_truncates(spark, both):
    spark.conf.set("spark.indextables.read.mode", "fast")
    spark.conf.set("spark.indextables.read.defaultLimit", "5")
    try:
        text = spark.sql("EXPLAIN SELECT id FROM ours WHERE id > 3").collect()[0][0]
        assert "TRUNCATED by read.mode=fast to 5 rows" in text
        assert len(spark.sql("SELECT id FROM ours WHERE id > 3").collect()) < 100
        assert spark.sql("SELECT count(*) FROM ours WHERE id > 3").first()[0] == 296
    finally:
        spark.conf.unset("spark.indextables.read.mode")
        spark.conf.unset("spark.indextables.read.defaultLimit")


def test_search_as_a_column_and_with_parameters(spark, both):
    from indextables.spark.functions import indexquery

    by_column = both.where(indexquery("message", "timeout")).count()
    by_name = spark.sql("SELECT * FROM ours WHERE message indexquery :q", {"q": "timeout"}).count()
    assert by_column == by_name == 43


def test_metadata_columns_name_the_row(spark, both, path):
    found = spark.sql("SELECT id, _split, _doc FROM ours WHERE id = 7").collect()[0]
    assert found["_split"].startswith("kind=1/splits/split-")
    assert found["_doc"] >= 0


@pytest.mark.parametrize(
    ("function", "pushed"),
    [
        ("sum(kind)", "[SUM(CAST(kind AS long))]"),
        ("avg(kind)", "[SUM(CAST(kind AS double)), COUNT(CAST(kind AS double))]"),
        ("sum(id)", "[SUM(id)]"),
    ],
)
def test_tasks_return_partial_sums(spark, both, function, pushed):
    spark.conf.set(LOCAL, "false")
    try:
        sql = f"SELECT {function} FROM @ WHERE id > 3"
        explained = spark.sql("EXPLAIN " + sql.replace("@", "ours")).collect()[0][0]
        assert f"pushed aggregates: {pushed}" in explained
        assert rows(spark, sql, "ours") == rows(spark, sql, "theirs")
    finally:
        spark.conf.unset(LOCAL)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id FROM ours WHERE id > 3", "pushed filters: [id IS NOT NULL, id > 3]"),
        ("SELECT id FROM ours WHERE message indexquery 'x'", "[message indexquery 'x']"),
        ("SELECT id FROM ours LIMIT 2", "pushed limit: 2"),
        ("SELECT id FROM ours ORDER BY ts LIMIT 2", "pushed order: [ts ASC NULLS FIRST]"),
        ("SELECT max(id) FROM ours", "pushed aggregates: [MAX(id)]"),
        ("SELECT count(*) FROM ours", "answered by: log"),
        ("SELECT count(*) FROM ours WHERE kind = 1", "splits: 1 of 3"),
    ],
)
def test_explain_shows_what_was_pushed(spark, both, sql, expected):
    assert expected in spark.sql("EXPLAIN " + sql).collect()[0][0]


def test_explain_shows_tasks_when_the_planner_does_not_answer(spark, both, path):
    text = spark.sql("EXPLAIN SELECT id FROM ours WHERE id > 3").collect()[0][0]
    assert f"answered by: {path}" in text
    assert "columns: [id]" in text


def test_a_wrong_query_fails_before_any_task(spark, both):
    with pytest.raises(errors.QuerySyntaxError, match="position"), translate_errors():
        spark.sql("SELECT * FROM ours WHERE message indexquery 'a AND ('").collect()


def test_path_without_a_table_is_said_in_one_line(spark, tmp_path):
    with (
        pytest.raises(errors.TableNotFoundError, match="there is no IndexTables table"),
        translate_errors(),
    ):
        spark.read.format("indextables").load(str(tmp_path / "nothing"))


def test_old_class_name_is_the_same_format(spark, both, tmp_path):
    path = str(tmp_path / "t")
    both.limit(3).write.format("io.indextables.provider.IndexTablesProvider").save(path)
    old = "io.indextables.spark.core.IndexTables4SparkTableProvider"
    assert spark.read.format(old).load(path).count() == 3


def test_reader_sees_the_newest_commit(spark, both, table_path):
    both.limit(3).write.format("indextables").save(table_path)
    frame = spark.read.format("indextables").load(table_path)
    assert frame.count() == 3
    both.limit(2).write.format("indextables").mode("append").save(table_path)
    assert frame.count() == 5
    older = spark.read.format("indextables").option("versionAsOf", 1).load(table_path)
    assert older.count() == 3


def test_the_plan_counts_what_was_scanned(spark, both, path):
    found = spark.sql("SELECT id, message FROM ours WHERE kind = 1 AND id > 3")
    found.collect()
    metrics = found._jdf.queryExecution().executedPlan().collectLeaves().apply(0).metrics()
    counted = {name: metrics.apply(name).value() for name in ("splitsConsidered", "splitsScanned")}
    assert counted == {"splitsConsidered": 3, "splitsScanned": 1}
    assert metrics.apply("rowsScanned").value() == 100
    assert metrics.apply("bytesScanned").value() > 0


def test_the_optimizer_learns_bounds_of_columns(spark, both):
    spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        plan = spark.table("ours")._jdf.queryExecution().optimizedPlan()
        stats = plan.stats().attributeStats().toString()
    finally:
        spark.conf.unset("spark.sql.cbo.enabled")
    assert "Some(0),Some(299)" in stats
    # 299 hours after the epoch
    assert "Some(0),Some(1076400000000)" in stats


def test_table_by_path_in_sql(spark, both, table_path):
    both.limit(4).write.format("indextables").save(table_path)
    assert spark.sql(f"SELECT * FROM indextables.`{table_path}`").count() == 4
    spark.sql(f"INSERT INTO indextables.`{table_path}` SELECT * FROM ours WHERE id = 0")
    assert spark.sql(f"SELECT * FROM indextables.`{table_path}`").count() == 5
    assert spark.sql(f"SELECT * FROM indextables.`{table_path}` VERSION AS OF 1").count() == 4


def test_table_made_anew_at_the_same_place_is_not_taken_for_the_old_one(spark, both, table_path):
    both.limit(3).write.format("indextables").save(table_path)
    both.limit(3).write.format("indextables").mode("append").save(table_path)
    assert spark.read.format("indextables").load(table_path).count() == 6
    shutil.rmtree(table_path)
    spark.range(4).write.format("indextables").save(table_path)
    again = spark.read.format("indextables").load(table_path)
    assert again.columns == ["id"]
    assert again.count() == 4


def test_all_reads_of_a_query_see_one_version(spark, path, table_path):
    more = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
    indextables.write(more, table_path)
    table, done = f"indextables.`{table_path}`", threading.Event()

    def append() -> None:
        while not done.is_set():
            indextables.write(more, table_path)

    writer = threading.Thread(target=append)
    writer.start()
    counts = f"(SELECT count(*) FROM {table}), (SELECT count(id) FROM {table} WHERE id > 0)"
    try:
        found = []
        while len(found) < 8 or (found[-1] == found[0] and writer.is_alive()):
            found.append(tuple(spark.sql(f"SELECT {counts}").first()))
    finally:
        done.set()
        writer.join()
    assert [one for one, _ in found] == [other for _, other in found]
    assert found[-1] > found[0]


def test_a_schema_of_the_reader_is_that_of_the_table(spark, both, table_path):
    spark.range(3).selectExpr("id", "'a' AS s").write.format("indextables").save(table_path)
    reader = spark.read.format("indextables")
    assert reader.schema("id long, s string").load(table_path).count() == 3
    for given in ("id long", "s string, id long", "id int, s string", "id long, t string"):
        with pytest.raises(Exception, match=r"SCHEMA_GIVEN.*`id` BIGINT|SCHEMA_GIVEN.*id BIGINT"):
            spark.read.format("indextables").schema(given).load(table_path).count()
