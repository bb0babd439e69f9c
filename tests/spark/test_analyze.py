"""`indextables_analyze`: the tokens of strings in statements."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def logs(spark, tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("analyze") / "table")
    frame = spark.sql("SELECT * FROM VALUES (1, 'api.OrderService'), (2, NULL) AS t (id, message)")
    options = {"indexing.typemap.message": "text", "indexing.tokenizer.message": "identifiers"}
    frame.write.format("indextables").options(**options).save(path)
    spark.read.format("indextables").load(path).createOrReplaceTempView("analyzed")
    return "analyzed"


def one(spark, statement):
    return spark.sql(statement).head()[0]


def test_a_tokenizer_by_its_name(spark):
    found = one(spark, "SELECT indextables_analyze('Timeouts waiting', 'en_stem')")
    assert [tuple(token) for token in found] == [("timeout", 0, 0, 8), ("wait", 1, 9, 16)]
    assert one(spark, "SELECT indextables_analyze('A-b').text") == ["a", "b"]
    assert one(spark, "SELECT indextables_analyze('A-b', 'raw').text") == ["A-b"]
    assert one(spark, "SELECT indextables_analyze(CAST(NULL AS STRING))") is None


def test_the_analyzer_of_a_column(spark, logs):
    want = ["api.orderservice", "api", "orderservice", "order", "service"]
    statement = f"SELECT indextables_analyze({{}}).text FROM {logs} ORDER BY id"
    assert [row[0] for row in spark.sql(statement.format("message")).collect()] == [want, None]
    texts = [row[0] for row in spark.sql(statement.format("'aB', message")).collect()]
    assert texts == [["ab", "a", "b"]] * 2
    assert one(spark, f"SELECT indextables_analyze(message, 'default').text FROM {logs}") == [
        "api", "orderservice"
    ]  # fmt: skip


def test_tokens_are_values_like_others(spark, logs):
    words = spark.sql(
        f"SELECT token.text, count(*) FROM {logs} LATERAL VIEW "
        "explode(indextables_analyze(message)) AS token GROUP BY ALL ORDER BY text LIMIT 2"
    )
    assert [tuple(row) for row in words.collect()] == [("api", 1), ("api.orderservice", 1)]
    found = (
        f"SELECT id FROM {logs} WHERE array_contains(indextables_analyze(message).text, 'order')"
    )
    assert one(spark, found) == 1


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("indextables_analyze('a', 'no_such')", "no_such"),
        ("indextables_analyze('a', uuid())", "SQL_SYNTAX"),
        ("indextables_analyze('a', 'raw', 'b')", "SQL_SYNTAX"),
        ("indextables_analyze(1)", "must be a string"),
    ],
)
def test_wrong_calls_fail_before_rows_are_read(spark, call, problem):
    with pytest.raises(PySparkException, match=problem):
        spark.sql(f"SELECT {call}")
