"""Search and bucket functions in SQL, and the same answers from plain Python."""

from __future__ import annotations

import datetime as dt
import json

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import indextables
from indextables.spark.planner import PROTOCOL, dispatch

LOCAL = "spark.indextables.read.local.enabled"
ROWS = 400


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("functions")
    frame = spark.range(0, ROWS, 1, 3).selectExpr(
        "id",
        "cast(id % 7 as int) AS n",
        "timestampadd(HOUR, cast(id * 7 as int), timestamp'2026-01-15 00:30:00') AS ts",
        "CASE WHEN id % 3 = 0 THEN 'timeout of payment' ELSE 'cart opened' END AS message",
        "concat('host', id % 5) AS host",
    )
    frame.write.parquet(str(folder / "parquet"))
    spark.read.parquet(str(folder / "parquet")).createOrReplaceTempView("plain")
    table = str(folder / "table")
    frame.write.format("indextables").option("indexing.typemap.message", "text").save(table)
    spark.read.format("indextables").load(table).createOrReplaceTempView("indexed")
    return table


@pytest.fixture(params=["true", "false"], ids=["planner", "executors"])
def local(request, spark, path):
    spark.conf.set(LOCAL, request.param)
    yield request.param == "true"
    spark.conf.unset(LOCAL)


@pytest.mark.parametrize(
    ("bucket", "same"),
    [
        ("indextables_date_histogram(ts, '1 month')", "date_trunc('month', ts)"),
        ("indextables_date_histogram(ts, 'month')", "date_trunc('month', ts)"),
        ("indextables_date_histogram(ts, 'year')", "date_trunc('year', ts)"),
        ("indextables_date_histogram(ts, '2 quarters')",
         "date_trunc('year', ts) + make_interval(0, (quarter(ts) - 1) div 2 * 6)"),
        ("indextables_date_histogram(ts, '1 hour', '30m')",
         "date_trunc('hour', ts - INTERVAL 30 MINUTE) + INTERVAL 30 MINUTE"),
        ("indextables_histogram(n, 2)", "floor(n / 2) * 2.0D"),
        ("indextables_range(n, 'low', NULL, 3, 'high', 5, NULL)",
         "CASE WHEN n < 3 THEN 'low' WHEN n >= 5 THEN 'high' END"),
    ],
)  # fmt: skip
def test_buckets_are_those_of_spark(spark, local, bucket, same):
    statement = "SELECT {} AS bucket, count(*), sum(n) FROM {} GROUP BY 1"
    found = spark.sql(statement.format(bucket, "indexed")).collect()
    wanted = spark.sql(statement.format(same, "plain")).collect()
    assert sorted(map(str, found)) == sorted(map(str, wanted))
    # if they are not pushed down, Spark computes the same
    rows = spark.sql(f"SELECT id, {bucket} AS bucket FROM indexed").collect()
    assert sorted(rows) == sorted(spark.sql(f"SELECT id, {same} AS bucket FROM plain").collect())


@pytest.mark.parametrize("least", [1, 57, 58, 500])
def test_small_buckets_are_left_out(spark, local, least):
    found = spark.sql(
        f"SELECT indextables_histogram(n, 1, 0, {least}) AS b, max(id) FROM indexed "
        "GROUP BY indextables_histogram(n, 1, 0, {}) HAVING max(id) > 0 ORDER BY b".format(least)
    ).collect()
    wanted = spark.sql(
        f"SELECT n * 1.0D AS b, max(id) FROM plain GROUP BY n HAVING count(*) >= {least} ORDER BY b"
    ).collect()
    assert found == wanted


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("indextables_histogram(n)", "called with 1 arguments"),
        ("indextables_histogram(n, 0)", "above 0"),
        ("indextables_histogram(n, 1, 0, 0)", "asks for empty buckets"),
        ("indextables_histogram(n, id)", "argument 2 must be a constant"),
        ("indextables_histogram(message, 1)", "must be a number, not string"),
        ("indextables_date_histogram(ts)", "called with 1 arguments"),
        ("indextables_date_histogram(ts, 'soon')", "not `soon`"),
        ("indextables_date_histogram(n, '1h')", "must be a date or timestamp"),
        ("indextables_range(n, 'a', 0, 5, 'b', 4, 9)", "`a` and `b` overlap"),
        ("indextables_range(n, 'a', 0)", "called with 3 arguments"),
    ],
)
def test_wrong_arguments_are_an_error_of_the_analysis(spark, path, call, problem):
    with pytest.raises(AnalysisException, match="BUCKET_ARGUMENTS") as caught:
        spark.sql(f"SELECT {call}, count(*) FROM indexed GROUP BY 1").collect()
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "predicate",
    [
        "message indexquery 'timeout'",
        "indexquery(message, 'timeout')",
        "indexquery('message', 'timeout')",
        "tantivy4spark_indexquery(message, 'timeout')",
        "tantivy4spark_textsearch('message', 'timeout')",
        "tantivy4spark_indexqueryall('message:timeout')",
        "indexqueryall('message:timeout')",
        "message indexquery concat('time', 'out')",
        "message indexquery wanted",
        "message indexquery session.wanted",
    ],
)
def test_a_search_is_spelled_in_many_ways(spark, local, predicate):
    spark.sql("DECLARE OR REPLACE VARIABLE wanted STRING DEFAULT 'timeout'")
    try:
        found = spark.sql(f"SELECT count(*) FROM indexed WHERE {predicate}").first()[0]
    finally:
        spark.sql("DROP TEMPORARY VARIABLE IF EXISTS wanted")
    assert found == (ROWS + 2) // 3


@pytest.mark.parametrize("function", ["fieldmatch", "tantivy4spark_fieldmatch"])
def test_whole_values_are_matched(spark, path, function):
    found = spark.sql(f"SELECT count(*) FROM indexed WHERE {function}('host', 'host3')")
    assert found.first()[0] == ROWS // 5


def test_a_search_for_null_finds_nothing(spark, local):
    assert spark.sql("SELECT count(*) FROM indexed WHERE message indexquery NULL").first()[0] == 0
    negated = "SELECT count(*) FROM indexed WHERE NOT (indexquery(message, NULL))"
    assert spark.sql(negated).first()[0] == 0


def test_names_of_operators_stay_names(spark, path):
    shown = spark.sql(
        "SELECT id indexquery FROM indexed textsearch WHERE id < 3 ORDER BY indexquery"
    )
    assert shown.columns == ["indexquery"]
    assert [row[0] for row in shown.collect()] == [0, 1, 2]


def test_an_unknown_column_given_by_name_is_named(spark, path):
    with pytest.raises(AnalysisException, match="nope"):
        spark.sql("SELECT * FROM indexed WHERE indexquery('nope', 'x')").collect()


def test_explain_formatted_shows_what_was_pushed(spark, local):
    shown = spark.sql(
        "EXPLAIN FORMATTED SELECT id FROM indexed WHERE message indexquery 'timeout' AND n > 2"
    ).first()[0]
    assert "pushed filters: [" in shown
    assert "message indexquery 'timeout'" in shown
    assert f"answered by: {'planner' if local else 'tasks'}" in shown


def wanted(path, **more):
    """The request document of a read of the ids."""
    schema = {"type": "struct", "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    ]}  # fmt: skip
    body = {"protocol": PROTOCOL, "properties": {"path": path}, "schema": schema, "wire": schema}
    return json.dumps(body | more)


BELOW_5 = [{"op": "<", "args": [{"col": ["id"]}, {"lit": 5, "type": "long"}]}]


def test_the_plan_of_an_aggregation_brings_its_rows(spark, path):
    count = {"group_by": [], "functions": [{"agg": "COUNT_STAR"}]}
    reply, parts = dispatch("offer", wanted(path, predicates=BELOW_5, aggregation=count))
    assert reply["complete"]
    assert reply["plan"]["metrics"]["splitsScanned"] == 1
    assert pa.ipc.open_stream(parts[0]).read_all().column(0).to_pylist() == [5]


@pytest.mark.parametrize(("rows", "counted"), [("4", 0), ("2", 1)])
def test_rows_of_keys_are_found_once(spark, path, monkeypatch, rows, counted):
    counts = []
    monkeypatch.setattr("indextables.read.scan.count_rows", lambda *_: counts.append(1) or 3)
    keys = {"op": "IN", "args": [{"col": ["id"]}], "keys": 3, "type": "long", "values": [7, 3, 9]}
    options = {"read.local.maxRows": rows}
    document = wanted(path, options=options, runtime=[keys], distributed=True)
    reply, parts = dispatch("plan", document)
    assert len(counts) == counted
    assert reply.get("answered", False) == (not counted)
    if not counted:
        assert sorted(pa.ipc.open_stream(parts[0]).read_all()["id"].to_pylist()) == [3, 7, 9]


def test_the_plan_of_a_small_query_brings_its_rows(spark, path):
    reply, parts = dispatch("plan", wanted(path, predicates=BELOW_5))
    assert reply["local"]
    assert sorted(pa.ipc.open_stream(parts[0]).read_all()["id"].to_pylist()) == [0, 1, 2, 3, 4]
    assert reply["metrics"]["splitsScanned"] == 1


@pytest.mark.parametrize(
    ("statement", "ask"),
    [
        ("SELECT count(*) FROM {t}", lambda t: t.aggregate(["count(*)"])),
        ("SELECT count(*) FROM {t} WHERE n > 3 AND message indexquery 'payment'",
         lambda t: t.aggregate(["count(*)"], where="n > 3", query="message:payment")),
        ("SELECT host, sum(n), avg(n), min(ts), count(DISTINCT n) FROM {t} GROUP BY host",
         lambda t: t.aggregate(["sum(n)", "avg(n)", "min(ts)", "count(distinct n)"], by=["host"])),
        ("SELECT indextables_date_histogram(ts, '1 day') AS d, max(id) FROM {t} GROUP BY 1",
         lambda t: t.aggregate({"m": "max(id)"}, by=["date_trunc('day', ts)"])),
        ("SELECT id FROM {t} WHERE host = 'host2' ORDER BY ts DESC LIMIT 4",
         lambda t: t.scan(["id"], where="host = 'host2'", order_by=["ts DESC"], limit=4)),
        ("SELECT n, id FROM {t} ORDER BY n DESC, id LIMIT 3 OFFSET 2",
         lambda t: t.scan(["n", "id"], order_by=["n DESC", "id"], limit=3, offset=2)),
    ],
)  # fmt: skip
def test_plain_python_answers_as_spark(spark, path, statement, ask):
    wanted = [tuple(row) for row in spark.sql(statement.format(t="indexed")).collect()]
    found = [tuple(row.values()) for row in ask(indextables.open(path)).to_pylist()]
    plain = [tuple(map(without_zone, row)) for row in found]
    assert sorted(plain) == sorted(wanted)


def without_zone(value):
    """Remove the zone: Spark's driver shows timestamps in the session's zone, which is UTC here."""
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return value
